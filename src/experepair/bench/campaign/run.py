"""A campaign from outside: what `experepair bench run` calls."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from experepair.bench.campaign import plan
from experepair.bench.campaign.arms import Arm
from experepair.bench.campaign.looking import look
from experepair.bench.campaign.progress import Progress
from experepair.bench.campaign.start import fork, memory_of, record
from experepair.bench.campaign.state import (
    START,
    Campaign,
    Folder,
    Order,
    Phase,
    State,
    digest,
    read_outcome,
    statements_digest,
)
from experepair.bench.campaign.submission import write_submissions
from experepair.bench.campaign.work import Bench, Work, do
from experepair.bench.dataset import Dataset, Selection, load
from experepair.bench.engine import Engine, Pool
from experepair.bench.environments import Environments
from experepair.bench.instance import Instance
from experepair.bench.mirrors import Mirrors
from experepair.errors import ExpeRepairError, JournalError, UsageError
from experepair.folders import cache_folder
from experepair.journal.lease import LeaseConfig
from experepair.journal.reading import read_journal
from experepair.llm.ledger import Ledger
from experepair.llm.model import Model
from experepair.llm.roles import check_affordable
from experepair.session.out import JOURNAL


@dataclass(frozen=True)
class Asked:
    """What a campaign is asked to be, and how it runs on this machine.

    Attributes:
        dataset: see `experepair.bench.dataset.load`.
        out: folder of the campaign.
        selection: which instances.
        seeds: see `plan.choose_seeds`.
        arms: of memory.
        models: to be compared; empty means that of the settings.
        repeats: of everything.
        order: of the inference phase.
        phases: which are run now.
        profile: of settings.
        settings: of each repair, as flags.
        start: address of the memory that every variant begins with; "" means an empty one.
        mirrors: folder of repositories.
        environments: an environments file; None means SWE-bench's images, unless `settings` say where code runs.
        at_once: repairs at the same time.
        total_cost: cap on all of them in US dollars; None means none.
        total_tokens: the same in tokens.
        store: address of the server that keeps the memories; "" keeps them in `out`.
        lease: of the journals.
        scripts: run each repair's last script with and without the maintainers' fix, once all repairs are over.
        resume: go on with the campaign that is there.
        retry_failed: try again what failed.
    """

    dataset: str
    out: Path
    selection: Selection = field(default_factory=Selection)
    seeds: str = ""
    arms: tuple[Arm, ...] = (Arm.FULL,)
    models: tuple[str, ...] = ()
    repeats: int = 1
    order: Order = Order.ONLINE
    phases: tuple[Phase, ...] = (Phase.INITIAL, Phase.INFERENCE)
    profile: str = "default"
    settings: Mapping[str, Any] = field(default_factory=dict)
    start: str = ""
    mirrors: Path | None = None
    environments: Path | None = None
    at_once: int = 1
    total_cost: float | None = None
    total_tokens: int | None = None
    store: str = ""
    lease: LeaseConfig = field(default_factory=LeaseConfig)
    scripts: bool = True
    resume: bool = False
    retry_failed: bool = False


_PLACES = ("image", "rootfs", "python")
"""Settings that say where code runs."""
_OF_A_MACHINE = frozenset(
    (*_PLACES, "image_workdir", "base_url", "price", "sandbox", "max_cost", "max_tokens")
)
"""Settings that may be others when a campaign goes on: on another machine, or with more money."""


def run(
    asked: Asked,
    *,
    progress: Progress | None = None,
    tell: Callable[[str], None] = lambda note: None,
    replay: Callable[[Work], Model] | None = None,
    engine: Callable[[Bench], Engine] | None = None,
) -> Progress:
    """Run a campaign, or go on with it: what is done is not done again, what was answered is not paid again.

    Args:
        asked: what and how.
        progress: follows it; None means a new one.
        tell: is called with what the user should know.
        replay: makes what answers in the place of every model of a repair.
        engine: where the repairs run; None means a pool in this process.

    Returns:
        How far it is; what failed is in it.

    Raises:
        UsageError: something given can't be used, or isn't what the campaign began with.
        OutputError: the folder can't be written.
    """
    dataset = load(asked.dataset, asked.selection)
    for refusal in dataset.refused:
        tell(f"{refusal.id} is refused: {refusal.reason}")
    folder = Folder(asked.out)
    environments = _environments(asked)
    progress = progress or Progress()
    with folder.held():
        campaign = _begun(asked, dataset, folder)
        instances = {one.id: one for one in dataset.instances}
        phases = _phases(asked, campaign, folder, instances)
        works = [work for chains in phases.values() for chain in chains for work in chain]
        bench = Bench(
            Mirrors(cache_folder() / "clones", asked.mirrors),
            environments,
            _ledger(asked, folder),
            progress.entry,
            tell,
            replay,
            asked.lease,
            asked.store,
        )
        _check(works, bench, tell)
        made = engine(bench) if engine else Pool(lambda work: do(work, bench), asked.at_once)
        progress.begin(works, bench.ledger)
        _completed(_run(phases, campaign, folder, made, asked, progress))
        write_submissions(campaign, folder)
        if asked.scripts and not progress.stopped:
            inferred = [work for work in works if work.phase is Phase.INFERENCE]
            _completed(look(inferred, dataset.answers, bench, asked.at_once))
    return progress


def _completed(work: Coroutine[Any, Any, None]) -> None:
    """Run to the end; of errors that come together the first that was raised on purpose is told."""
    try:
        asyncio.run(work)
    except BaseExceptionGroup as group:
        known = group.subgroup(ExpeRepairError)
        if known is None or group.split(ExpeRepairError)[1] is not None:
            raise
        first: BaseException = known
        while isinstance(first, BaseExceptionGroup):
            first = first.exceptions[0]
        raise first from group


def _begun(asked: Asked, dataset: Dataset, folder: Folder) -> Campaign:
    """The campaign in the folder, if it is the one that is asked for; else a new one."""
    seeds, rest = plan.choose_seeds(asked.seeds, dataset.instances)
    wanted = Campaign(
        dataset=dataset.name,
        instances=tuple(one.id for one in rest),
        seeds=tuple(one.id for one in seeds),
        statements=statements_digest(dataset.instances),
        arms=asked.arms,
        models=asked.models,
        repeats=asked.repeats,
        order=asked.order,
        profile=asked.profile,
        settings=_recorded(asked.settings),
        created=datetime.now(UTC).isoformat(timespec="seconds"),
    )
    if not folder.exists:
        if asked.resume:
            raise UsageError(
                f"there is no campaign in {str(folder.root)!r} to resume; leave --resume out to begin"
            )
        begun = wanted.model_copy(update={"start": record(asked.start, folder.root / START)})
        folder.begin(begun)
        return begun
    if not asked.resume:
        raise UsageError(
            f"{str(folder.root)!r} holds a campaign; --resume goes on with it, or give another --out"
        )
    campaign = folder.campaign()
    same = {"created", "start", "dataset"}
    before, now = _comparable(campaign), _comparable(wanted)
    other = [name for name in before if name not in same and before[name] != now[name]]
    if other:
        raise UsageError(
            f"the campaign in {str(folder.root)!r} began with other {', '.join(other)}; "
            "give the same again, or another --out"
        )
    return campaign.model_copy(update={"settings": wanted.settings})


def _comparable(campaign: Campaign) -> dict[str, Any]:
    told = campaign.model_dump()
    kept = {name: value for name, value in campaign.settings.items() if name not in _OF_A_MACHINE}
    return {**told, "settings": kept}


def _recorded(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings as they come back from JSON."""
    from pydantic_core import to_jsonable_python

    given = {name: value for name, value in settings.items() if value not in (None, {})}
    recorded: dict[str, Any] = to_jsonable_python(given)
    return recorded


def _phases(
    asked: Asked, campaign: Campaign, folder: Folder, instances: Mapping[str, Instance]
) -> dict[Phase, list[plan.Chain]]:
    made = {Phase.INITIAL: plan.initial, Phase.INFERENCE: plan.inference}
    return {phase: list(made[phase](campaign, folder, instances)) for phase in Phase if phase in asked.phases}


async def _run(
    phases: Mapping[Phase, Sequence[plan.Chain]],
    campaign: Campaign,
    folder: Folder,
    engine: Engine,
    asked: Asked,
    progress: Progress,
) -> None:
    for phase, chains in phases.items():
        if phase is Phase.INITIAL and chains:
            _fork_seeds(campaign, folder, asked.store)
        elif phase is Phase.INFERENCE:
            _fork_variants(campaign, folder, asked.store)
        async with asyncio.TaskGroup() as group:
            for chain in chains:
                group.create_task(_follow(chain, engine, asked, progress))
        if progress.stopped:
            return


async def _follow(chain: plan.Chain, engine: Engine, asked: Asked, progress: Progress) -> None:
    for work in chain:
        before = read_outcome(work.out)
        if before is not None and not (before.state is State.FAILED and asked.retry_failed):
            progress.ended(work, before)
            continue
        if progress.stopped:
            return
        progress.ended(work, await engine.repair(work))


def _fork_seeds(campaign: Campaign, folder: Folder, store: str) -> None:
    start = folder.root / START if campaign.start else None
    for model in campaign.models or ("",):
        fork(start, campaign.start, folder.line(Phase.INITIAL, plan.line_of(model)), store)


def _fork_variants(campaign: Campaign, folder: Folder, store: str) -> None:
    """Every variant begins with what the seeds taught, or with the start state when there are none."""
    for name in campaign.seeds:
        for model in campaign.models or ("",):
            if read_outcome(folder.run(Phase.INITIAL, plan.line_of(model), name)) is None:
                raise UsageError(f"the seed {name!r} is not repaired yet; run the initial phase first")
    for variant in campaign.variants:
        if variant.arm is Arm.NO_MEMORY:
            continue
        start, wanted = (folder.root / START, campaign.start) if campaign.start else (None, "")
        if campaign.seeds:
            start, wanted = _taught(folder.line(Phase.INITIAL, plan.line_of_variant(variant)), store)
        fork(start, wanted, folder.line(Phase.INFERENCE, variant.name), store)


def _taught(home: Path, store: str) -> tuple[Path, str]:
    """The memory at the end of the initial phase, recorded once."""
    path = home / START
    if not path.exists():
        record(memory_of(home, store), path)
    return path, digest(path.read_bytes())


def _environments(asked: Asked) -> Environments | None:
    if asked.environments is not None:
        return Environments.read(asked.environments)
    return None if any(asked.settings.get(name) for name in _PLACES) else Environments.images()


def _ledger(asked: Asked, folder: Folder) -> Ledger:
    """The cap on the campaign, less what its journals say was spent."""
    ledger = Ledger(asked.total_cost, asked.total_tokens)
    for path in sorted(folder.root.glob(f"*/*/runs/*/{JOURNAL}")):
        try:
            ledger.restore(read_journal(path))
        except JournalError:
            continue  # that run says so itself when it is resumed
    return ledger


def _check(works: Iterable[Work], bench: Bench, tell: Callable[[str], None]) -> None:
    """Refuse before anything is paid what would fail for every issue."""
    warned: set[str] = set()
    seen: set[str] = set()
    for work in works:
        settings = replace(bench, store="").settings(work)  # its memory may not be made yet
        if bench.replay is not None or f"{work.phase}{work.line}" in seen:
            continue
        seen.add(f"{work.phase}{work.line}")
        config = settings.models_config().model_copy(
            update={
                "max_cost_usd": bench.ledger.max_cost_usd or settings.max_cost,
                "max_tokens": bench.ledger.max_tokens or settings.max_tokens,
            }
        )
        for warning in check_affordable(config):
            if warning not in warned:
                warned.add(warning)
                tell(warning)
