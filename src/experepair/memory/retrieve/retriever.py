"""The port to retrieval, and what it reads of the store."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from math import sqrt
from typing import Protocol

from experepair.domain.memory import Demonstration, Origin, Query
from experepair.domain.roles import Agent


class Change(Protocol):
    """A demonstration that became recallable, or no longer is."""

    @property
    def event(self) -> int:
        """Its place in the store's order."""
        ...

    @property
    def id(self) -> str:
        """Of the demonstration."""
        ...

    @property
    def demonstration(self) -> Demonstration | None:
        """None when it is no longer recallable."""
        ...


class Changes(Protocol):
    """What an index reads of the store."""

    def changes(self, scope: str, agent: Agent, after: int, limit: int) -> Sequence[Change]:
        """The next changes after an event, in order; none when the index is up to date."""
        ...

    def head(self, scope: str, agent: Agent) -> int:
        """The last event that concerns this index; 0 when there was none."""
        ...


@dataclass(frozen=True, slots=True)
class Entry:
    """What an index knows of a demonstration, enough to judge it without asking the store.

    Attributes:
        id: of the demonstration.
        issue_id: the issue it was learned from.
        origin: how far it can be trusted.
        trusted: whether its source was.
        commit: the fix that it was mined from, or the commit that was repaired.
        created_at: when the issue was written, or the fix committed.
        paths: files that it touches.
        answers: whether it answers a failure.
    """

    id: str
    issue_id: str
    origin: Origin
    trusted: bool
    commit: str
    created_at: datetime | None
    paths: tuple[str, ...]
    answers: bool


def entry_of(demonstration: Demonstration) -> Entry:
    """What an index keeps of a demonstration."""
    return Entry(
        demonstration.id,
        demonstration.issue_id,
        demonstration.origin,
        demonstration.trusted,
        demonstration.commit,
        demonstration.created_at,
        demonstration.paths,
        demonstration.failure is not None,
    )


@dataclass(frozen=True, slots=True)
class Hit:
    """A demonstration that is like a query.

    Attributes:
        entry: which.
        score: orders hits; 1 is the best likeness of texts, what touches suspected files is added.
        likeness: of the texts, 0..1, on the retriever's own scale.
        relevant: whether that is above the floor.
    """

    entry: Entry
    score: float
    likeness: float
    relevant: bool = True


class Retriever(Protocol):
    """Orders the recallable demonstrations of one agent in one repository."""

    def ranked(self, query: Query) -> Iterator[Hit]:
        """Those like the query, best first, each once, as deep as they are asked for.

        What may not be seen is in it too: the caller judges, and asks on.
        """
        ...

    def size(self) -> int:
        """How many there are."""
        ...

    @property
    def notes(self) -> tuple[str, ...]:
        """What had to be done without."""
        ...


class Affinity:
    """How much a demonstration touches the files that the ranking suspects.

    Args:
        paths: suspected files, best first.
        weight: what touching the first counts.
        most: how many count.
    """

    def __init__(self, paths: Sequence[str], weight: float, most: int) -> None:
        kept = paths[:most] if weight else ()
        self.shares = {path: weight / sqrt(place) for place, path in reversed(list(enumerate(kept, 1)))}

    def of(self, paths: Sequence[str]) -> float:
        """What is added to the likeness of texts."""
        return max((self.shares.get(path, 0.0) for path in paths), default=0.0)
