"""`experepair doctor`: what is missing, and how to get it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def doctor(
    repo: Annotated[
        Path | None,
        typer.Argument(help="A repository that shall be repaired; checked too when given.", metavar="[REPO]"),
    ] = None,
    model: Annotated[
        str | None, typer.Option("--model", "-m", help="The model that shall be used, as for fix.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the findings as JSON.")] = False,
) -> None:
    """Check what a repair needs by trying it: git, sandbox, model and, for a repository, interpreter and tests.

    Exit status: 0 a repair can work; 2 something is missing; 4 no sandbox works.
    """
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from experepair.domain.text import visible
    from experepair.session.doctor import diagnose

    diagnosis = diagnose(repo, model)
    if json:
        typer.echo(diagnosis.model_dump_json(indent=2))
        raise typer.Exit(diagnosis.exit_status)
    colours = {"good": "green", "note": "yellow", "bad": "red"}
    table = Table("", "", "", box=None, show_header=False, pad_edge=False)
    for finding in diagnosis.findings:
        text = Text(visible(finding.found))
        if finding.remedy:
            text.append(f"\n{visible(finding.remedy)}", "bold")
        table.add_row(Text(finding.state, colours[finding.state]), finding.what, text)
    Console().print(table)
    raise typer.Exit(diagnosis.exit_status)
