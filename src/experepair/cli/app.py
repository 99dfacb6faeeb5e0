"""The `experepair` command. Each subcommand is loaded when it is called, so that `--help` stays quick."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

import experepair
from experepair.cli.bench import bench
from experepair.cli.demo import demo
from experepair.cli.doctor import doctor
from experepair.cli.fix import fix
from experepair.cli.localize import localize
from experepair.cli.memory import memory
from experepair.cli.view import view
from experepair.errors import ExpeRepairError

app = typer.Typer(
    name="experepair",
    help="Repair real issues in real repositories with a language model.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command("fix")(fix)
app.command("localize")(localize)
app.command("doctor")(doctor)
app.command("demo")(demo)
app.command("view")(view)
app.add_typer(memory)
app.add_typer(bench)


def _version(value: bool) -> None:
    if value:
        typer.echo(f"experepair {experepair.__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    del version


def main() -> None:
    """Run the command line; an error that was raised on purpose is one line and its exit status."""
    try:
        app()
    except ExpeRepairError as error:
        sys.stderr.write(f"experepair: {_shown(error)}\n")
        sys.exit(error.exit_status)


def _shown(error: ExpeRepairError) -> str:
    from experepair.domain.text import visible

    return visible(str(error))
