"""Source as HTML: tokens in spans, line by line, everything escaped."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from markupsafe import Markup, escape

from experepair.domain.text import visible

if TYPE_CHECKING:
    from pygments.lexer import Lexer

_MOST = 200_000
"""Characters beyond which a text is shown plain: colouring takes longer than reading its beginning."""

Piece = tuple[str, str]
"""Class of a token, and its text."""


def code(text: str, name: str) -> Markup:
    """A text in the language that a file's name, or the name of a language, tells."""
    return Markup("\n").join(marked(line) for line in pieces(text, name))


def pieces(text: str, name: str) -> list[list[Piece]]:
    """Tokens of every line; without line ends."""
    shown = visible(text)
    if len(shown) > _MOST:
        return [[("", line)] for line in shown.split("\n")]
    return list(_by_line(_tokens(shown, name)))


def marked(line: Sequence[Piece], changed: Sequence[tuple[int, int]] = ()) -> Markup:
    """One line as HTML.

    Args:
        line: its tokens.
        changed: spans of characters to be marked, ascending and apart.
    """
    found: list[Markup] = []
    at = 0
    for css, text in line:
        for part, inside in _cut(text, at, changed):
            piece = Markup('<span class="{}">{}</span>').format(css, part) if css else escape(part)
            found.append(Markup("<mark>{}</mark>").format(piece) if inside else piece)
        at += len(text)
    return Markup("").join(found)


def _cut(text: str, start: int, changed: Sequence[tuple[int, int]]) -> Iterator[tuple[str, bool]]:
    end, at = start + len(text), start
    for first, last in changed:
        first, last = max(first, at), min(last, end)
        if first >= last:
            continue
        if at < first:
            yield text[at - start : first - start], False
        yield text[first - start : last - start], True
        at = last
    if at < end:
        yield text[at - start :], False


def _by_line(tokens: Iterator[Piece]) -> Iterator[list[Piece]]:
    line: list[Piece] = []
    for css, text in tokens:
        first, *rest = text.split("\n")
        if first:
            line.append((css, first))
        for following in rest:
            yield line
            line = [(css, following)] if following else []
    yield line


def _tokens(text: str, name: str) -> Iterator[Piece]:
    lexer = _lexer(name)
    if lexer is None:
        yield "", text
        return
    from pygments.token import STANDARD_TYPES

    for kind, value in lexer.get_tokens(text):
        known = (STANDARD_TYPES[each] for each in reversed(kind.split()) if each in STANDARD_TYPES)
        yield next(known, ""), value  # a lexer's own kind stands below a standard one


@lru_cache(maxsize=64)
def _lexer(name: str) -> Lexer | None:
    from pygments.lexers import get_lexer_by_name, get_lexer_for_filename
    from pygments.util import ClassNotFound

    find = get_lexer_for_filename if "." in name else get_lexer_by_name
    try:
        return find(name, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return None
