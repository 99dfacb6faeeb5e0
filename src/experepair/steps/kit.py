"""What the steps of a repair work with; every effect goes through it."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

from experepair.domain.command import NO_CHANGES, Changes, Command, Completed
from experepair.domain.memory import PastRepair
from experepair.domain.place import Ranking
from experepair.domain.trajectory import Trial
from experepair.journal import entries
from experepair.journal.journal import Journal
from experepair.llm.roles import Models
from experepair.localize.executed import NOTHING, Observed
from experepair.memory.config import LearnConfig, RecallConfig
from experepair.memory.memory import Memory
from experepair.sandbox.journalled import JournalledSandbox
from experepair.sandbox.sandbox import Limits
from experepair.steps.config import RepairConfig
from experepair.testing.framework import Framework
from experepair.workspace.checkout import Checkout


class Rank(Protocol):
    """Finds suspicious files without a model."""

    def __call__(
        self, issue_text: str, observed: Observed = NOTHING, past_repairs: Sequence[PastRepair] = (), /
    ) -> Ranking:
        """Rank by the issue, by what its reproduction executed once there is one, and by what memory knows."""
        ...


@dataclass(frozen=True)
class Kit:
    """The tools of one repair.

    Attributes:
        run_id: names the run; learning is keyed by it.
        models: a model for each role.
        sandbox: runs commands on private copies of the checkout.
        checkout: the commit under repair.
        memory: recalled before each trial.
        remembers: whether there is one that is recalled; what only serves recall is left undone without.
        learns: whether memory is told of the repair at its end.
        memory_place: where it is kept, for people.
        journal: the one record.
        rank: finds suspicious files without a model.
        framework: how the repository runs its tests; None when that is unknown.
        python_version: of the interpreter that the scripts run on, as in "3.9".
        import_error: what importing the repository's own packages fails with; "" when it works.
        env: variables of every command, such as the import path.
        limits: of an execution that brings none of its own.
        config: caps and sizes.
        recalling: how recall works.
        learning: caps of what is learned.
        out: folder for the results; None leaves them to the caller.
        sandbox_report: which backend isolates the executions, and how.
        notes: what the user should know of how the repair was set up.
        started: when, by the monotonic clock in seconds.
    """

    run_id: str
    models: Models
    sandbox: JournalledSandbox
    checkout: Checkout
    memory: Memory
    journal: Journal
    rank: Rank
    remembers: bool = False
    learns: bool = False
    memory_place: str = ""
    framework: Framework | None = None
    python_version: str = "3"
    import_error: str = ""
    env: tuple[tuple[str, str], ...] = ()
    limits: Limits = field(default_factory=Limits)
    config: RepairConfig = field(default_factory=RepairConfig)
    recalling: RecallConfig = field(default_factory=RecallConfig)
    learning: LearnConfig = field(default_factory=LearnConfig)
    out: Path | None = None
    sandbox_report: str = ""
    notes: tuple[str, ...] = ()
    started: float = field(default_factory=time.monotonic)

    def elapsed_s(self) -> float:
        """Wall time since the start, in seconds."""
        return time.monotonic() - self.started

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Journal that a stage begins and ends."""
        self.journal.append(entries.StageStarted(stage=name))
        yield
        self.journal.append(entries.StageEnded(stage=name))

    def decide(self, stage: str, what: str, **data: Any) -> None:
        """Journal a choice, with what it rests on."""
        self.journal.append(entries.Decided(stage=stage, what=what, data=data))

    def tried(self, trial: Trial) -> None:
        """Journal an agent's output and what came of it; memory learns from these."""
        self.journal.append(
            entries.Tried(
                agent=trial.agent,
                number=trial.number,
                name=trial.name,
                output=trial.output,
                feedback=trial.feedback,
                succeeded=trial.succeeded,
                applied=trial.applied,
            )
        )

    async def run(
        self,
        command: Command,
        changes: Changes = NO_CHANGES,
        *,
        limits: Limits | None = None,
        purpose: str = "existing tests",
    ) -> Completed:
        """Run a command on a private copy of the checkout, with the variables of this repair.

        What `limits` sets explicitly takes the place of the repair's own limits.
        """
        command = replace(command, env=(*self.env, *command.env))
        asked = limits.model_dump(exclude_unset=True) if limits else {}
        return await self.sandbox.run(
            command, changes, limits=self.limits.model_copy(update=asked), purpose=purpose
        )
