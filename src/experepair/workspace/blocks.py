"""Finds edit blocks in a model's reply, whatever else it holds, in time linear in its length."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from experepair.domain.edit import Edit, Unparsed

# a tag in backticks is spoken of, not used
_TAG = re.compile(r"(?<!`)<(/?)(file|original|patched)>")
_OPENING_FENCE = re.compile(r"\A\s*(`{3,}|~{3,})[^\n`]*\n")
_CLOSING_FENCE = re.compile(r"\n?[ \t]*(`{3,}|~{3,})[ \t]*\Z")
_FIRST_LINE_END = re.compile(r"[ \t]*(?:\r\n|\n)")
_INDENTED_END = re.compile(r"(?:\r\n|\n)[ \t]*\Z")
_LONGEST_PATH = 2000
_LONGEST_SHOWN = 2000
_LONGEST_FENCE_LINE = 200


class _Tag(NamedTuple):  # quicker to make than a dataclass: a hostile reply has a million
    name: str
    start: int
    end: int


def parse_edits(reply: str) -> tuple[tuple[Edit, ...], tuple[Unparsed, ...]]:
    """All edits in the order written, the same one once, and what was begun but can't be used.

    A closing tag ends a block where a tag follows that can come next, or none: code may hold such tags itself.
    """
    tags = [_Tag(found[1] + found[2], found.start(), found.end()) for found in _TAG.finditer(reply)]
    headers = [
        i
        for i, tag in enumerate(tags)
        if tag.name == "file" and i + 1 < len(tags) and tags[i + 1].name == "/file"
    ]
    starts = [i for i in headers if i + 2 < len(tags) and tags[i + 2].name in {"original", "patched"}]
    edits: list[Edit] = []
    unparsed: list[Unparsed] = []
    for start, stop in pairwise((*starts, len(tags))):
        segment = _Segment(reply, tags[start:stop], tags[stop].start if stop < len(tags) else len(reply))
        made, failed = segment.read()
        edits += made
        unparsed += failed
    unparsed += _cut_off(reply, tags, headers) if starts else _begun(reply, tags, headers)
    return tuple(dict.fromkeys(edits)), tuple(unparsed)


@dataclass(frozen=True, slots=True)
class _Segment:
    """A <file> tag and what follows until the next one."""

    reply: str
    tags: list[_Tag]
    end: int

    def read(self) -> tuple[list[Edit], list[Unparsed]]:
        reply, tags = self.reply, self.tags
        path = reply[tags[0].end : min(tags[1].start, tags[0].end + _LONGEST_PATH)].strip()
        closing = self._closings()
        edits: list[Edit] = []
        i = 2
        while i < len(tags):
            if tags[i].name not in {"original", "patched"}:
                i += 1  # a stray closing tag between blocks
                continue
            original = ""
            if tags[i].name == "original":
                close = closing[i]
                if close is None:
                    return edits, [self._cut(i, path, "<original> is never closed")]
                original = _content(reply, tags[i], tags[close])
                i = close + 1
                if i == len(tags) or tags[i].name != "patched":
                    return edits, [self._cut(close, path, "no <patched> follows its <original>")]
            close = closing[i]
            if close is None or self._holds_an_edit(i, close):
                return edits, [
                    self._cut(i, path, "<patched> is never closed: the reply may have been cut off")
                ]
            if path.strip("."):  # "..." is the format being explained
                edits.append(Edit(path, original, _content(reply, tags[i], tags[close])))
            i = close + 1
        return edits, []

    def _closings(self) -> list[int | None]:
        """For each opening tag the index of the tag that closes it, looking from the end so that each is seen once."""
        tags = self.tags
        good: dict[str, int | None] = {"original": None, "patched": None}
        nearest: dict[str, int | None] = {"original": None, "patched": None}
        found: list[int | None] = [None] * len(tags)
        for i in range(len(tags) - 1, -1, -1):
            name = tags[i].name
            following = tags[i + 1].name if i + 1 < len(tags) else None
            if name == "/original":
                nearest["original"] = i
                if following == "patched":
                    good["original"] = i
            elif name == "/patched":
                nearest["patched"] = i
                if following in {"original", None}:
                    good["patched"] = i
            elif name in good:
                best = good[name]
                found[i] = nearest[name] if best is None else best
        return found

    def _holds_an_edit(self, start: int, stop: int) -> bool:
        """Whether a whole edit begins between two tags, so that the one that closes them belongs to that edit."""
        names = [tag.name for tag in self.tags[start + 1 : stop]]
        return any(names[i : i + 3] == ["original", "/original", "patched"] for i in range(len(names) - 2))

    def _cut(self, at: int, path: str, reason: str) -> Unparsed:
        shown = self.reply[self.tags[at].start : min(self.end, self.tags[at].start + _LONGEST_SHOWN)]
        return Unparsed(f"the edit of {path[:200]!r} is incomplete: {reason}", shown)


def _cut_off(reply: str, tags: list[_Tag], headers: list[int]) -> list[Unparsed]:
    """The edit that a reply ends in, when it ends before its <original>."""
    last = len(tags) - 2 if headers and headers[-1] == len(tags) - 2 else len(tags) - 1
    at = tags[last].start
    if tags[last].name != "file" or reply[max(0, at - 1) : at].strip():
        return []
    reason = "the last edit is incomplete: nothing follows its <file>; the reply may have been cut off"
    return [Unparsed(reason, reply[at : at + _LONGEST_SHOWN])]


def _begun(reply: str, tags: list[_Tag], headers: list[int]) -> list[Unparsed]:
    """Why a reply without any block holds none."""
    if headers:
        at = tags[headers[0]].start
        reason = "<file> must be followed by <original>…</original> and <patched>…</patched>"
    elif tags:
        at = tags[0].start
        reason = "each edit is written as <file>path</file><original>…</original><patched>…</patched>"
    else:
        at, reason = 0, "the reply holds no edit: write <file>, <original> and <patched> blocks"
    return [Unparsed(reason, reply[at : at + _LONGEST_SHOWN])]


def _content(reply: str, opening: _Tag, closing: _Tag) -> str:
    """What stands between two tags, without the line ends beside them and a code fence that wraps it all."""
    text = reply[opening.end : closing.start]
    fence = _OPENING_FENCE.match(text, 0, _LONGEST_FENCE_LINE)
    tail_at = max(len(text.rstrip()) - _LONGEST_FENCE_LINE, fence.end() - 1 if fence else 0)
    end = _CLOSING_FENCE.search(text.rstrip(), tail_at) if fence else None
    if fence and end and end[1].startswith(fence[1]):
        return text[fence.end() : max(end.start(), fence.end())]
    if head := _FIRST_LINE_END.match(text):
        text = text[head.end() :]
    tail = _INDENTED_END.search(text, max(0, len(text) - _LONGEST_FENCE_LINE))
    return text[: tail.start()] if tail else text
