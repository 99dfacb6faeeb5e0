"""One attempt at a repair, on whatever machine Ray has chosen."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from experepair.bench.campaign.state import Outcome
from experepair.bench.campaign.work import Bench, Work, do
from experepair.bench.cluster.desk import RemoteLedger
from experepair.bench.environments import Environments
from experepair.bench.mirrors import Mirrors
from experepair.errors import JournalHeld, LeaseLost, UsageError
from experepair.folders import cache_folder
from experepair.journal.entries import Entry, RunStarted, StageStarted
from experepair.journal.lease import LeaseConfig
from experepair.llm.model import Model


class Gone(StrEnum):
    """Why an attempt has no outcome: another one has the repair."""

    LOST = "lost"
    """It was taken over."""
    HELD = "held"
    """Another attempt lives."""


@dataclass(frozen=True)
class Shared:
    """What all repairs of a campaign share, as it can be sent to other machines. Keys of providers aren't in it.

    Attributes:
        mirrors: folder of repositories, on each machine or shared; None clones them once on each.
        environments: what their code runs in.
        lease: of the journals.
        store: address of the server with the memories.
        replay: makes what answers in the place of every model.
    """

    mirrors: Path | None
    environments: Environments | None
    lease: LeaseConfig
    store: str
    replay: Callable[[Work], Model] | None = None


def attempt(work: Work, shared: Shared, name: str, desk: Any) -> Outcome | Gone | None:
    """Repair one issue, or go on where another worker was lost.

    Args:
        work: with absolute folders.
        shared: by all.
        name: of this attempt.
        desk: handle of the actor.

    Raises:
        UsageError: the folder of the campaign isn't shared with this machine.
        OutputError: it can't be written.
    """
    if not work.home.is_dir():
        raise UsageError(
            f"{str(work.home)!r} isn't on this machine: the folder of the campaign must be shared"
        )

    def observed(_: Work, entry: Entry) -> None:
        if isinstance(entry, RunStarted | StageStarted):
            desk.tell.remote(name, entry)

    bench = Bench(
        Mirrors(cache_folder() / "clones", shared.mirrors),
        shared.environments,
        RemoteLedger(desk, name),
        observed,
        replay=shared.replay,
        lease=shared.lease,
        store=shared.store,
    )
    try:
        return asyncio.run(do(work, bench))
    except LeaseLost:
        return Gone.LOST
    except JournalHeld:
        return Gone.HELD
