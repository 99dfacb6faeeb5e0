"""`experepair bench localize` and `experepair bench recall`: the tables that need no model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from experepair.cli.bench.choice import ids

if TYPE_CHECKING:
    from experepair.bench.dataset import Dataset
    from experepair.bench.mirrors import Mirrors
    from experepair.bench.report.tables import Table

_Dataset = Annotated[
    str,
    typer.Argument(
        help="lite, verified, full, OWNER/NAME on the hub, or a .jsonl, .json or .parquet file.",
        metavar="DATASET",
    ),
]
_Mirrors = Annotated[
    Path | None,
    typer.Option("--mirrors", help="Folder of repositories; without it they are cloned once."),
]
_Split = Annotated[str | None, typer.Option("--split", help="Split of the dataset (on the hub: test).")]
_Instances = Annotated[
    list[str] | None,
    typer.Option("--instances", help="Ids, separated by commas; may be given several times."),
]
_Filter = Annotated[str, typer.Option("--filter", help="Regular expression that ids must match somewhere.")]
_Limit = Annotated[int, typer.Option("--limit", min=0, help="At most so many instances; 0 means all.")]
_Out = Annotated[Path | None, typer.Option("--out", help="Folder for the tables as CSV.")]
_Json = Annotated[bool, typer.Option("--json", help="Print the tables as JSON.")]


def localize(
    dataset: _Dataset,
    mirrors: _Mirrors = None,
    split: _Split = None,
    instances: _Instances = None,
    matching: _Filter = "",
    limit: _Limit = 0,
    jobs: Annotated[int, typer.Option("--jobs", "-j", min=1, help="Instances at once.")] = 1,
    out: _Out = None,
    json: _Json = False,
) -> None:
    """How well the ranking without a model finds what the maintainers' fixes change; no model is asked."""
    from experepair.bench.metrics.localizing import evaluate_all, tables
    from experepair.cli.interruption import interruptible

    rows, places = _loaded(dataset, mirrors, split, instances, matching, limit)
    with interruptible():
        held = places.held(rows.instances, _tell)
        outcomes = evaluate_all(held, dict(rows.answers), places, jobs)
    _show(tables(outcomes), out, json)


def recall(
    dataset: _Dataset,
    mirrors: _Mirrors = None,
    split: _Split = None,
    instances: _Instances = None,
    matching: _Filter = "",
    limit: _Limit = 0,
    foreign: Annotated[
        int, typer.Option(min=0, help="Issues of other repositories that should recall nothing; 0 asks none.")
    ] = 100,
    work: Annotated[
        Path | None,
        typer.Option(help="Folder that keeps what was learned of the histories for the next time."),
    ] = None,
    out: _Out = None,
    json: _Json = False,
) -> None:
    """How often recalled fixes touch what the maintainers' fixes change, beside the paper's retriever; no model is asked."""
    from tempfile import TemporaryDirectory

    from experepair.bench.metrics.recalling import Recalling, evaluate
    from experepair.cli.interruption import interruptible

    rows, places = _loaded(dataset, mirrors, split, instances, matching, limit)
    with interruptible(), TemporaryDirectory(prefix="experepair-") as temporary:
        asked = Recalling(
            places,
            work or Path(temporary),
            foreign=foreign,
            tell=_tell,
        )
        results = evaluate(places.held(rows.instances, _tell), rows.answers, asked)
    _show([results.table()], out, json)


def _tell(note: str) -> None:
    from experepair.domain.text import visible

    typer.echo(visible(note), err=True)


def _loaded(
    dataset: str,
    mirrors: Path | None,
    split: str | None,
    instances: Sequence[str] | None,
    matching: str,
    limit: int,
) -> tuple[Dataset, Mirrors]:
    from dataclasses import replace

    from experepair.bench.dataset import Selection, load
    from experepair.bench.mirrors import Mirrors
    from experepair.errors import UsageError
    from experepair.folders import cache_folder

    selection = Selection(instances=ids(instances or []), matching=matching, limit=limit, split=split)
    rows = load(dataset, selection)
    known = tuple(one for one in rows.instances if rows.answers[one.id].patch)
    if not known:
        raise UsageError(f"the dataset {dataset!r} has no column 'patch' to measure by")
    if lacking := len(rows.instances) - len(known):
        typer.echo(f"{lacking} instances have no patch to measure by; they are left out", err=True)
    return replace(rows, instances=known), Mirrors(cache_folder() / "clones", mirrors)


def _show(tables: Sequence[Table], out: Path | None, json: bool) -> None:
    from json import dumps

    from experepair.bench.report.write import as_csv, as_markdown
    from experepair.steps.report import write_all

    if out is not None:
        write_all(out, {f"{one.name}.csv": as_csv(one) for one in tables})
    if json:
        typer.echo(
            dumps({one.name: {"header": one.header, "rows": one.rows, "notes": one.notes} for one in tables})
        )
        return
    for one in tables:
        typer.echo(f"{one.title}\n\n{as_markdown(one)}")
