"""All recallable demonstrations of an agent, kept in memory for retrievers that look at each of them."""

from __future__ import annotations

from collections.abc import Callable
from threading import RLock
from typing import Generic, TypeVar

from experepair.domain.memory import Demonstration
from experepair.domain.roles import Agent
from experepair.memory.retrieve.retriever import Changes, Entry, entry_of

T = TypeVar("T")
_BATCH = 500


class Roll(Generic[T]):
    """Entries with what a retriever makes of each, caught up with the store.

    Args:
        source: the store.
        scope: the repository.
        agent: whose demonstrations.
        made_of: what is kept of one.
    """

    def __init__(
        self, source: Changes, scope: str, agent: Agent, made_of: Callable[[Demonstration], T]
    ) -> None:
        self._source, self._scope, self._agent, self._made_of = source, scope, agent, made_of
        self._known: dict[str, tuple[Entry, T]] = {}
        self._event = 0
        self._guard = RLock()

    def read(self) -> list[tuple[Entry, T]]:
        """Everything that is recallable now."""
        with self._guard:
            if self._source.head(self._scope, self._agent) < self._event:  # an older store was restored
                self._known.clear()
                self._event = 0
            while changes := self._source.changes(self._scope, self._agent, self._event, _BATCH):
                for change in changes:
                    self._known.pop(change.id, None)
                    if change.demonstration is not None:
                        self._known[change.id] = (
                            entry_of(change.demonstration),
                            self._made_of(change.demonstration),
                        )
                self._event = changes[-1].event
            return list(self._known.values())
