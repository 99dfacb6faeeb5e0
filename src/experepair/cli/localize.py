"""`experepair localize`: suspicious files and functions, without a model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from experepair.domain.place import Evidence, Ranking


def localize(
    repo: Annotated[Path, typer.Argument(help="Folder of a git repository.", metavar="REPO")],
    issue: Annotated[
        str,
        typer.Option("--issue", "-i", help="The issue: a file, - for standard input, or the text itself."),
    ],
    commit: Annotated[str, typer.Option(help="Commit to search.")] = "HEAD",
    top: Annotated[int, typer.Option(min=1, help="How many files to show.")] = 20,
    json: Annotated[bool, typer.Option("--json", help="Print the ranking as JSON.")] = False,
) -> None:
    """Rank the files and functions that an issue may be about, with the evidence for each. Needs no model."""
    from experepair.session.localize import localize as ranked

    ranking = ranked(repo, issue, commit=commit)
    if json:
        typer.echo(_as_json(ranking, top))
    else:
        _show(ranking, top)


def _as_json(ranking: Ranking, top: int) -> str:
    from pydantic import TypeAdapter

    from experepair.domain.place import Ranking as Ranked

    shown = Ranked(ranking.files[:top], ranking.confidence, ranking.notes)
    return TypeAdapter(Ranked).dump_json(shown, indent=2).decode()


def _show(ranking: Ranking, top: int) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from experepair.domain.text import visible

    console = Console()
    table = Table(
        "", "file and best functions", "score", "evidence", box=None, pad_edge=False, header_style="bold"
    )
    for number, file in enumerate(ranking.files[:top], 1):
        table.add_row(
            str(number), Text(visible(file.path), "bold"), f"{file.score:.2f}", _evidence(file.evidence)
        )
        for function in file.functions[:3]:
            name = f"  {function.span.name} ({function.span.start}-{function.span.end})"
            table.add_row(
                "", visible(name), f"{function.score:.2f}", _evidence(function.evidence), style="dim"
            )
    console.print(table)
    console.print(f"confidence (first minus second): {ranking.confidence:.2f}")
    for note in ranking.notes:
        console.print(Text(visible(note), "yellow"))


def _evidence(evidence: tuple[Evidence, ...]) -> str:
    from experepair.domain.text import visible

    return visible("; ".join(f"{one.kind}: {one.detail} ({one.weight:.2f})" for one in evidence[:4]))
