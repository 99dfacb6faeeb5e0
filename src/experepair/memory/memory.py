"""The port to memory, and what stands behind it when there is none."""

from __future__ import annotations

from typing import Protocol

from experepair.domain.memory import Query, Recalled
from experepair.domain.trajectory import Trajectory


class Memory(Protocol):
    """Episodic and semantic memory of one repository (paper, 3.3)."""

    async def recall(self, query: Query) -> Recalled:
        """All insights of the agent, and the demonstrations nearest to the query. Never writes."""
        ...

    async def learn(self, trajectory: Trajectory) -> None:
        """Draw demonstrations and insights from a finished repair; the same run twice is once."""
        ...


class NoMemory:
    """Remembers nothing: prompts are those of an empty memory."""

    async def recall(self, query: Query) -> Recalled:
        """Nothing, always."""
        del query
        return Recalled()

    async def learn(self, trajectory: Trajectory) -> None:
        """Forget at once."""
        del trajectory
