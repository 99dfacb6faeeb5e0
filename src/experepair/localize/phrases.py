"""Sequences of words that an issue shares with a file: error messages, quoted code, lines of tracebacks."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from math import log

from experepair.localize.index.view import Index
from experepair.localize.source import Source
from experepair.localize.text import text_of

_WORD = re.compile(r"\w+|\n")
_LENGTH = 3
"""Words in a phrase: two are often chance, four miss messages with one value filled in."""

Phrase = tuple[str, ...]


@dataclass
class Phrases:
    """How many rare phrases each file (by position) and unit (by id) share with an issue."""

    files: dict[int, float] = field(default_factory=dict)
    units: dict[int, float] = field(default_factory=dict)
    best: dict[int, str] = field(default_factory=dict)


def phrases_of(text: str) -> set[Phrase]:
    """Phrases of a text in which at least two words say something."""
    words = [word.lower() for word in _WORD.findall(text) if word != "\n"]
    found = zip(*(words[start:] for start in range(_LENGTH)), strict=False)
    return {phrase for phrase in found if sum(len(word) > 2 and not word.isdigit() for word in phrase) > 1}


def shared_phrases(issue_text: str, source: Source, index: Index, files: Iterable[int]) -> Phrases:
    """Phrases that an issue shares with some files; one that few of them have counts more.

    Args:
        issue_text: the issue.
        source: reads the files: phrases aren't in the index, they would be most of it.
        index: of the same commit.
        files: positions of the files that are looked at.
    """
    wanted = phrases_of(issue_text)
    result = Phrases()
    if not wanted:
        return result
    by_blob: dict[str, list[int]] = {}
    for file in files:
        by_blob.setdefault(index.files[file].blob, []).append(file)
    seen: dict[str, dict[Phrase, list[int]]] = {}
    for blob, content in source.contents(by_blob):
        seen[blob] = _lines_by_phrase(text_of(content), wanted)
    having = Counter(phrase for phrases in seen.values() for phrase in phrases)
    for blob, phrases in seen.items():
        for phrase, lines in phrases.items():
            weight = log(1 + len(by_blob) / having[phrase])
            for file in by_blob[blob]:
                result.files[file] = result.files.get(file, 0.0) + weight
                result.best.setdefault(file, " ".join(phrase))
                for unit in {index.function_at(file, line) for line in lines} - {None}:
                    if unit is not None:
                        result.units[unit] = result.units.get(unit, 0.0) + weight
    return result


def _lines_by_phrase(text: str, wanted: set[Phrase]) -> dict[Phrase, list[int]]:
    """Where each of the wanted phrases begins."""
    known = {word for phrase in wanted for word in phrase}
    found: dict[Phrase, list[int]] = {}
    line, run, starts = 1, list[str](), list[int]()
    for word in _WORD.findall(text.lower()):
        if word == "\n":
            line += 1
            continue
        if word not in known:
            run.clear()
            starts.clear()
            continue
        run.append(word)
        starts.append(line)
        if len(run) >= _LENGTH:
            phrase = tuple(run[-_LENGTH:])
            if phrase in wanted:
                found.setdefault(phrase, []).append(starts[-_LENGTH])
    return found
