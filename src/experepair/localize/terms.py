"""How text and code are cut into terms: the same for issues, sources and past commits."""

from __future__ import annotations

import re
from collections import Counter

_IDENTIFIER = re.compile(r"[^\W\d]\w*")
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_A-Za-z]+")

_STOP_WORDS = """
a about after all also an and any are as at be because been but by can could did do does doing done
each else even for from get gets getting had has have having he her here him his how however i if in
into is isn it its itself just ll let like me more most much my no nor not now of off on once one only
or other our out over own re same see she should so some still such than that the their them then
there these they this those though through to too two under until up us use used uses using ve very
via want was we were what when where which while who why will with without would yet you your
cls def elif except false finally global import lambda none nonlocal pass print raise return self true
try yield class assert async await break continue del
am pm http https www com org github issue bug please thanks thank hi hello
"""
_STOPPED = frozenset(_STOP_WORDS.split())
"""Words of English, Python and issue trackers that tell no file from another."""


def is_common(word: str) -> bool:
    """Whether a word, in lower case, is left out of terms."""
    return word in _STOPPED


def _stem(word: str) -> str:
    """Cut the endings that English words most often differ by; crude, but the same on both sides."""
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 5 and word.endswith("ing"):
        word = word[:-3]
    elif len(word) > 4 and word.endswith("ed"):
        word = word[:-2]
    elif len(word) > 3 and word.endswith("s") and not word.endswith("ss"):
        word = word[:-1]
    if len(word) > 3 and word.endswith("e"):
        word = word[:-1]
    return word


def _split(identifier: str) -> tuple[str, ...]:
    parts = [part.lower() for part in _PART.findall(identifier)]
    kept = [_stem(part) for part in parts if len(part) > 1 and part not in _STOPPED]
    whole = identifier.replace("_", "").lower()
    if len(parts) > 1 or (parts and whole != parts[0]):  # get_value, or E108 and sha256
        kept.append(whole)
    return tuple(kept)


class _Splits(dict[str, tuple[str, ...]]):
    """Terms of the identifiers seen so far: splitting costs more than all else, and they recur."""

    LIMIT = 200_000

    def __missing__(self, identifier: str) -> tuple[str, ...]:
        if len(self) >= self.LIMIT:
            self.clear()
        found = self[identifier] = _split(identifier) if len(identifier) <= 100 else ()
        return found


_splits = _Splits()


def terms_of(identifier: str) -> tuple[str, ...]:
    """Terms of one identifier: its parts without endings, and the whole if it has several parts or digits."""
    return _splits[identifier]


def count_terms(text: str) -> dict[str, int]:
    """How often each term is in a text."""
    counts: dict[str, int] = {}
    for identifier, times in Counter(_IDENTIFIER.findall(text)).items():
        for term in _splits[identifier]:
            counts[term] = counts.get(term, 0) + times
    return counts


def words_behind(text: str) -> dict[str, str]:
    """For each term of a text the shortest of the words that it stands for, as it is written there."""
    words: dict[str, str] = {}
    for identifier in sorted(set(_IDENTIFIER.findall(text)), key=lambda word: (len(word), word)):
        for term in _splits[identifier]:
            words.setdefault(term, identifier)
    return words
