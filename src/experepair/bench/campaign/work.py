"""One repair of a campaign, from its folder back into its folder."""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from experepair.bench.campaign.start import memory_of
from experepair.bench.campaign.state import (
    INDEXES,
    Failure,
    Outcome,
    Phase,
    State,
    read_outcome,
    write_outcome,
)
from experepair.bench.environments import Environments
from experepair.bench.instance import Instance
from experepair.bench.mirrors import Mirrors
from experepair.bench.rows import language_refusal
from experepair.errors import ExpeRepairError, JournalHeld, OutputError
from experepair.folders import cache_folder
from experepair.journal.entries import Entry
from experepair.journal.lease import LeaseConfig
from experepair.llm.ledger import Ledger
from experepair.llm.model import Model
from experepair.memory.eligibility import Bounds
from experepair.session.memory import NONE
from experepair.session.opened import Job
from experepair.session.out import JOURNAL
from experepair.session.repair import repair_job
from experepair.session.settings import Settings, load
from experepair.steps.result import Result, Status
from experepair.workspace.checkout import checkout

_FINAL = (Status.REPAIRED, Status.BREAKS_TESTS, Status.UNREPRODUCED, Status.UNRESOLVED)


@dataclass(frozen=True, slots=True)
class Work:
    """One repair that is to be made. It can be sent to another process.

    Attributes:
        instance: what is repaired.
        phase: of the campaign.
        line: name of the variant, or in the initial phase of the model.
        home: folder of the line, which holds its memory.
        out: folder of the run.
        settings: of the repair, as flags.
        profile: see `experepair.session.profiles`.
    """

    instance: Instance
    phase: Phase
    line: str
    home: Path
    out: Path
    settings: Mapping[str, Any]
    profile: str = "default"


@dataclass(frozen=True)
class Bench:
    """What all repairs of a campaign share on one machine.

    Attributes:
        mirrors: where the repositories are.
        environments: what their code runs in; None leaves that to the settings.
        ledger: the cap on all of them together.
        observer: is called with each entry of each journal.
        tell: is called with what the user should know.
        replay: makes what answers in the place of every model; None asks the models.
        lease: of the journals.
        store: address of a server that keeps the memories; "" keeps each as a file in the folder of its line.
    """

    mirrors: Mirrors
    environments: Environments | None
    ledger: Ledger = field(default_factory=Ledger)
    observer: Callable[[Work, Entry], None] = lambda work, entry: None
    tell: Callable[[str], None] = lambda note: None
    replay: Callable[[Work], Model] | None = None
    lease: LeaseConfig = field(default_factory=LeaseConfig)
    store: str = ""

    def settings(self, work: Work) -> Settings:
        """What one repair is told; the repository's own file, which may be anything, has no say.

        Raises:
            UsageError: there is no environment for it, or a setting can't be used.
        """
        given = dict(work.settings)
        if self.environments is not None:
            environment = self.environments.of(work.instance)
            given |= environment.settings()
            given["variables"] = environment.variables
            if not environment.image:
                given["mount_at"] = environment.root
        if "memory" not in given:
            given["memory"] = memory_of(work.home, self.store)
        return load(None, given, profile=work.profile)


async def do(work: Work, bench: Bench) -> Outcome | None:
    """Repair one issue, or go on where a killed process left it; None when the cap on the campaign stopped it.

    Raises:
        OutputError: the folder can't be written; LeaseLost: another process has taken the repair over.
        JournalHeld: another process is at it.
        asyncio.CancelledError: the user interrupted it.
    """
    before = read_outcome(work.out)
    failures = before.failures if before else ()
    try:
        if refusal := await asyncio.to_thread(_refusal, work, bench):
            return _kept(work, State.REFUSED, failures, refusal)
        result = await _repaired(work, bench)
    except (OutputError, JournalHeld):  # it says nothing of this repair: another process may have it
        raise
    except ExpeRepairError as error:
        return _kept(work, State.FAILED, failures, str(error))
    except Exception as error:  # noqa: BLE001 - one issue must not stop the others
        return _kept(work, State.FAILED, failures, repr(error), traceback.format_exc())
    if result is None:
        return None
    if why := _incomplete(result):
        return _kept(work, State.FAILED, failures, why, status=result.status)
    return write_outcome(
        work.out,
        Outcome(instance_id=work.instance.id, state=State.DONE, status=result.status, failures=failures),
    )


async def _repaired(work: Work, bench: Bench) -> Result | None:
    settings = bench.settings(work)
    own = settings.models_config() if bench.replay is None else settings.replayed_config()
    ledger = Ledger(own.max_cost_usd, own.max_tokens, above=bench.ledger)
    work.out.mkdir(parents=True, exist_ok=True)
    job = replace(
        await asyncio.to_thread(job_of, work, bench, settings),
        resume=(work.out / JOURNAL).exists(),
        replay=bench.replay(work) if bench.replay else None,
        ledger=ledger,
        lease=bench.lease,
    )
    result = await repair_job(job, settings, lambda entry: bench.observer(work, entry), bench.tell)
    return None if result.status is Status.BUDGET_SPENT and ledger.refused_above else result


def job_of(work: Work, bench: Bench, settings: Settings) -> Job:
    """What a repair works on; nothing later than its issue is recalled.

    Raises:
        UsageError: the repository, or its commit, can't be had.
    """
    repository = bench.mirrors.open(work.instance)
    issue = work.instance.issue()
    return Job(
        issue,
        repository,
        repository.resolve(work.instance.base_commit),
        work.out,
        bounds=Bounds(issue.id, before=issue.created_at, bar_near_duplicates=True),
        indexes=None if settings.memory == NONE or bench.store else work.home / INDEXES,
    )


def failed(work: Work, why: str) -> Outcome:
    """Keep that a repair failed for a reason that the one who made it couldn't write down.

    Raises:
        OutputError: the folder can't be written.
    """
    before = read_outcome(work.out)
    return _kept(work, State.FAILED, before.failures if before else (), why)


def _refusal(work: Work, bench: Bench) -> str:
    repository = bench.mirrors.open(work.instance)
    commit = repository.resolve(work.instance.base_commit)
    tree = checkout(repository, commit, cache_folder() / "checkouts")
    refusal = language_refusal(work.instance, tree.files())
    return refusal.reason if refusal else ""


def _incomplete(result: Result) -> str:
    """Why a result doesn't count: its end had nothing to do with the issue, or memory wasn't told."""
    if result.status is Status.BUDGET_SPENT or result.status in _FINAL:
        learned = result.memory.learned if result.memory else None
        return learned.failed if learned and not learned.new and learned.failed else ""
    return f"{result.status}: {result.error or 'no reason is known'}"


def _kept(
    work: Work,
    state: State,
    before: tuple[Failure, ...],
    why: str,
    trace: str = "",
    status: str = "",
) -> Outcome:
    now = datetime.now(UTC).isoformat(timespec="seconds")
    failures = (*before, Failure(why=why, at=now, trace=trace))
    outcome = Outcome(instance_id=work.instance.id, state=state, status=status, failures=failures)
    try:
        work.out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"can't make {str(work.out)!r}: {error.strerror}") from error
    return write_outcome(work.out, outcome)
