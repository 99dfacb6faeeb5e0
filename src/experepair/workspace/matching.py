"""Finds the lines of a file that an edit means: exactly, ignoring whitespace, within a line, or the closest."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from pydantic import BaseModel

_TOKEN = re.compile(r"\w+|[^\w\s]")
_CANDIDATES_NAMED = 8


class MatchConfig(BaseModel, frozen=True, extra="forbid"):
    """How far from the file an edit's <original> may be."""

    closest_ratio: float = 0.9
    """Least likeness (difflib's ratio, 0 to 1) of the closest lines; above 1 switches the closest match off."""
    closest_margin: float = 0.05
    """How much less alike the second closest place has to be; 0 accepts a tie."""
    closest_lines: int = 300
    """Longest <original>, in lines, for which the closest match is tried; 0 switches it off."""
    closest_places: int = 5
    """Places that are compared in full, the most alike by their bags of tokens."""
    by_character: int = 600
    """Up to this many characters texts are compared by character, longer ones by token."""
    shown_lines: int = 30
    """Lines of the closest place that a refusal shows; 0 shows none."""


@dataclass(frozen=True, slots=True)
class Match:
    """Lines `start` to `stop` (from 0, end excluded) of a file.

    Attributes:
        pairs: (line of the original, line of the file) for the lines that belong together.
        how: "" when matched exactly, else how it was.
        before: what precedes the original on its first line, when it is a part of a line.
        after: what follows it on its last line.
    """

    start: int
    stop: int
    pairs: tuple[tuple[int, int], ...]
    how: str = ""
    before: str = ""
    after: str = ""


@dataclass(frozen=True, slots=True)
class NoMatch:
    """Why no lines were found, fit as feedback."""

    reason: str


def find(original: Sequence[str], lines: Sequence[str], config: MatchConfig) -> Match | NoMatch:
    """Find the one place of `original` among `lines` (both without line ends)."""
    whole = range(len(original)), range(len(lines))
    sought = [i for i, line in enumerate(original) if line.strip()]
    nonblank = [i for i, line in enumerate(lines) if line.strip()]
    if not sought:
        return NoMatch("its <original> block is nothing but whitespace")
    for how, (left, right), key in (
        ("", whole, str),
        ("ignoring whitespace", (sought, nonblank), _without_whitespace),
    ):
        starts = _occurrences([key(original[i]) for i in left], [key(lines[i]) for i in right])
        if len(starts) > 1:
            return NoMatch(_ambiguous([right[s] for s in starts]))
        if starts:
            pairs = tuple(zip(left, right[starts[0] : starts[0] + len(left)], strict=True))
            return Match(pairs[0][1], pairs[-1][1] + 1, pairs, how)
    return _within_lines(original, lines) or _closest(original, lines, sought, nonblank, config)


def _without_whitespace(line: str) -> str:
    return "".join(line.split())


def _ambiguous(starts: Sequence[int]) -> str:
    named = ", ".join(str(start + 1) for start in starts[:_CANDIDATES_NAMED])
    more = ", …" if len(starts) > _CANDIDATES_NAMED else ""
    return f"its <original> block fits more than one place (lines {named}{more}); add lines around it until it fits one"


def _occurrences(needle: Sequence[str], hay: Sequence[str]) -> list[int]:
    """Where `needle` is in `hay`, overlapping ones too; up to one more than a message names."""
    numbers: dict[str, int] = {}
    # as one character per line, str.find looks for all lines at once, in linear time
    text = "".join(chr(numbers.setdefault(line, len(numbers))) for line in hay)
    if not all(line in numbers for line in needle):
        return []
    sought = "".join(chr(numbers[line]) for line in needle)
    found: list[int] = []
    at = text.find(sought)
    while at >= 0 and len(found) <= _CANDIDATES_NAMED:
        found.append(at)
        at = text.find(sought, at + 1)
    return found


def _within_lines(original: Sequence[str], lines: Sequence[str]) -> Match | NoMatch | None:
    """Match a part of a line, or of several, that doesn't cut through a name."""
    text, sought = "\n".join(lines), "\n".join(original).strip()
    places: list[int] = []
    at = text.find(sought)
    while at >= 0 and len(places) <= _CANDIDATES_NAMED:
        if not (_cuts_name(text, at) or _cuts_name(text, at + len(sought))):
            places.append(at)
        at = text.find(sought, at + 1)
    if not places:
        return None
    starts = [text.count("\n", 0, at) for at in places]
    if len(places) > 1:
        return NoMatch(_ambiguous(starts))
    first, last = starts[0], starts[0] + sought.count("\n")
    before = lines[first][: places[0] - (text.rfind("\n", 0, places[0]) + 1)]
    end = text.find("\n", places[0] + len(sought))
    after = text[places[0] + len(sought) : end if end >= 0 else len(text)]
    return Match(first, last + 1, (), "within a line", before, after)


def _cuts_name(text: str, at: int) -> bool:
    return 0 < at < len(text) and (text[at - 1 : at + 1].isidentifier() or text[at - 1 : at + 1].isalnum())


def _closest(
    original: Sequence[str], lines: Sequence[str], sought: list[int], nonblank: list[int], config: MatchConfig
) -> Match | NoMatch:
    if not nonblank:
        return NoMatch("its <original> block was not found: the file is empty")
    if len(sought) > config.closest_lines:
        return NoMatch("its <original> block was not found in the file; copy the lines exactly")
    wanted = [original[i].strip() for i in sought]
    have = [lines[i].strip() for i in nonblank]
    # each place by its likeness, best first: (ratio, start, stop) in nonblank lines
    places = sorted(
        (
            max((_likeness(wanted, have[start:stop], config), start, stop) for start, stop in around)
            for around in _likely_places(wanted, have, config.closest_places)
        ),
        reverse=True,
    )
    ratio, start, stop = places[0]
    rival = max((other[0] for other in places[1:] if other[2] <= start or other[1] >= stop), default=0.0)
    span = nonblank[start], nonblank[stop - 1] + 1
    if ratio < config.closest_ratio:
        return NoMatch(f"its <original> block was not found in the file; {_shown(lines, *span, config)}")
    if ratio - rival < config.closest_margin:
        second = next(other for other in places[1:] if other[0] == rival)
        return NoMatch(_ambiguous(sorted((span[0], nonblank[second[1]]))))
    pairs = _aligned(wanted, have[start:stop])
    return Match(
        *span,
        tuple((sought[i], nonblank[start + j]) for i, j in pairs),
        f"as the closest lines ({ratio:.0%} alike)",
    )


def _likely_places(
    wanted: Sequence[str], have: Sequence[str], number: int
) -> Iterator[list[tuple[int, int]]]:
    """The windows of `have` that share most tokens with `wanted`, apart from each other, each with its variants."""
    goal = Counter(token for line in wanted for token in _TOKEN.findall(line))
    tokens = [_TOKEN.findall(line) for line in have]
    size = min(len(wanted), len(have))
    held: Counter[str] = Counter()
    shared = total = 0
    scores = []
    for i, line in enumerate(tokens):
        for token in line:
            shared += held[token] < goal[token]
            held[token] += 1
        for token in tokens[i - size] if i >= size else ():
            held[token] -= 1
            shared -= held[token] < goal[token]
        total += len(line) - (len(tokens[i - size]) if i >= size else 0)
        if i + 1 >= size:
            scores.append((2 * shared / max(1, total + goal.total()), i + 1 - size))
    taken: list[int] = []
    for _, start in sorted(scores, key=lambda score: (-score[0], score[1])):
        if all(abs(start - other) * 2 > size for other in taken):
            taken.append(start)
            spans = {(start, start + size)}
            if size > 1:
                spans |= {(start, start + size - 1), (start + 1, start + size)}
                spans |= {(start, start + size + 1), (start - 1, start + size)}
            yield [span for span in spans if span[0] >= 0 and span[1] <= len(have)]
        if len(taken) == number:
            return


def _likeness(wanted: Sequence[str], have: Sequence[str], config: MatchConfig) -> float:
    left, right = "\n".join(wanted), "\n".join(have)
    if max(len(left), len(right)) <= config.by_character:
        return SequenceMatcher(None, left, right, autojunk=False).ratio()
    return SequenceMatcher(None, _TOKEN.findall(left), _TOKEN.findall(right)).ratio()


def _aligned(wanted: Sequence[str], have: Sequence[str]) -> Iterator[tuple[int, int]]:
    for _, i, i_end, j, j_end in SequenceMatcher(None, wanted, have, autojunk=False).get_opcodes():
        if i_end - i == j_end - j:
            yield from zip(range(i, i_end), range(j, j_end), strict=True)


def _shown(lines: Sequence[str], start: int, stop: int, config: MatchConfig) -> str:
    shown = "\n".join(lines[start : min(stop, start + config.shown_lines)])
    return f"the closest there is, from line {start + 1}:\n{shown}" if shown else "copy the lines exactly"
