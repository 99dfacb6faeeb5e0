"""`experepair localize`: suspicious files and functions, without a model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.text import Text

    from experepair.domain.place import Evidence, RankedFunction, Ranking
    from experepair.session.localize import Located

_OF_ALL = frozenset({"file", "length"})
"""What every function has some of; it tells a reader nothing."""
_WITH_CODE, _FUNCTIONS = 5, 3
"""So many of the first files are shown with code, and so many functions of each of these; of others the best one's name."""


def localize(
    repo: Annotated[Path, typer.Argument(help="Folder of a git repository.", metavar="REPO")],
    issue: Annotated[
        str,
        typer.Option("--issue", "-i", help="The issue: a file, - for standard input, or the text itself."),
    ],
    commit: Annotated[str, typer.Option(help="Commit to search.")] = "HEAD",
    top: Annotated[int, typer.Option(min=1, help="How many files to show.")] = 20,
    memory: Annotated[
        str | None,
        typer.Option(metavar="URL|none", help="Whose past repairs count as evidence, as for fix."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the ranking as JSON.")] = False,
) -> None:
    """Rank the files and functions that an issue may be about, with the evidence for each. Needs no model."""
    from experepair.session.localize import localize as located

    found = located(repo, issue, commit=commit, memory=memory)
    if json:
        typer.echo(_as_json(found.ranking, top))
    else:
        _show(found, top)


def _as_json(ranking: Ranking, top: int) -> str:
    from pydantic import TypeAdapter

    from experepair.domain.place import Ranking as Ranked

    shown = Ranked(ranking.files[:top], ranking.confidence, ranking.notes)
    return TypeAdapter(Ranked).dump_json(shown, indent=2).decode()


def _show(found: Located, top: int) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from experepair.domain.text import visible
    from experepair.localize.explain import confidence

    console = Console()
    table = Table("", "file, functions, code", "score", "why", box=None, pad_edge=False, header_style="bold")
    table.columns[1].ratio, table.columns[3].ratio = 3, 2
    for number, file in enumerate(found.ranking.files[:top], 1):
        with_code = number <= _WITH_CODE
        table.add_row(
            str(number), Text(visible(file.path), "bold"), f"{file.score:.2f}", _why(file.evidence, 4)
        )
        for function in file.functions[: _FUNCTIONS if with_code else 1]:
            code = found.snippet(function.span) if with_code else ()
            table.add_row("", _function(function, code), f"{function.score:.2f}", _why(function.evidence, 2))
    table.expand = True
    console.print(table)
    console.print(f"Confidence: {confidence(found.ranking.confidence)}.", highlight=False)
    for note in found.ranking.notes:
        console.print(Text(visible(note), "yellow"))


def _function(function: RankedFunction, code: Iterable[tuple[int, str]]) -> Text:
    """Name and lines of a function, and below them the code that speaks for it."""
    from rich.text import Text

    from experepair.domain.text import visible

    span = function.span
    shown = Text(f"  {visible(span.name)} ({span.start}-{span.end})", overflow="ellipsis", no_wrap=True)
    for number, line in code:
        shown.append(f"\n{number:>8} {visible(line.strip())[:200]}", "dim")
    return shown


def _why(evidence: Iterable[Evidence], most: int) -> Text:
    """The weightiest evidence, one a line, in words."""
    from itertools import islice

    from rich.text import Text

    from experepair.domain.text import visible
    from experepair.localize.explain import explain

    said = dict.fromkeys(
        visible(explain(one.kind, one.detail)) for one in evidence if one.kind not in _OF_ALL
    )
    return Text("\n".join(islice(said, most)), overflow="fold")
