"""A file in outline, for prompts: what a model chooses from."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from experepair.domain.place import Span
from experepair.localize.languages import Definition, Kind, language_of
from experepair.localize.text import tokens_of, utf8_of

_SPACE = re.compile(r"\s+")
_COMMENT = re.compile(r"^([^'\"#\n]*)#.*$", re.MULTILINE)
_LONGEST_HEAD = 240
_LONGEST_DOC = 100


@dataclass(frozen=True, slots=True)
class _Row:
    """One definition: its line in the outline, in full and in short."""

    full: str
    short: str
    best: bool


def skeleton(path: str, content: bytes, *, max_tokens: int = 2000, best: Sequence[Span] = ()) -> str:
    """Classes and functions with signatures, the first line of each docstring, and line numbers.

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
    rows: list[_Row] = []
    order: list[tuple[int, int]] = []
    for definition in definitions[1:]:
        if definition.kind is Kind.INNER:
            continue
        rank = wanted.get((definition.start, definition.end), len(best))
        order.append((rank, len(rows)))
        rows.append(_row(definition, definitions, content, best=rank < len(best)))
    return _fitted(rows, [position for _, position in sorted(order)], max_tokens)


def _row(definition: Definition, all_of_file: Sequence[Definition], content: bytes, *, best: bool) -> _Row:
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
    return _Row(full, f"{indent}{keyword} {definition.name}{lines}", best)


def _head(content: bytes) -> str:
    """A signature on one line."""
    text = _COMMENT.sub(r"\1", content.decode("utf-8", "replace"))
    head = _SPACE.sub(" ", text).strip().replace("( ", "(").replace(", )", ")").replace(" )", ")")
    return head if len(head) <= _LONGEST_HEAD else head[:_LONGEST_HEAD] + " …"


def _first_line(content: bytes) -> str:
    """The first line of a docstring that says something, in quotes."""
    text = content.decode("utf-8", "replace").lstrip("rRuUbBfF").strip("\"'").strip()
    first = text.split("\n", 1)[0].strip()
    return f'"""{first[:_LONGEST_DOC]}"""' if first else ""


def _fitted(rows: Sequence[_Row], order: Sequence[int], max_tokens: int) -> str:
    """Rows in full, in short, or counted: from the most wanted on, as much as the budget allows."""
    shown: dict[int, str] = {}
    left = max_tokens
    for text in ("short", "full"):
        for position in order:
            wanted = rows[position].full if text == "full" or rows[position].best else rows[position].short
            cost = tokens_of(wanted + "\n") - (tokens_of(shown[position] + "\n") if position in shown else 0)
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
