"""Unified diffs side by side: old on the left, new on the right, what differs within a line marked."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher

from markupsafe import Markup

from experepair.web.highlight import Piece, marked, pieces

_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@ ?(.*)")
_WORDS = re.compile(r"\w+|\s+|.")
_ALIKE = 0.4
"""Share of two lines that must be equal for their differences to be marked; below it marks are noise."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One line on one side."""

    number: int
    text: Markup


@dataclass(frozen=True, slots=True)
class Row:
    """A line on both sides; None where one side has none.

    Attributes:
        old: on the left.
        new: on the right.
        kind: "same", "changed", "removed" or "added".
    """

    old: Cell | None
    new: Cell | None
    kind: str


@dataclass(frozen=True, slots=True)
class Hunk:
    """A stretch of a file."""

    heading: str
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class FileDiff:
    """What a diff does to one file."""

    path: str
    hunks: tuple[Hunk, ...]
    added: int
    removed: int


@dataclass(slots=True)
class _Draft:
    """A hunk that is being read: (mark, text) by line."""

    old: int
    new: int
    heading: str
    lines: list[tuple[str, str]] = field(default_factory=list)


def side_by_side(diff: str) -> tuple[FileDiff, ...]:
    """Files of a unified diff; empty when the text is none."""
    files = []
    for path, drafts in _read(diff.replace("\r\n", "\n")):
        marks = [mark for draft in drafts for mark, _ in draft.lines]
        hunks = tuple(Hunk(draft.heading, tuple(_rows(draft, path))) for draft in drafts)
        files.append(FileDiff(path, hunks, marks.count("+"), marks.count("-")))
    return tuple(files)


def _read(diff: str) -> Iterator[tuple[str, list[_Draft]]]:
    """Paths with their hunks; hunks count their lines, so that a removed "-- x" isn't taken for a heading."""
    path, old_path, drafts, old_left, new_left = "", "", list[_Draft](), 0, 0
    for line in diff.split("\n"):
        if drafts and (old_left > 0 or new_left > 0):
            mark, text = (line[:1] or " "), line[1:]
            if mark in " +-":
                old_left -= mark in " -"
                new_left -= mark in " +"
                drafts[-1].lines.append((mark, text))
            continue
        if found := _HUNK.match(line):
            old_left, new_left = int(found[2] or 1), int(found[4] or 1)
            drafts.append(_Draft(int(found[1]), int(found[3]), found[5]))
        elif line.startswith("--- "):
            if drafts:
                yield path, drafts
                drafts = []
            old_path = _path(line)
        elif line.startswith("+++ "):
            path = _path(line) or old_path
    if drafts:
        yield path, drafts


def _path(line: str) -> str:
    name = line[4:].split("\t")[0].strip()
    return "" if name == "/dev/null" else re.sub(r"^[ab]/", "", name)


def _rows(draft: _Draft, path: str) -> Iterator[Row]:
    old = iter(pieces("\n".join(text for mark, text in draft.lines if mark != "+"), path))
    new = iter(pieces("\n".join(text for mark, text in draft.lines if mark != "-"), path))
    left, right = draft.old, draft.new
    removed: list[list[Piece]] = []
    added: list[list[Piece]] = []
    for mark, _ in (*draft.lines, (" end", "")):
        if mark == "-":
            removed.append(next(old))
        elif mark == "+":
            added.append(next(new))
        else:
            yield from _changed(removed, added, left, right)
            left, right = left + len(removed), right + len(added)
            removed, added = [], []
            if mark == " ":
                next(old)
                text = marked(next(new))
                yield Row(Cell(left, text), Cell(right, text), "same")
                left, right = left + 1, right + 1


def _changed(
    removed: Sequence[list[Piece]], added: Sequence[list[Piece]], left: int, right: int
) -> Iterator[Row]:
    for i in range(max(len(removed), len(added))):
        was = removed[i] if i < len(removed) else None
        now = added[i] if i < len(added) else None
        if was is not None and now is not None:
            before, after = _differing(_plain(was), _plain(now))
            yield Row(Cell(left + i, marked(was, before)), Cell(right + i, marked(now, after)), "changed")
        elif was is not None:
            yield Row(Cell(left + i, marked(was)), None, "removed")
        elif now is not None:
            yield Row(None, Cell(right + i, marked(now)), "added")


def _plain(line: Sequence[Piece]) -> str:
    return "".join(text for _, text in line)


def _differing(was: str, now: str) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """Spans of words that differ, on both sides; none where the lines have little in common."""
    old, new = _WORDS.findall(was)[:400], _WORDS.findall(now)[:400]
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    if matcher.ratio() < _ALIKE:
        return [], []
    before, after = [], []
    for tag, i, j, k, m in matcher.get_opcodes():
        if tag != "equal":
            before.append((len("".join(old[:i])), len("".join(old[:j]))))
            after.append((len("".join(new[:k])), len("".join(new[:m]))))
    return [span for span in before if span[0] < span[1]], [span for span in after if span[0] < span[1]]
