"""The choice among hits: what may be seen, one an issue, and why the others were left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Protocol

from experepair.domain.memory import Demonstration, Query
from experepair.memory.config import RecallConfig
from experepair.memory.eligibility import Bounds, Shingles
from experepair.memory.retrieve.retriever import Entry, Hit, entry_of

_RECALLABLE = "accepted"
_SECOND_LOOKS = 3
"""Hits below the floor whose issues are read: a long fix can make the very same short issue look unlike."""


class Stored(Protocol):
    """A demonstration as the store holds it."""

    @property
    def demonstration(self) -> Demonstration:
        """As it was learned."""
        ...

    @property
    def state(self) -> str:
        """Whether it may be recalled."""
        ...


class Texts(Protocol):
    """Where the texts of hits are read: an index may be wrong about them."""

    def demonstrations(self, ids: Sequence[str]) -> Mapping[str, Stored]:
        """Those of some demonstrations that are in the store."""
        ...


class Selection:
    """At most `top_k` demonstrations, nearest first.

    Args:
        store: where they are read.
        query: what they are for.
        bounds: what may not be seen.
        config: how many, and how many of them untrusted.
    """

    def __init__(self, store: Texts, query: Query, bounds: Bounds, config: RecallConfig) -> None:
        self._store, self._query, self._bounds, self._config = store, query, bounds, config
        self._shingles = Shingles(query.issue)
        self._second_looks = 0 if bounds.bar_near_duplicates else _SECOND_LOOKS
        self.hits: list[tuple[Demonstration, Hit]] = []
        self._looked_at = 0
        self._left_out: Counter[str] = Counter()
        self._near: list[dict[str, Any]] = []

    @property
    def taken(self) -> tuple[Demonstration, ...]:
        """What was chosen."""
        return tuple(known for known, _ in self.hits)

    def fill(self, hits: Iterator[Hit]) -> None:
        """Take the best that may be taken; only as many hits are drawn as that needs."""
        while missing := self._config.top_k - len(self.hits):
            wanted = list(islice(self._hopeful(hits), missing))
            if not wanted:
                return
            stored = self._store.demonstrations([hit.entry.id for hit in wanted])
            for hit in wanted:
                self._judge(hit, stored.get(hit.entry.id))

    def _hopeful(self, hits: Iterator[Hit]) -> Iterator[Hit]:
        """Hits that nothing speaks against as far as the index knows."""
        for hit in hits:
            self._looked_at += 1
            why = self._objection(hit.entry)
            if not why and not hit.relevant and not self._says_the_same(hit):
                why = "not alike enough"
            if why:
                self._leave(hit, why)
            else:
                yield hit

    def _says_the_same(self, hit: Hit) -> bool:
        """Whether its issue is a near-duplicate; only the first few are read for that."""
        if not self._second_looks:
            return False
        self._second_looks -= 1
        stored = self._store.demonstrations([hit.entry.id]).get(hit.entry.id)
        return stored is not None and self._near_duplicate(stored.demonstration)

    def _near_duplicate(self, known: Demonstration) -> bool:
        return self._shingles.similarity(known.issue) >= self._config.near_duplicate

    def _objection(self, entry: Entry) -> str:
        """Why an entry can't be taken beside those that are; "" if it can."""
        if entry.issue_id == self._query.issue_id:
            return "same issue"
        if why := self._bounds.refusal(entry.issue_id, entry.origin, entry.commit, entry.created_at):
            return why
        if any(entry.issue_id == known.issue_id for known, _ in self.hits):
            return "issue already taken"
        untrusted = sum(not known.trusted for known, _ in self.hits)
        if not entry.trusted and untrusted >= self._config.most_untrusted:
            return "enough of untrusted origin"
        return ""

    def _judge(self, hit: Hit, stored: Stored | None) -> None:
        """Take a hit, or say why not, by what the store says of it."""
        if stored is None or stored.state != _RECALLABLE:
            self._leave(hit, "no longer recallable")
            return
        known = stored.demonstration
        why = self._objection(entry_of(known))
        if not why and any(known.success == other.success for other, _ in self.hits):
            why = "same fix already taken"
        if not why and self._bounds.bar_near_duplicates and self._near_duplicate(known):
            why = "near-duplicate"
        if why:
            self._leave(hit, why)
        else:
            self.hits.append((known, hit))

    def _leave(self, hit: Hit, why: str) -> None:
        self._left_out[why] += 1
        if len(self._near) < self._config.audited:
            self._near.append(_line(hit) | {"why": why})

    def audit(self) -> dict[str, Any]:
        """What was looked at, what was taken with scores, and what came near and was left out; JSON values."""
        return {
            "looked_at": self._looked_at,
            "taken": [_line(hit) for _, hit in self.hits],
            "left_out": dict(self._left_out),
            "near": self._near,
        }


def _line(hit: Hit) -> dict[str, Any]:
    entry = hit.entry
    return {
        "id": entry.id,
        "issue": entry.issue_id,
        "origin": entry.origin.value,
        "score": round(hit.score, 4),
        "likeness": round(hit.likeness, 4),
    }
