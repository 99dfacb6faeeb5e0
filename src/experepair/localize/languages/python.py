"""Python, by tree-sitter: it tolerates broken files and Python 2."""

from __future__ import annotations

import re
from functools import cached_property

import tree_sitter
import tree_sitter_python

from experepair.localize.languages.elision import elided
from experepair.localize.languages.language import Definition, Kind, Outline, Statement

_HUGE = 1 << 19
"""Above this many bytes a file is generated: it is scanned by line, not parsed."""

_HOLDS_STATEMENTS = frozenset(
    {
        "function_definition",
        "class_definition",
        "module",
        "block",
        "decorated_definition",
        "if_statement",
        "elif_clause",
        "else_clause",
        "try_statement",
        "except_clause",
        "except_group_clause",
        "finally_clause",
        "with_statement",
        "for_statement",
        "while_statement",
        "match_statement",
        "case_clause",
        "ERROR",
    }
)
_DEFINES = frozenset({"function_definition", "class_definition"})
_NAME = re.compile(r"[^\W\d]\w*")
_LINE = re.compile(rb"^([ \t]*)(?:async[ \t]+)?(def|class)[ \t]+(\w+)", re.MULTILINE)


class Python:
    """Classes, functions and methods of Python files."""

    @cached_property
    def _grammar(self) -> tree_sitter.Language:
        return tree_sitter.Language(tree_sitter_python.language())

    def outline(self, content: bytes) -> Outline:
        """Definitions by tree-sitter; of huge files, by the first words of their lines."""
        lines = content.count(b"\n") + (not content.endswith(b"\n"))
        module = Definition(Kind.MODULE, "", 1, max(lines, 1), 1, 0, (0, len(content)), (0, 0))
        if len(content) > _HUGE:
            return Outline((module, *_scan(content, lines)))
        found = [module]
        if b"def" in content or b"class" in content:
            short = elided(content)
            _walk(tree_sitter.Parser(self._grammar).parse(short).root_node, short, found)
        return Outline(tuple(found))

    def statements(self, content: bytes) -> tuple[Statement, ...]:
        """Imports and assignments of the module; none of huge files."""
        if len(content) > _HUGE:
            return ()
        found = []
        for node in tree_sitter.Parser(self._grammar).parse(content).root_node.named_children:
            imports = node.type in ("import_statement", "import_from_statement", "future_import_statement")
            if imports or node.type == "expression_statement":
                binds = _bound_names(node)
                if binds:
                    found.append(Statement(node.start_point[0] + 1, node.end_point[0] + 1, binds, imports))
        return tuple(found)

    def module(self, path: str) -> str:
        """`src/` and the like in front are not part of the name."""
        return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")

    def is_test(self, path: str) -> bool:
        """By the names that pytest and unittest look for, and the folders that projects use."""
        *folders, name = path.split("/")
        return (
            name.startswith("test_")
            or name.endswith("_test.py")
            or name in {"conftest.py", "tests.py"}
            or "tests" in folders
            or folders[:1] in (["testing"], ["test"])
        )


def _walk(root: tree_sitter.Node, content: bytes, found: list[Definition]) -> None:
    """Collect definitions in source order; an explicit stack, since nesting is in the author's hands."""
    stack = [(root, 0, root)]
    while stack:
        node, above, outer = stack.pop()
        if node.type in _DEFINES:
            name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
            if name is None or body is None:
                continue
            found.append(_definition(node, outer, name, body, above, found[above].kind))
            node, above = body, len(found) - 1
        start, end = node.start_byte, node.end_byte
        if content.find(b"def", start, end) < 0 and content.find(b"class", start, end) < 0:
            continue  # most bodies hold no further definition: looking at their statements costs more
        decorated = node.type == "decorated_definition"
        waiting = [
            (child, above, node if decorated else child)
            for child in node.named_children
            if child.type in _HOLDS_STATEMENTS
        ]
        stack.extend(reversed(waiting))


def _definition(
    node: tree_sitter.Node,
    outer: tree_sitter.Node,
    name: tree_sitter.Node,
    body: tree_sitter.Node,
    parent: int,
    within: Kind,
) -> Definition:
    kind = Kind.CLASS if node.type == "class_definition" else Kind.FUNCTION
    if within in (Kind.FUNCTION, Kind.INNER):
        kind = Kind.INNER
    first = body.named_children[0] if body.named_child_count else None
    doc = (0, 0)
    if first is not None and first.type == "expression_statement" and first.named_child_count == 1:
        string = first.named_children[0]
        if string.type == "string":
            doc = (string.start_byte, string.end_byte)
    return Definition(
        kind,
        (name.text or b"").decode("utf-8", "replace"),
        outer.start_point[0] + 1,
        max(node.end_point[0] + 1, outer.start_point[0] + 1),
        body.start_point[0] + 1,
        parent,
        (outer.start_byte, node.end_byte),
        (node.start_byte, body.start_byte),
        doc,
    )


def _scan(content: bytes, lines: int) -> list[Definition]:
    """Top-level definitions and methods of a huge file; each ends where the next one begins."""
    starts = [
        (match.end(1), len(match[1].expandtabs()), match[2] == b"class", match[3].decode("utf-8", "replace"))
        for match in _LINE.finditer(content)
    ]
    found: list[Definition] = []
    open_class, class_indent = 0, 0
    line, at = 1, 0
    for number, (offset, indent, is_class, name) in enumerate(starts):
        line, at = line + content.count(b"\n", at, offset), offset
        end = starts[number + 1][0] if number + 1 < len(starts) else len(content)
        last = min(line + max(content.count(b"\n", offset, end) - 1, 0), lines)
        if indent <= class_indent:
            open_class = 0
        kind = Kind.CLASS if is_class else Kind.FUNCTION
        found.append(
            Definition(
                kind,
                name,
                line,
                last,
                line + 1,
                open_class,
                (offset, end),
                (offset, _line_end(content, offset)),
            )
        )
        if is_class and not open_class:
            open_class, class_indent = len(found), indent
    return found


def _line_end(content: bytes, offset: int) -> int:
    end = content.find(b"\n", offset)
    return len(content) if end < 0 else end


def _bound_names(node: tree_sitter.Node) -> frozenset[str]:
    """Names that an import or an assignment binds; for an assignment those on its left side."""
    if node.type == "expression_statement":
        node = node.named_children[0] if node.named_children else node
        left = node.child_by_field_name("left")
        if node.type not in ("assignment", "augmented_assignment") or left is None:
            return frozenset()
        node = left
    return frozenset(_NAME.findall((node.text or b"").decode("utf-8", "replace")))


LANGUAGE = Python()
