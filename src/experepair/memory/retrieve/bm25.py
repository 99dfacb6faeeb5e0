"""The default retriever: BM25 over code-aware terms, by tantivy."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from math import sqrt

from experepair.domain.memory import Query
from experepair.memory.config import RecallConfig
from experepair.memory.retrieve.index import DerivedIndex, IndexDamaged
from experepair.memory.retrieve.retriever import Affinity, Entry, Hit
from experepair.memory.retrieve.search import Found, Search
from experepair.memory.retrieve.terms import failure_terms, issue_query, query_weights

_FIRST, _DEEPER = 64, 8
"""Hits asked for at first, and how many times more each further search asks for."""

_SHORT = 15
"""Terms of a short query: with fewer, chance alone makes much of it common, and no share of it says more."""


@dataclass(frozen=True, slots=True)
class _Side:
    """What is compared: issues, or failures.

    Attributes:
        bag: the field of the index.
        weights: of the query's terms.
        floor: least likeness, for a query of one term.
        floor_touching: the same for what touches suspected files.
        weight: what the best likeness counts.
        accepts: which entries compete on this side.
        origins: only these; empty means all.
    """

    bag: str
    weights: Mapping[str, float]
    floor: float
    floor_touching: float
    weight: float
    accepts: Callable[[Entry], bool]
    origins: tuple[str, ...] = ()


class Bm25:
    """Issues compete by issue; when there is a failure, what answers one competes by failure instead."""

    def __init__(self, index: DerivedIndex, config: RecallConfig) -> None:
        self._index, self._config = index, config
        self._size = 0

    def ranked(self, query: Query) -> Iterator[Hit]:
        """By the share of the best hit's BM25, plus affinity to the suspected files.

        Raises:
            UsageError: the index can't be read, nor made again.
        """
        yield from self._mended(self._sides(query), query)

    def ranked_of(self, query: Query, origins: tuple[str, ...]) -> Iterator[Hit]:
        """Only demonstrations of some origins, by issue alone."""
        yield from self._mended([self._issue_side(query, lambda entry: True, origins)], query)

    def size(self) -> int:
        """Demonstrations in the index, as it was last read."""
        return self._size

    @property
    def notes(self) -> tuple[str, ...]:
        """What was wrong with the index."""
        return tuple(self._index.notes)

    def _sides(self, query: Query) -> list[_Side]:
        config = self._config
        if query.failure is None or not config.failure_weight:
            return [self._issue_side(query, lambda entry: True)]
        weights = query_weights(failure_terms(query.failure, config.diff_weight))
        answers = _Side(
            "failure",
            weights,
            config.failure_floor,
            config.touching_floor,
            config.failure_weight,
            lambda entry: entry.answers,
        )
        return [self._issue_side(query, lambda entry: not entry.answers), answers]

    def _issue_side(
        self, query: Query, accepts: Callable[[Entry], bool], origins: tuple[str, ...] = ()
    ) -> _Side:
        config = self._config
        weights = issue_query(query.issue, config.title_weight)
        return _Side("issue", weights, config.issue_floor, config.touching_floor, 1.0, accepts, origins)

    def _mended(self, sides: list[_Side], query: Query) -> Iterator[Hit]:
        """The hits of all sides; from a new index where the present one turns out to be damaged."""
        given: set[str] = set()
        affinity = Affinity(query.paths, self._config.affinity_weight, self._config.affinity_files)
        for last in (False, True):
            try:
                for hit in self._merged(sides, affinity):
                    if hit.entry.id not in given:
                        given.add(hit.entry.id)
                        yield hit
            except IndexDamaged as error:
                self._index.renew(error, last=last)
            else:
                return

    def _merged(self, sides: list[_Side], affinity: Affinity) -> Iterator[Hit]:
        view = self._index.view()
        self._size = view.size
        searches = [(side, Search(view, side.bag, side.weights, side.origins)) for side in sides]
        orders = [_hits(side, search, affinity) for side, search in searches if search.possible]
        yield from heapq.merge(*orders, key=lambda hit: -hit.score)


def _hits(side: _Side, search: Search, affinity: Affinity) -> Iterator[Hit]:
    """Hits of one side, best first; what isn't drawn isn't read, and below the floor nobody looks further."""
    page = search.page(0, _FIRST)
    if not page:
        return
    scale = side.weight / page[0].score
    length = sqrt(max(len(side.weights), _SHORT))
    floor, floor_touching = side.floor / length, side.floor_touching / length

    def read(found: Found) -> Hit:
        entry = search.entry(found)
        added = affinity.of(entry.paths)
        texts = found.score - added if found.touching else found.score
        likeness = texts / scale / search.whole
        return Hit(entry, texts + added, likeness, likeness >= (floor_touching if added else floor))

    def drawn(order: Iterator[Found]) -> Iterator[Hit]:
        for _, equals in groupby(order, key=lambda found: round(found.score, 5)):
            # of equals what answers no failure comes first: it shows the fix alone
            hits = sorted(map(read, equals), key=lambda hit: (hit.entry.answers, hit.entry.id))
            yield from (hit for hit in hits if side.accepts(hit.entry))

    touching = search.touching(affinity.shares, scale, _FIRST) if affinity.shares else []
    near = {found.place for found in touching}
    start, limit = 0, _FIRST
    while page:
        apart = [found.scaled(scale) for found in page if found.place not in near]
        yield from drawn(heapq.merge(touching, apart, key=lambda found: -found.score))
        touching = []
        if len(page) < limit or page[-1].score / search.whole < floor:
            return
        start, limit = start + limit, limit * _DEEPER
        page = search.page(start, limit)
