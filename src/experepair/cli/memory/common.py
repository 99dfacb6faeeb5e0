"""What the commands about memory have in common: their options, and how they show things."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from experepair.memory.store import Changed

_WIDE = 240
"""Columns of a table that no terminal limits."""

Repo = Annotated[
    str | None,
    typer.Option(
        "--repo",
        "-r",
        help="Folder of the repository, or its name in memory (default: the working directory's).",
    ),
]
Memory = Annotated[
    str | None, typer.Option(help="Where memory is: a file, sqlite:///PATH or postgresql://…", metavar="URL")
]
All = Annotated[bool, typer.Option("--all", help="All repositories.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Names = Annotated[
    list[str],
    typer.Argument(help="Ids of demonstrations, insights, runs, issues, or keys of lessons.", metavar="ID…"),
]


def say_json(value: object) -> None:
    """Print any value of the store's as JSON."""
    import json

    from pydantic_core import to_jsonable_python

    typer.echo(json.dumps(to_jsonable_python(value, inf_nan_mode="null"), indent=2))


def say_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a table; what came from issues, models and repositories can't act on the terminal.

    The first column is what other commands take as a name, and is never cut.
    """
    from rich.table import Table
    from rich.text import Text

    from experepair.domain.text import visible

    table = Table(box=None, pad_edge=False, header_style="bold")
    for number, column in enumerate(columns):
        table.add_column(column, no_wrap=number == 0, overflow="fold")
    for row in rows:
        table.add_row(*(Text(visible(cell)) for cell in row))
    _console().print(table)


def _console() -> Console:
    from rich.console import Console

    console = Console(soft_wrap=True)
    return console if console.is_terminal else Console(soft_wrap=True, width=_WIDE)


def say(text: str, style: str = "") -> None:
    """Print lines as they are."""
    from rich.text import Text

    from experepair.domain.text import visible

    _console().print(Text(visible(text), style), soft_wrap=True)


def say_changed(changed: Changed, what: str, json: bool) -> None:
    """Tell what a command did."""
    if json:
        say_json(changed)
        return
    parts = [f"{len(changed.lessons)} lessons", f"{len(changed.demonstrations)} demonstrations"]
    say(f"{what}: {', '.join(parts)}")
    for line in changed.insights:
        say(f"  {line}")


def when(at: datetime | None) -> str:
    """A time in short."""
    return at.strftime("%Y-%m-%d %H:%M") if at else ""


def counts(found: Mapping[Any, int]) -> str:
    """Numbers by name, in one cell."""
    return ", ".join(f"{name} {number}" for name, number in sorted(found.items())) or "none"


def title_of(issue_text: str) -> str:
    """An issue's first line."""
    from experepair.domain.issue import Issue

    return Issue("", "", issue_text).title[:80]
