"""The memory of one repository for one repair: the store, recall from it, and what a repair teaches it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from experepair.domain.issue import Issue
from experepair.domain.memory import Insight, Operation, PastRepair, Query, Recalled
from experepair.domain.roles import Agent
from experepair.domain.trajectory import Trajectory
from experepair.memory.config import RecallConfig
from experepair.memory.eligibility import Bounds
from experepair.memory.learn.diffs import blobs_of, functions
from experepair.memory.learn.extraction import key_of_run, lesson_of
from experepair.memory.learn.masking import masked
from experepair.memory.lesson import Learned
from experepair.memory.recall import Recaller
from experepair.workspace.git import Git

if TYPE_CHECKING:
    from experepair.memory.store import Store


def _now() -> datetime:
    return datetime.now(UTC)


class RepositoryMemory:
    """Both memories of a repository, as the steps of a repair use them.

    Args:
        store: of record; whoever opened it closes it.
        scope: the repository.
        bounds: what the repair must not see.
        config: how recall works.
        root: the repository's work tree, if there is one: its path is masked, and its contents name the definitions that
            a patch touches.
        index_root: where derived indexes are; None means the user's cache.
        clock: the time of learning.
    """

    def __init__(
        self,
        store: Store,
        scope: str,
        bounds: Bounds,
        config: RecallConfig,
        root: Path | None = None,
        index_root: Path | None = None,
        clock: Callable[[], datetime] = _now,
    ) -> None:
        self._store, self._scope, self._root, self._clock = store, scope, root, clock
        self._recaller = Recaller(store, scope, bounds, config, index_root)

    async def recall(self, query: Query) -> Recalled:
        """All insights of the agent, and the demonstrations nearest to the query. Never writes."""
        return await asyncio.to_thread(self._recaller.recall, query)

    async def past_repairs(self, issue: Issue) -> tuple[PastRepair, ...]:
        """Repairs of issues like this one, most similar first, for localization. Never writes."""
        return await asyncio.to_thread(self._recaller.past_repairs, issue)

    async def insights(self, agent: Agent) -> tuple[Insight, ...]:
        """All present insights of an agent, as the summarizer sees them. Never writes."""
        return await asyncio.to_thread(self._recaller.insights, agent)

    async def raise_fence(self, run_id: str, fence: int) -> None:
        """From now on refuse what those teach who held this run before the process with that number."""
        await asyncio.to_thread(self._store.raise_fence, self._scope, key_of_run(run_id), fence)

    async def learn(
        self, trajectory: Trajectory, operations: Mapping[Agent, tuple[Operation, ...]]
    ) -> Learned:
        """Keep demonstrations of a finished repair and apply operations on insights; the same run twice is once."""
        return await asyncio.to_thread(self._learn, trajectory, operations)

    def _learn(self, trajectory: Trajectory, operations: Mapping[Agent, tuple[Operation, ...]]) -> Learned:
        read_blob = blobs_of(Git(self._root)) if self._root else None
        naming = partial(functions, read_blob=read_blob)
        lesson = lesson_of(trajectory, operations, self._clock(), naming)
        return self._store.learn(masked(lesson, self._root))
