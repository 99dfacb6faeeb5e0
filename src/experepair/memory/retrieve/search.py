"""One weighted query on one view of the derived index."""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import log
from typing import TYPE_CHECKING

from experepair.memory.retrieve.document import entry_in
from experepair.memory.retrieve.index import View, damage
from experepair.memory.retrieve.retriever import Entry

if TYPE_CHECKING:
    import tantivy

_TOP = 2.2
"""The most that tantivy's BM25 (k1 1.2) makes of a term's rarity."""

_MOST_TERMS = 160
"""Of a long query that are searched for, those that can gain most: the others are frequent, so slow, and say little."""


@dataclass(frozen=True, slots=True)
class Found:
    """A document that a search found.

    Attributes:
        score: BM25; or scaled, what suspected files add included.
        address: where its entry is read.
        touching: whether it was searched for by suspected files.
    """

    score: float
    address: tantivy.DocAddress
    touching: bool = False

    @property
    def place(self) -> tuple[int, int]:
        """Names the document within a view."""
        return self.address.segment_ord, self.address.doc

    def scaled(self, scale: float) -> Found:
        """The same with another score."""
        return replace(self, score=self.score * scale)


class Search:
    """A query ready to be run at any depth.

    Args:
        view: of the index.
        bag: the field that is searched.
        weights: of terms.
        origins: only demonstrations of these; empty means all.

    Raises:
        IndexDamaged: by this and all its methods; the index can't be read.
    """

    def __init__(
        self, view: View, bag: str, weights: Mapping[str, float], origins: Sequence[str] = ()
    ) -> None:
        self._searcher, self._schema = view.searcher, view.index.schema
        self.whole = 0.0
        """The most that a document could score; terms that no document has count like those that one has."""
        with damage():
            clauses = self._clauses(bag, weights)
            self.possible = bool(clauses)
            """Whether any document has a term of it."""
            self._query = self._both(clauses)
            if origins:
                self._query = self._both([self._query, self._silent("origin", origins)], every=True)

    def _clauses(self, bag: str, weights: Mapping[str, float]) -> list[tantivy.Query]:
        from tantivy import Query

        size = self._searcher.num_docs
        most: list[tuple[float, str, float]] = []
        for term, weight in weights.items():
            having = self._searcher.doc_freq(bag, term)
            gained = weight * _TOP * _rarity(size, max(having, 1))
            self.whole += gained
            if having:
                most.append((gained, term, weight))
        kept = heapq.nlargest(_MOST_TERMS, most)
        return [
            Query.boost_query(Query.term_query(self._schema, bag, term, "freq"), weight)
            for _, term, weight in kept
        ]

    def page(self, start: int, limit: int) -> list[Found]:
        """Some hits, best first."""
        return self._run(self._query, start, limit)

    def touching(self, shares: Mapping[str, float], scale: float, limit: int) -> list[Found]:
        """The best hits among those that touch suspected files, with a scaled score to which these add.

        Args:
            shares: what each file adds.
            scale: of the texts' score.
            limit: most hits.
        """
        from tantivy import Query

        files = [
            Query.const_score_query(Query.term_query(self._schema, "path", path, "basic"), share)
            for path, share in shares.items()
        ]
        best_file = Query.disjunction_max_query(files)
        query = self._both([Query.boost_query(self._query, scale), best_file], every=True)
        return [replace(found, touching=True) for found in self._run(query, 0, limit)]

    def entry(self, found: Found) -> Entry:
        """What the index knows of a hit."""
        with damage():
            return entry_in(self._searcher.doc(found.address))

    def _run(self, query: tantivy.Query, start: int, limit: int) -> list[Found]:
        with damage():
            hits = self._searcher.search(query, limit, count=False, offset=start).hits
        return [Found(float(score), address) for score, address in hits]

    def _silent(self, field: str, values: Sequence[str]) -> tantivy.Query:
        """Whatever has one of some values, without adding to its score."""
        from tantivy import Query

        return Query.const_score_query(Query.term_set_query(self._schema, field, list(values)), 0.0)

    @staticmethod
    def _both(queries: Sequence[tantivy.Query], *, every: bool = False) -> tantivy.Query:
        from tantivy import Occur, Query

        return Query.boolean_query([(Occur.Must if every else Occur.Should, query) for query in queries])


def _rarity(size: int, having: int) -> float:
    """What tantivy makes of the number of documents that have a term."""
    return log(1 + (size - having + 0.5) / (having + 0.5))
