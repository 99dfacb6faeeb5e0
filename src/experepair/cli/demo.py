"""`experepair demo`: a real repair, offline."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer


def demo(
    out: Annotated[
        Path | None, typer.Option(help="Folder for the results (default: experepair-out/issue, numbered).")
    ] = None,
    prepare: Annotated[
        bool, typer.Option("--prepare", help="Only fetch the package; the demo then needs no network.")
    ] = False,
) -> None:
    """Repair a real bug of a real package, with a model replayed from a journal; everything else is live.

    The package is boltons 26.1.0. Its maintainers fixed the bug in 26.2.0, and their own tests of that fix judge
    the patch at the end.
    """
    from rich.console import Console

    from experepair.cli.display import display
    from experepair.cli.fix import conclude
    from experepair.cli.interruption import interruptible
    from experepair.demo import bug as data
    from experepair.llm.replay import ReplayModel
    from experepair.session.repair import repair

    console = Console()
    fetched = data.prepare()
    if prepare:
        return
    issue = data.resource(data.ISSUE)
    console.print(issue.read_text("utf-8"), markup=False, highlight=False)
    console.print(f"The repository: {fetched.repository}\n", markup=False, highlight=False, soft_wrap=True)
    with interruptible(), display(Console(stderr=True)) as shown:
        result = repair(
            fetched.repository,
            str(issue),
            out=out,
            replay=ReplayModel(data.resource(data.JOURNAL)),
            memory="none",  # the journal was recorded without
            observer=shown,
            tell=lambda note: console.print(note, markup=False, highlight=False, soft_wrap=True),
            python=sys.executable,
        )
    conclude(result, console)
    if result.patch is None:
        raise typer.Exit(result.exit_status)
    before, after = data.judge(fetched, result.patch.diff)
    console.print("\nThe maintainers' own tests of their fix (boltons 26.2.0):")
    console.print(f"  without the patch: {before}", markup=False)
    console.print(f"  with the patch:    {after}", markup=False)
    raise typer.Exit(result.exit_status)
