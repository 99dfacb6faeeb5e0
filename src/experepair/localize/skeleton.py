"""A file in outline, for prompts: what a model chooses from."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from experepair.domain.place import Span
from experepair.localize.languages import Definition, Kind, Statement, language_of
from experepair.localize.text import tokens_of, utf8_of

_SPACE = re.compile(r"\s+")
_COMMENT = re.compile(r"^([^'\"#\n]*)#.*$", re.MULTILINE)
_QUOTED = re.compile(r"^[rRuUbBfF]{0,2}(\"\"\"|'''|\"|')(.*)\1$", re.DOTALL)
_LONGEST_CONSTANT = 100
_LONGEST_HEAD = 240
_LONGEST_DOC = 100


@dataclass(frozen=True, slots=True)
class _Row:
    """One definition: where it begins, its line in the outline in full and in short, and how much it is wanted."""

    line: int
    full: str
    short: str
    wanted: int
    best: bool = False


def skeleton(path: str, content: bytes, *, max_tokens: int = 2000, best: Sequence[Span] = ()) -> str:
    """Classes and functions with signatures, the first line of each docstring, line numbers, and the module's assignments.

    Args:
        path: of the file; decides about the language.
        content: of the file.
        max_tokens: about how long the outline may be. When it would be longer, definitions other than
            `best` lose their parameters and docstrings, then are only counted.
        best: definitions of this file to be shown in full as long as possible, best first.

    Returns:
        The outline; "" for a file in an unknown language or without definitions.
    """
    language = language_of(path)
    if language is None:
        return ""
    content = utf8_of(content)
    definitions = language.outline(content).definitions
    wanted = {(span.start, span.end): number for number, span in reversed(list(enumerate(best)))}
    rows = [
        _row(
            definition,
            definitions,
            content,
            wanted.get((definition.start, definition.end), len(best)),
            len(best),
        )
        for definition in definitions[1:]
        if definition.kind is not Kind.INNER
    ]
    lines = content.split(b"\n")
    rows += [
        _assignment(statement, lines, len(best) + 1)
        for statement in language.statements(content)
        if not statement.imports
    ]
    rows.sort(key=lambda row: row.line)
    order = sorted(range(len(rows)), key=lambda position: (rows[position].wanted, position))
    last = len(best) + 1
    definitions_first = [
        [position for position in order if (rows[position].wanted == last) is assigns]
        for assigns in (False, True)
    ]
    return _fitted(rows, definitions_first, max_tokens)


def _row(
    definition: Definition, all_of_file: Sequence[Definition], content: bytes, wanted: int, best: int
) -> _Row:
    depth, above = 0, definition.parent
    while above:
        depth, above = depth + 1, all_of_file[above].parent
    indent = "    " * depth
    lines = f"  # {definition.start}-{definition.end}"
    keyword = "class" if definition.kind is Kind.CLASS else "def"
    head = _head(content[slice(*definition.head)]) or f"{keyword} {definition.name}"
    full = f"{indent}{head}{lines}"
    doc = _first_line(content[slice(*definition.doc)])
    if doc:
        full += f"\n{indent}    {doc}"
    short = f"{indent}{keyword} {definition.name}{lines}"
    return _Row(definition.start, full, short, wanted, wanted < best)


def _assignment(statement: Statement, lines: Sequence[bytes], wanted: int) -> _Row:
    """The first line of an assignment; a long value is cut."""
    text = lines[statement.start - 1].decode("utf-8", "replace").strip()
    cut = statement.end > statement.start or len(text) > _LONGEST_CONSTANT
    where = f"{statement.start}-{statement.end}" if statement.end > statement.start else str(statement.start)
    name = text.partition("=")[0].strip()[:_LONGEST_CONSTANT]
    return _Row(
        statement.start,
        f"{text[:_LONGEST_CONSTANT]}{' …' if cut else ''}  # {where}",
        f"{name} = …  # {where}",
        wanted,
    )


def _head(content: bytes) -> str:
    """A signature on one line."""
    text = _COMMENT.sub(r"\1", content.decode("utf-8", "replace"))
    head = _SPACE.sub(" ", text).strip().replace("( ", "(").replace(", )", ")").replace(" )", ")")
    return head if len(head) <= _LONGEST_HEAD else head[:_LONGEST_HEAD] + " …"


def _first_line(content: bytes) -> str:
    """The first line of a docstring that says something, in quotes."""
    text = content.decode("utf-8", "replace")
    quoted = _QUOTED.match(text)
    first = (quoted[2] if quoted else text).strip().split("\n", 1)[0].strip()
    return f'"""{first[:_LONGEST_DOC]}"""' if first else ""


def _fitted(rows: Sequence[_Row], groups: Sequence[Sequence[int]], max_tokens: int) -> str:
    """Rows in full, in short, or counted: group by group, from the most wanted on, as much as the budget allows."""
    shown: dict[int, str] = {}
    left = max_tokens
    for order in groups:
        for text in ("short", "full"):
            for position in order:
                row = rows[position]
                wanted = row.full if text == "full" or row.best else row.short
                cost = tokens_of(wanted + "\n") - (
                    tokens_of(shown[position] + "\n") if position in shown else 0
                )
                if cost <= left and (text == "short" or position in shown):
                    shown[position] = wanted
                    left -= cost
    out: list[str] = []
    hidden = 0
    for position in range(len(rows)):
        if position not in shown:
            hidden += 1
            continue
        out += [_counted(hidden)] * bool(hidden) + [shown[position]]
        hidden = 0
    return "\n".join(out + [_counted(hidden)] * bool(hidden))


def _counted(hidden: int) -> str:
    return f"# … {hidden} more"
