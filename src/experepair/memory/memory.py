"""The port to memory, and what stands behind it when there is none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from experepair.domain.issue import Issue
from experepair.domain.memory import Insight, Operation, PastRepair, Query, Recalled
from experepair.domain.roles import Agent
from experepair.domain.trajectory import Trajectory
from experepair.memory.lesson import Learned


class Memory(Protocol):
    """Episodic and semantic memory of one repository (paper, 3.3)."""

    async def recall(self, query: Query) -> Recalled:
        """All insights of the agent, and the demonstrations nearest to the query. Never writes."""
        ...

    async def past_repairs(self, issue: Issue) -> tuple[PastRepair, ...]:
        """Repairs of issues like this one, most similar first, for localization. Never writes."""
        ...

    async def insights(self, agent: Agent) -> tuple[Insight, ...]:
        """All present insights of an agent, as the summarizer sees them. Never writes."""
        ...

    async def learn(
        self, trajectory: Trajectory, operations: Mapping[Agent, tuple[Operation, ...]]
    ) -> Learned:
        """Keep demonstrations of a finished repair and apply operations on insights; the same run twice is once."""
        ...


class NoMemory:
    """Remembers nothing: prompts are those of an empty memory."""

    async def recall(self, query: Query) -> Recalled:
        """Nothing, always."""
        del query
        return Recalled()

    async def past_repairs(self, issue: Issue) -> tuple[PastRepair, ...]:
        """None, always."""
        del issue
        return ()

    async def insights(self, agent: Agent) -> tuple[Insight, ...]:
        """None, always."""
        del agent
        return ()

    async def learn(
        self, trajectory: Trajectory, operations: Mapping[Agent, tuple[Operation, ...]]
    ) -> Learned:
        """Forget at once."""
        del trajectory, operations
        return Learned(new=False)


class ScriptedMemory(NoMemory):
    """Recalls the same in every trial of an agent, and remembers what it was asked and told."""

    def __init__(self, recalled: Mapping[Agent, Recalled]) -> None:
        self._recalled = recalled
        self.asked: list[Query] = []
        self.told: list[Trajectory] = []

    async def recall(self, query: Query) -> Recalled:
        """As scripted."""
        self.asked.append(query)
        return self._recalled.get(query.agent, Recalled())

    async def learn(
        self, trajectory: Trajectory, operations: Mapping[Agent, tuple[Operation, ...]]
    ) -> Learned:
        """Remember what was told."""
        del operations
        self.told.append(trajectory)
        return Learned(new=True)
