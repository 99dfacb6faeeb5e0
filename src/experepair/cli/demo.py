"""`experepair demo`: two real repairs, offline; the second remembers the first."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from experepair.demo.bugs import Bug
    from experepair.demo.package import Package
    from experepair.steps.result import Result


_SHOWN = 120
"""Characters of what was remembered."""


def demo(
    out: Annotated[
        Path | None, typer.Option(help="Folder for the results (default: experepair-out/demo, numbered).")
    ] = None,
    prepare: Annotated[
        bool, typer.Option("--prepare", help="Only fetch the package; the demo then needs no network.")
    ] = False,
) -> None:
    """Repair two real bugs of a real package, with a model replayed from journals; everything else is live.

    The package is boltons 26.1.0. Its maintainers fixed both bugs in 26.2.0, and their own tests of these fixes
    judge the patches. The second repair recalls what the first one taught, from a memory of the demo's own.
    """
    from rich.console import Console

    from experepair.demo.bugs import DATES, PLACEHOLDERS
    from experepair.demo.package import prepare as fetch
    from experepair.session.out import choose_out

    console = Console()
    package = fetch()
    if prepare:
        return
    folder = choose_out(out, "demo", resume=False)
    results = [_repair(bug, package, folder, console) for bug in (DATES, PLACEHOLDERS)]
    _show_memory(results[-1], PLACEHOLDERS, console)
    raise typer.Exit(max(result.exit_status for result in results))


def _repair(bug: Bug, package: Package, folder: Path, console: Console) -> Result:
    from rich.console import Console
    from rich.rule import Rule

    from experepair.cli.display import display
    from experepair.cli.fix import conclude
    from experepair.cli.interruption import interruptible
    from experepair.demo.bugs import judge
    from experepair.llm.replay import ReplayModel
    from experepair.session.repair import repair

    console.print(Rule(bug.name))
    console.print(bug.issue.read_text("utf-8"), markup=False, highlight=False)
    console.print(f"The repository: {package.repository}\n", markup=False, highlight=False, soft_wrap=True)
    with interruptible(), display(Console(stderr=True)) as shown:
        result = repair(
            package.repository,
            str(bug.issue),
            out=folder / bug.name,
            replay=ReplayModel(bug.journal),
            memory=str(folder / "memory.db"),
            observer=shown,
            tell=lambda note: console.print(note, markup=False, highlight=False, soft_wrap=True),
            python=sys.executable,
        )
    conclude(result, console)
    if result.patch is not None:
        before, after = judge(package, bug, result.patch.diff)
        console.print("\nThe maintainers' own tests of their fix (boltons 26.2.0):")
        console.print(f"  without the patch: {before}", markup=False)
        console.print(f"  with the patch:    {after}\n", markup=False)
    return result


def _show_memory(result: Result, bug: Bug, console: Console) -> None:
    """What the repair recalled, from where, and what the recorded runs with and without memory took."""
    from textwrap import shorten

    from rich.table import Table

    from experepair.demo.effort import Effort
    from experepair.domain.text import visible
    from experepair.journal.reading import read_journal

    recalled = Table(title="What it remembered", title_justify="left")
    for heading in ("what", "agent", "in the prompts of", "said to be applied in"):
        recalled.add_column(heading)
    for one in result.memory.remembered if result.memory else ():
        origin = f", from the repair of {one.issue}" if one.issue else ""
        what = f"{one.kind}{origin}: {shorten(one.text, _SHOWN, placeholder='…')}"
        recalled.add_row(visible(what), one.agent, ", ".join(one.prompts), ", ".join(one.applied) or "-")
    console.print(recalled)
    efforts = [Effort.of(read_journal(path)) for path in (bug.journal_without_memory, bug.journal)]
    taken = Table(title="What it took, as recorded once each", title_justify="left")
    for heading in ("memory", "model calls", "scripts tried", "rounds of patches", "tokens"):
        taken.add_column(heading, justify="left" if heading == "memory" else "right")
    for name, effort in zip(("without", "with"), efforts, strict=True):
        figures = (effort.calls, effort.scripts, effort.rounds, effort.tokens)
        taken.add_row(name, *(f"{figure:,}" for figure in figures))
    console.print(taken)
