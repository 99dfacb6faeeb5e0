"""The paper's retriever: BM25 over plain words; to reproduce it, not to be good."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from experepair.domain.memory import Demonstration, Failure, Query
from experepair.domain.roles import Agent
from experepair.memory.config import RecallConfig
from experepair.memory.retrieve.okapi import Okapi
from experepair.memory.retrieve.retriever import Changes, Entry, Hit
from experepair.memory.retrieve.roll import Roll


@dataclass(frozen=True, slots=True)
class _Words:
    issue: tuple[str, ...]
    failure: tuple[str, ...]


class Paper:
    """Issues compete by issue; when there is a failure, what answers one competes by failure instead.

    There is no relevance floor but a score above zero, and suspected files don't count.
    """

    def __init__(self, source: Changes, scope: str, agent: Agent, config: RecallConfig) -> None:
        self._roll = Roll(source, scope, agent, _words_of)
        self._config = config

    def ranked(self, query: Query) -> Iterator[Hit]:
        """By the share of the best score."""
        known = self._roll.read()
        failure = query.failure if self._config.failure_weight else None
        if failure is None:
            hits = _scored(known, [words.issue for _, words in known], plain_words(query.issue), 1.0)
        else:
            pairs = [each for each in known if not each[0].answers]
            answers = [each for each in known if each[0].answers]
            asked = plain_words(_text(failure))
            hits = [
                *_scored(pairs, [words.issue for _, words in pairs], plain_words(query.issue), 1.0),
                *_scored(
                    answers, [words.failure for _, words in answers], asked, self._config.failure_weight
                ),
            ]
        yield from sorted(hits, key=lambda hit: (-hit.score, hit.entry.answers, hit.entry.id))

    def size(self) -> int:
        """Demonstrations that compete."""
        return len(self._roll.read())

    @property
    def notes(self) -> tuple[str, ...]:
        """Nothing: it needs no index."""
        return ()


def plain_words(text: str) -> tuple[str, ...]:
    """What stands between white space, in lower case."""
    return tuple(text.lower().split())


def _words_of(demonstration: Demonstration) -> _Words:
    failure = demonstration.failure
    return _Words(plain_words(demonstration.issue), plain_words(_text(failure)) if failure else ())


def _text(failure: Failure) -> str:
    return f"{failure.feedback}\n{failure.output}"


def _scored(
    known: Sequence[tuple[Entry, _Words]],
    documents: Sequence[Sequence[str]],
    query: Sequence[str],
    weight: float,
) -> list[Hit]:
    scores = Okapi(documents).scores(query)
    best = max(scores, default=0.0)
    return [
        Hit(entry, weight * score / best, score / best)
        for (entry, _), score in zip(known, scores, strict=True)
        if score > 0
    ]
