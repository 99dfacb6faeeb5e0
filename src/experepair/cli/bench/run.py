"""`experepair bench run`: repair a dataset."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from experepair.cli.bench.choice import ids
from experepair.cli.options import repair_settings, takes

if TYPE_CHECKING:
    from rich.console import Console

    from experepair.bench.campaign.progress import Progress
    from experepair.bench.campaign.work import Bench
    from experepair.bench.engine import Engine


@takes(repair_settings, "settings")
def run(
    dataset: Annotated[
        str,
        typer.Argument(
            help="lite, verified, full, OWNER/NAME on the hub, or a .jsonl, .json or .parquet file.",
            metavar="DATASET",
        ),
    ],
    out: Annotated[Path, typer.Option(help="Folder of the campaign.")] = Path("experepair-bench"),
    arm: Annotated[
        list[str] | None,
        typer.Option(
            help="full (default), no-memory, no-demonstrations or no-insights; may be given several times."
        ),
    ] = None,
    model: Annotated[
        list[str] | None,
        typer.Option(
            "--model",
            "-m",
            help="PROVIDER:NAME for all roles; given several times, the models are compared.",
        ),
    ] = None,
    repeats: Annotated[int, typer.Option(min=1, help="Times that everything is done.")] = 1,
    seeds: Annotated[
        str,
        typer.Option(
            help="Seed issues of the initial phase: the first N of each repository in time, a file of ids, or ids."
        ),
    ] = "",
    phase: Annotated[str, typer.Option(help="initial, inference, or all (one after the other).")] = "all",
    order: Annotated[
        str,
        typer.Option(
            help="online (a repository's issues in time order, memory growing) or frozen (all against the start state)."
        ),
    ] = "online",
    start: Annotated[
        str,
        typer.Option(metavar="URL", help="Memory that every variant begins with (default: an empty one)."),
    ] = "",
    environments: Annotated[
        Path | None,
        typer.Option(help="Environments file. Without it the code runs in SWE-bench's images."),
    ] = None,
    mirrors: Annotated[
        Path | None, typer.Option(help="Folder of repositories; without it they are cloned once.")
    ] = None,
    split: Annotated[str | None, typer.Option(help="Split of the dataset (on the hub: test).")] = None,
    instances: Annotated[
        list[str] | None, typer.Option(help="Ids, separated by commas; may be given several times.")
    ] = None,
    matching: Annotated[
        str, typer.Option("--filter", help="Regular expression that ids must match somewhere.")
    ] = "",
    limit: Annotated[int, typer.Option(min=0, help="At most so many instances; 0 means all.")] = 0,
    jobs: Annotated[int, typer.Option("--jobs", "-j", min=1, help="Repairs at once.")] = 1,
    total_cost: Annotated[
        float | None,
        typer.Option(min=0, help="Stop before all repairs together cost more than this many US dollars."),
    ] = None,
    total_tokens: Annotated[
        int | None,
        typer.Option(min=1, help="Stop before all repairs together use more than this many tokens."),
    ] = None,
    engine: Annotated[
        str, typer.Option(help="pool (this machine) or ray (the cluster that this machine belongs to).")
    ] = "pool",
    store: Annotated[
        str,
        typer.Option(
            metavar="URL",
            help="PostgreSQL database for all memories of the campaign, each in a schema of its own (default: files in --out).",
        ),
    ] = "",
    lease: Annotated[
        float, typer.Option(min=1, help="Seconds of silence after which a repair's worker is replaced.")
    ] = 30.0,
    scripts: Annotated[
        bool,
        typer.Option(
            "--scripts/--no-scripts",
            help="At the end, run each repair's last script with and without the maintainers' fix (ESR, RSR).",
        ),
    ] = True,
    resume: Annotated[
        bool,
        typer.Option(
            "--resume", help="Go on with the campaign in --out: nothing that is done or paid is done again."
        ),
    ] = False,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="With --resume: try again what failed.")
    ] = False,
    *,
    settings: dict[str, Any],
) -> None:
    """Repair every issue of a dataset, as often as arms, models and repeats say.

    Exit status: 0 every repair came to its end; 1 some failed; 2 usage or configuration; 5 the cap on the whole campaign
    is reached; 130 interrupted (--resume goes on).
    """
    from rich.console import Console

    from experepair.bench.campaign.run import Asked
    from experepair.bench.campaign.run import run as campaign
    from experepair.bench.campaign.state import Order, Phase
    from experepair.bench.dataset import Selection
    from experepair.cli.bench.live import following
    from experepair.cli.interruption import interruptible
    from experepair.domain.text import visible
    from experepair.errors import UsageError
    from experepair.journal.lease import LeaseConfig

    if phase != "all" and phase not in list(Phase):
        raise UsageError(f"--phase {phase!r} is none of {', '.join(Phase)}, all")
    if order not in list(Order):
        raise UsageError(f"--order {order!r} is none of {', '.join(Order)}")
    models = tuple(model or ())
    if len(models) == 1:
        settings["model"], models = models[0], ()
    asked = Asked(
        dataset,
        out,
        selection=Selection(instances=ids(instances or []), matching=matching, limit=limit, split=split),
        seeds=seeds,
        arms=_arms(arm or ["full"]),
        models=models,
        repeats=repeats,
        order=Order(order),
        phases=tuple(Phase) if phase == "all" else (Phase(phase),),
        profile=settings.pop("profile"),
        settings=settings,
        start=start,
        mirrors=mirrors,
        environments=environments,
        at_once=jobs,
        total_cost=total_cost,
        total_tokens=total_tokens,
        store=store,
        lease=LeaseConfig(length_s=lease),
        scripts=scripts,
        resume=resume,
        retry_failed=retry_failed,
    )
    console = Console(stderr=True)

    def say(note: str) -> None:
        console.print(visible(note), markup=False, highlight=False, soft_wrap=True)

    with interruptible(), following(console) as progress:
        campaign(asked, progress=progress, tell=say, engine=_engine(engine, jobs))
    _conclude(progress, console, out)


def _engine(name: str, jobs: int) -> Callable[[Bench], Engine] | None:
    """Makes the engine of that name; None stands for the pool."""
    from experepair.errors import UsageError

    if name == "pool":
        return None
    if name != "ray":
        raise UsageError(f"--engine {name!r} is none of pool, ray")
    from experepair.bench.cluster.config import ClusterConfig
    from experepair.bench.cluster.engine import RayEngine

    return lambda bench: RayEngine(bench, jobs, ClusterConfig())


def _arms(given: list[str]) -> tuple[Any, ...]:
    from experepair.bench.campaign.arms import Arm
    from experepair.errors import UsageError

    names = list(dict.fromkeys(name for text in given for name in ids([text])))
    if wrong := [name for name in names if name not in list(Arm)]:
        raise UsageError(f"--arm {wrong[0]!r} is none of {', '.join(Arm)}")
    return tuple(Arm(name) for name in names)


def _conclude(progress: Progress, console: Console, out: Path) -> None:
    """Say how it ended; nothing that failed is passed over."""
    from experepair.cli.bench.live import table
    from experepair.domain.text import visible

    console.print(table(progress))
    for work, outcome in progress.refused:
        console.print(f"refused: {work.line} {work.instance.id}: {visible(outcome.why)}", markup=False)
    for work, outcome in progress.failed:
        console.print(
            f"failed: {work.line} {work.instance.id}: {visible(outcome.why)}", markup=False, style="red"
        )
    if progress.failed:
        console.print("--resume --retry-failed tries again what failed", markup=False)
    console.print(f"campaign: {out}", markup=False, highlight=False, soft_wrap=True)
    if progress.stopped:
        console.print(progress.stopped, markup=False, style="red")
        raise typer.Exit(5)
    if progress.failed:
        raise typer.Exit(1)
