"""The hybrid retriever: two orders joined by reciprocal rank."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import count, islice

from experepair.domain.memory import Query
from experepair.memory.retrieve.retriever import Hit, Retriever

_FIRST, _DEEPER = 64, 8


class Hybrid:
    """A demonstration counts 1 / (constant + rank) in each order that holds it.

    Args:
        first: likeness is told on its scale where it knows the demonstration.
        second: the other order.
        constant: how little the first ranks stand out.
    """

    def __init__(self, first: Retriever, second: Retriever, constant: int) -> None:
        self._retrievers, self._constant = (first, second), constant

    def ranked(self, query: Query) -> Iterator[Hit]:
        """By the sum of both, 1 for what both have first; relevant if either says so."""
        orders = [each.ranked(query) for each in self._retrievers]
        given: set[str] = set()
        shares: dict[str, float] = {}
        hits: dict[str, Hit] = {}
        reached = 0
        for depth in count():
            drawn = [list(islice(order, _FIRST * _DEEPER**depth)) for order in orders]
            if not any(drawn):
                return
            for order in drawn:
                for rank, hit in enumerate(order, reached + 1):
                    name = hit.entry.id
                    shares[name] = shares.get(name, 0.0) + 1 / (self._constant + rank)
                    kept = hits.setdefault(name, hit)
                    hits[name] = replace(kept, relevant=kept.relevant or hit.relevant)
            reached += _FIRST * _DEEPER**depth
            best = 2 / (self._constant + 1)
            for name in sorted(hits.keys() - given, key=lambda name: (-shares[name], name)):
                given.add(name)
                yield replace(hits[name], score=shares[name] / best)

    def size(self) -> int:
        """Demonstrations that compete."""
        return self._retrievers[0].size()

    @property
    def notes(self) -> tuple[str, ...]:
        """Of both."""
        return tuple(note for each in self._retrievers for note in each.notes)
