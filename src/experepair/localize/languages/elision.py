"""Python without the bodies of functions that define nothing: half of the time to parse a file goes there."""

from __future__ import annotations

import re

_FUNCTION = re.compile(
    rb"^([ \t]*)(?:async[ \t]+)?def[ \t]+\w+[^\n]*:[ \t]*(?:#[^\n]*)?\n((?:(?:\1[ \t]+[^\n]*|[ \t]*)\n)+)",
    re.MULTILINE,
)
_STATEMENT = re.compile(rb"^([ \t]*)([^\s#])", re.MULTILINE)
_DOC = re.compile(rb"[rRuUbBfF]{0,2}(\"\"\"|'''|\"|')")
_BLANK = bytes(byte if byte in b"\t\n" else 32 for byte in range(256))
_SHORTEST = 120
"""Bytes of a body that is worth the look."""
_KEEPS = (b"def", b"class", b'"""', b"'''")
_PAIRS = ((b"(", b")"), (b"[", b"]"), (b"{", b"}"))


def elided(content: bytes) -> bytes:
    """The same, byte by byte, in everything that an outline tells: what is inside of bodies is blank.

    A body keeps its docstring, and its first and last statement as numbers that begin and end where they did. One is left
    as it is when it may define something, or when its end can't be told from its lines alone: brackets that don't
    match, long strings, line continuations.
    """
    out: list[bytes] = []
    at = 0
    for found in _FUNCTION.finditer(content):
        body = found[2].rstrip()
        if len(body) < _SHORTEST:
            continue
        blank = _blanked(body)
        if blank is not None:
            start = found.start(2)
            out += (content[at:start], blank)
            at = start + len(body)
    out.append(content[at:])
    return b"".join(out)


def _blanked(body: bytes) -> bytes | None:
    """A body with its inside blanked; None when that can't be done safely."""
    first = _STATEMENT.search(body)
    if first is None:
        return None
    indent, begin = first[1], first.start(2)
    doc = _DOC.match(body, begin)
    after = 0
    if doc is not None:
        end = body.find(doc[1], doc.end()) if len(doc[1]) == 3 else -1
        after = body.find(b"\n", end) + 1
        if end < 0 or not after:
            return None
    rest = body[after:]
    last = rest.rfind(b"\n") + 1
    line = rest[last:]
    if (
        any(word in rest for word in _KEEPS)
        or any(rest.count(left) != rest.count(right) for left, right in _PAIRS)
        or b"#" in line
        or rest.endswith(b"\\")
        or len(line) <= len(indent)
        or line[: len(indent)].strip()
    ):
        return None
    kept = body[:after] + rest[:last].translate(_BLANK)
    if not after and begin < last:
        kept = kept[:begin] + b"0" + kept[begin + 1 :]
    return kept + indent + b"0" * (len(line) - len(indent))
