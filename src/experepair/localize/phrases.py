"""Sequences of words that an issue shares with a file: error messages, quoted code, lines of tracebacks."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from math import log

from experepair.localize.index.view import Index
from experepair.localize.source import Source
from experepair.localize.terms import is_common
from experepair.localize.text import text_of, without_traceback_heads

_WORD = re.compile(r"\w+")
_LENGTH = 3
"""Words in a phrase: two are often chance, four miss messages with one value filled in."""

Phrase = tuple[str, ...]


@dataclass
class Phrases:
    """How many rare phrases each file (by position) shares with an issue, and one of them."""

    files: dict[int, float] = field(default_factory=dict)
    best: dict[int, str] = field(default_factory=dict)


def phrases_of(text: str) -> set[Phrase]:
    """Phrases of a text with two words of some length, of which one is no common word of English."""
    words = _WORD.findall(text.lower())
    found: set[Phrase] = set()
    for phrase in zip(*(words[start:] for start in range(_LENGTH)), strict=False):
        long = [word for word in phrase if len(word) > 2 and not word.isdigit()]
        if len(long) > 1 and not all(map(is_common, long)):
            found.add(phrase)
    return found


def shared_phrases(issue_text: str, source: Source, index: Index, files: Iterable[int]) -> Phrases:
    """Phrases that an issue shares with some files; one that few of them have counts more.

    Args:
        issue_text: the issue.
        source: reads the files: phrases aren't in the index, they would be most of it.
        index: of the same commit.
        files: positions of the files that are looked at.
    """
    wanted = phrases_of(without_traceback_heads(issue_text))
    result = Phrases()
    if not wanted:
        return result
    by_blob: dict[str, list[int]] = {}
    for file in files:
        by_blob.setdefault(index.files[file].blob, []).append(file)
    seen: dict[str, dict[Phrase, None]] = {}
    for blob, content in source.contents(by_blob):
        seen[blob] = _found(text_of(content), wanted)
    having = Counter(phrase for phrases in seen.values() for phrase in phrases)
    for blob, phrases in seen.items():
        for phrase in phrases:
            weight = log(1 + len(by_blob) / having[phrase])
            for file in by_blob[blob]:
                result.files[file] = result.files.get(file, 0.0) + weight
                result.best.setdefault(file, " ".join(phrase))
    return result


def _found(text: str, wanted: set[Phrase]) -> dict[Phrase, None]:
    """Which of the wanted phrases a text holds, in order."""
    words = _WORD.findall(text.lower())
    phrases = zip(*(words[start:] for start in range(_LENGTH)), strict=False)
    return dict.fromkeys(phrase for phrase in phrases if phrase in wanted)
