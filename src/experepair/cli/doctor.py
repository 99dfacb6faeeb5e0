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
    base_url: Annotated[str | None, typer.Option(help="As for fix.")] = None,
    memory: Annotated[str | None, typer.Option(help="As for fix.")] = None,
    sandbox: Annotated[str | None, typer.Option(help="As for fix.")] = None,
    python: Annotated[str | None, typer.Option(help="As for fix.")] = None,
    image: Annotated[str | None, typer.Option(help="As for fix.")] = None,
    image_workdir: Annotated[str | None, typer.Option(help="As for fix.")] = None,
    rootfs: Annotated[Path | None, typer.Option(help="As for fix.")] = None,
    setup: Annotated[str | None, typer.Option(help="As for fix; the set-up is run.")] = None,
    setup_network: Annotated[bool | None, typer.Option("--setup-network", help="As for fix.")] = None,
    build_products: Annotated[bool | None, typer.Option("--build-products", help="As for fix.")] = None,
    test_command: Annotated[str | None, typer.Option(help="As for fix.")] = None,
    clean: Annotated[
        bool,
        typer.Option("--clean", help="First remove what killed runs left: folders, cgroups, containers."),
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the findings as JSON.")] = False,
) -> None:
    """Check what a repair needs by trying it: git, sandbox, memory, model and, for a repository, environment and tests.

    Exit status: 0 a repair can work; 2 something is missing; 4 no sandbox works.
    """
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from experepair.domain.text import visible
    from experepair.session.doctor import diagnose

    diagnosis = diagnose(
        repo,
        model,
        clean=clean,
        base_url=base_url,
        memory=memory,
        sandbox=sandbox,
        python=python,
        image=image,
        image_workdir=image_workdir,
        rootfs=rootfs,
        setup=setup,
        setup_network=setup_network,
        build_products=build_products,
        test_command=test_command,
    )
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
