"""Where repairs run: the seam between a campaign, which says what and in which order, and machines."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Protocol

from experepair.bench.campaign.state import Outcome
from experepair.bench.campaign.work import Work


class Engine(Protocol):
    """Runs independent repairs, a bounded number at once."""

    async def repair(self, work: Work) -> Outcome | None:
        """Repair one issue when there is room for it, and say how that ended; None when a cap stopped it.

        A repair that fails is an outcome. What is raised ends the campaign: it can be resumed.
        """
        ...


class Pool:
    """Runs repairs in this process.

    Args:
        do: one repair.
        at_once: at most.
    """

    def __init__(self, do: Callable[[Work], Awaitable[Outcome | None]], at_once: int) -> None:
        self._do = do
        self._room = asyncio.Semaphore(max(1, at_once))

    async def repair(self, work: Work) -> Outcome | None:
        """Wait for room, then repair."""
        async with self._room:
            return await self._do(work)
