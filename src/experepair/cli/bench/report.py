"""`experepair bench report`: the paper's tables and figures from a campaign."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def report(
    campaign: Annotated[Path, typer.Argument(help="Folder of a campaign.", metavar="CAMPAIGN")],
    dataset: Annotated[
        str,
        typer.Option(
            help="Dataset with the maintainers' fixes, for localization (default: the campaign's own)."
        ),
    ] = "",
    baseline: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=FILE",
            help="Per-instance results of another method, in the leaderboard's format; may be given several times.",
        ),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Folder of the report (default: CAMPAIGN/report).")] = None,
    figures: Annotated[
        bool, typer.Option("--figures/--no-figures", help="Draw the figures, which needs matplotlib.")
    ] = True,
    json: Annotated[bool, typer.Option("--json", help="Print the tables as JSON.")] = False,
) -> None:
    """Write Tables 1 and 2, Figures 2 and 3, a learning curve and cost by stage as Markdown, CSV, PNG and SVG."""
    from json import dumps

    from rich.console import Console

    from experepair.bench.campaign.state import Folder
    from experepair.bench.dataset import load
    from experepair.bench.evaluation.report import read_results
    from experepair.bench.report.collect import collect
    from experepair.bench.report.write import write
    from experepair.domain.text import visible
    from experepair.errors import UsageError

    console = Console(stderr=True)
    baselines = {}
    for given in baseline or []:
        name, equals, path = given.partition("=")
        if not equals or not name:
            raise UsageError(f"--baseline {given!r} isn't NAME=FILE")
        baselines[name] = read_results(Path(path))
    spec = dataset or Folder(campaign).campaign().dataset
    try:
        answers = load(spec).answers
    except UsageError as error:
        if dataset:
            raise
        console.print(f"without localization: {visible(str(error))}", markup=False)
        answers = {}
    tables, written = write(
        collect(campaign, answers), out or campaign / "report", baselines, figures=figures
    )
    if json:
        typer.echo(
            dumps({one.name: {"title": one.title, "header": one.header, "rows": one.rows} for one in tables})
        )
    else:
        typer.echo(written.read_text(encoding="utf-8"))
    console.print(f"report: {written}", markup=False, highlight=False, soft_wrap=True)
