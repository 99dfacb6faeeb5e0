"""The default retriever: BM25 over code-aware terms, by tantivy."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import log
from typing import TYPE_CHECKING

from experepair.domain.memory import Query
from experepair.memory.config import RecallConfig
from experepair.memory.retrieve.document import entry_in
from experepair.memory.retrieve.index import DerivedIndex, View
from experepair.memory.retrieve.retriever import Affinity, Entry, Hit
from experepair.memory.retrieve.terms import failure_terms, issue_query, query_weights

if TYPE_CHECKING:
    import tantivy

_FIRST, _DEEPER = 64, 8
"""Hits asked for at first, and how many times more each further search asks for."""
_TOP = 2.2
"""The most that tantivy's BM25 (k1 1.2) makes of a term's rarity."""


@dataclass(frozen=True, slots=True)
class _Side:
    """What is compared: issues, or failures.

    Attributes:
        name: the field of the index.
        weights: of the query's terms.
        floor: least likeness.
        weight: what the best likeness counts.
        accepts: which entries compete on this side.
        affinity: what touching suspected files adds.
        origins: only these; empty means all.
    """

    name: str
    weights: Mapping[str, float]
    floor: float
    weight: float
    accepts: Callable[[Entry], bool]
    affinity: Affinity
    origins: tuple[str, ...] = field(default=())


class Bm25:
    """Issues compete by issue; when there is a failure, what answers one competes by failure instead."""

    def __init__(self, index: DerivedIndex, config: RecallConfig) -> None:
        self._index, self._config = index, config

    def ranked(self, query: Query) -> Iterator[Hit]:
        """By the share of the best hit's BM25, plus affinity to the suspected files."""
        yield from heapq.merge(*map(self._hits, self._sides(query)), key=lambda hit: -hit.score)

    def ranked_of(self, query: Query, origins: tuple[str, ...]) -> Iterator[Hit]:
        """Only demonstrations of some origins, by issue alone."""
        yield from self._hits(self._issue_side(query, lambda entry: True, origins))

    def size(self) -> int:
        """Demonstrations in the index."""
        return self._index.view().size

    @property
    def notes(self) -> tuple[str, ...]:
        """What was wrong with the index."""
        return tuple(self._index.notes)

    def _sides(self, query: Query) -> list[_Side]:
        config = self._config
        if query.failure is None or not config.failure_weight:
            return [self._issue_side(query, lambda entry: True)]
        weights = query_weights(failure_terms(query.failure, config.diff_weight))
        affinity = Affinity(query.paths, config.affinity_weight, config.affinity_files)
        failures = _Side(
            "failure",
            weights,
            config.failure_floor,
            config.failure_weight,
            lambda entry: entry.answers,
            affinity,
        )
        return [self._issue_side(query, lambda entry: not entry.answers), failures]

    def _issue_side(
        self, query: Query, accepts: Callable[[Entry], bool], origins: tuple[str, ...] = ()
    ) -> _Side:
        config = self._config
        weights = issue_query(query.issue, config.title_weight)
        affinity = Affinity(query.paths, config.affinity_weight, config.affinity_files)
        return _Side("issue", weights, config.issue_floor, 1.0, accepts, affinity, origins)

    def _hits(self, side: _Side) -> Iterator[Hit]:
        """Hits of one side, batch by batch; each batch is in order."""
        given: set[str] = set()
        best = 0.0
        limit, start = _FIRST, 0
        while True:
            whole, found, touching = self._index.read(
                lambda view, start=start, limit=limit: _Search(view, side).batch(start, limit)  # type: ignore[misc]
            )
            best = best or max((score for score, _ in found), default=0.0)
            batch: dict[str, Hit] = {}
            for score, entry in (*found, *touching):
                if entry.id not in given and side.accepts(entry):
                    likeness = score / whole
                    total = side.weight * score / best + side.affinity.of(entry.paths)
                    batch[entry.id] = Hit(entry, total, likeness, relevant=likeness >= side.floor)
            yield from sorted(batch.values(), key=_order)
            if len(found) < limit:
                return
            given |= batch.keys()
            start, limit = start + limit, limit * _DEEPER


def _order(hit: Hit) -> tuple[float, bool, str]:
    """Best first; of equals what answers no failure first, it shows the fix alone."""
    return -round(hit.score, 6), hit.entry.answers, hit.entry.id


_Scored = tuple[float, Entry]


class _Search:
    """One query on one view of the index."""

    def __init__(self, view: View, side: _Side) -> None:
        self._view, self._side, self._schema = view, side, view.index.schema

    def batch(self, start: int, limit: int) -> tuple[float, list[_Scored], list[_Scored]]:
        """The most that a document could score, some hits, and with the first of them those that touch suspected files."""
        query, whole = self._weighed()
        if self._side.origins:
            query = self._filtered(query, "origin", self._side.origins)
        paths = tuple(self._side.affinity.shares)
        touching = []
        if paths and not start:
            touching = self._run(self._filtered(query, "path", paths), 0, limit)
        return whole, self._run(query, start, limit), touching

    def _weighed(self) -> tuple[tantivy.Query, float]:
        """The query, and the most that a document could score; terms that no document has count there too."""
        import tantivy

        searcher, name = self._view.searcher, self._side.name
        documents = searcher.num_docs
        clauses: list[tuple[tantivy.Occur, tantivy.Query]] = []
        whole = 0.0
        for term, weight in self._side.weights.items():
            having = searcher.doc_freq(name, term)
            whole += weight * _TOP * log(1 + (documents - having + 0.5) / (having + 0.5))
            if having:
                found = tantivy.Query.term_query(self._schema, name, term, "freq")
                clauses.append((tantivy.Occur.Should, tantivy.Query.boost_query(found, weight)))
        return tantivy.Query.boolean_query(clauses), whole or 1.0

    def _filtered(self, query: tantivy.Query, name: str, values: Sequence[str]) -> tantivy.Query:
        """Hits that also have one of some values in another field; that adds nothing to their scores."""
        import tantivy

        allowed = tantivy.Query.const_score_query(
            tantivy.Query.term_set_query(self._schema, name, list(values)), 0.0
        )
        return tantivy.Query.boolean_query([(tantivy.Occur.Must, query), (tantivy.Occur.Must, allowed)])

    def _run(self, query: tantivy.Query, start: int, limit: int) -> list[_Scored]:
        searcher = self._view.searcher
        found = searcher.search(query, limit, count=False, offset=start).hits
        return [(float(score), entry_in(searcher.doc(address))) for score, address in found]
