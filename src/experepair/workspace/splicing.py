"""Puts an edit's replacement into the lines of a file so that untouched lines keep every byte."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import pairwise

from experepair.workspace.matching import Match

_LARGEST_COMPARED = 4000


def splice(lines: Sequence[str], match: Match, original: Sequence[str], patched: Sequence[str]) -> list[str]:
    """The file's lines, ends included, after the edit.

    Args:
        lines: the file's, ends included.
        match: which of them the edit replaces.
        original: the edit's lines, without ends.
        patched: what replaces them, without ends; nothing removes the lines.
    """
    region = lines[match.start : match.stop]
    if not match.pairs:  # a part of a line: what is beside it stays
        new = (match.before + "\n".join(patched).strip() + match.after).split("\n")
    elif match.how:
        new = _fitted([body(line) for line in region], lines, match, original, patched)
    else:
        new = list(patched)
    return [*lines[: match.start], *_with_ends(region, new, _usual_end(region, lines)), *lines[match.stop :]]


def body(line: str) -> str:
    """A line without its end."""
    return line.rstrip("\r\n")


def _usual_end(region: Sequence[str], lines: Sequence[str]) -> str:
    for sample in (region, lines):
        ends = Counter(line[len(body(line)) :] for line in sample)
        del ends[""]
        if ends:
            return ends.most_common(1)[0][0]
    return "\n"


def _with_ends(region: Sequence[str], new: Sequence[str], usual: str) -> list[str]:
    """The new lines with ends; a line that was there keeps its own, and a missing final one stays missing."""
    ended = [line + usual for line in new]
    for i, j, size in _common([body(line) for line in region], new):
        ended[j : j + size] = region[i : i + size]
    for j in range(len(ended) - 1):
        if body(ended[j]) == ended[j]:  # it was the last of the file, and isn't now
            ended[j] += usual
    if ended and region and body(region[-1]) == region[-1]:
        ended[-1] = body(ended[-1])
    return ended


def _common(left: Sequence[str], right: Sequence[str]) -> Iterator[tuple[int, int, int]]:
    """Runs of equal lines: (index left, index right, length)."""
    shorter = min(len(left), len(right))
    head = next((i for i in range(shorter) if left[i] != right[i]), shorter)
    tail = next((i for i in range(shorter - head) if left[-1 - i] != right[-1 - i]), shorter - head)
    yield 0, 0, head
    if max(len(left), len(right)) - head - tail <= _LARGEST_COMPARED:
        middle = SequenceMatcher(None, left[head : len(left) - tail], right[head : len(right) - tail])
        for i, j, size in middle.get_matching_blocks():
            yield head + i, head + j, size
    yield len(left) - tail, len(right) - tail, tail


def _fitted(
    region: Sequence[str], lines: Sequence[str], match: Match, original: Sequence[str], patched: Sequence[str]
) -> list[str]:
    """The replacement as the file would have it: its own version of lines that stay, its indentation elsewhere."""
    pairs = [(i, j - match.start) for i, j in match.pairs]
    place = dict(pairs)
    stays = {j + k: i + k for i, j, size in _common(original, patched) for k in range(size)}
    indents = _Indentation([(i, original[i], region[j]) for i, j in pairs], [*original, *patched], lines)
    following = 0  # line of the original that the next line of the replacement stands for
    new: list[str] = []
    for j, line in enumerate(patched):
        following = stays.get(j, following)
        at = place.get(stays.get(j, -1))
        if at is None:
            new.append(indents.fit(line, following))
            following += 1
            continue
        previous = place.get(stays.get(j - 1, -1))
        if previous is not None and stays[j] == stays[j - 1] + 1:
            new += region[previous + 1 : at]  # blank lines that the edit doesn't show
        new.append(region[at])
        following += 1
    return new


class _Indentation:
    """Translates the indentation of an edit to that of the file."""

    def __init__(
        self, pairs: Sequence[tuple[int, str, str]], written: Sequence[str], lines: Sequence[str]
    ) -> None:
        self._known: dict[str, list[tuple[int, str]]] = {}
        for i, theirs, ours in pairs:
            if theirs.strip():
                self._known.setdefault(_indent(theirs), []).append((i, _indent(ours)))
        self._unit = _unit([ours for _, _, ours in pairs]) or _unit(lines) or "    "
        # larger differences are from lines that lost their indentation, and continuation lines
        self._their_unit = min(
            (columns for step in _steps(written) if (columns := _columns(step)) > 1), default=4
        )

    def fit(self, line: str, at: int) -> str:
        """The line as the file would indent it, when it takes the place of line `at` of the original."""
        if not line.strip():
            return ""
        indent = _indent(line)
        return self._translated(indent, at) + line[len(indent) :]

    def _translated(self, indent: str, at: int) -> str:
        if not self._known:
            return indent
        shallower = [known for known in self._known if _columns(known) <= _columns(indent)]
        near = max(shallower, key=_columns) if shallower else min(self._known, key=_columns)
        base = self._nearest(near, at)
        steps, odd = divmod(_columns(indent) - _columns(near), self._their_unit)
        if steps < 0:
            kept = _columns(base) + steps * _columns(self._unit)
            return base[: len(base) + steps] if "\t" in base else base[: max(0, kept)]
        return base + self._unit * steps + " " * odd

    def _nearest(self, indent: str, at: int) -> str:
        """What the file has for this indentation; an edit that lost some of it has the same for several."""
        known = self._known[indent]
        after = bisect_left(known, (at,))
        beside = known[max(0, after - 1) : after + 1]
        return min(beside, key=lambda pair: abs(pair[0] - at))[1]


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def _columns(indent: str) -> int:
    return len(indent.expandtabs(4))


def _steps(lines: Sequence[str]) -> Counter[str]:
    """The differences in indentation between a line and the one above it, where it is deeper."""
    steps: Counter[str] = Counter()
    indents = [_indent(line) for line in lines if line.strip()]
    for above, indent in pairwise(indents):
        if indent.startswith(above) and indent != above:
            step = indent[len(above) :]
            steps["\t" if "\t" in step else step] += 1
    return steps


def _unit(lines: Sequence[str]) -> str:
    """One step of indentation; the most frequent difference, of several the smallest."""
    steps = _steps(lines)
    return max(steps, key=lambda step: (steps[step], -len(step)), default="")
