"""`experepair memory`: what is remembered of past repairs. A command is loaded when it is called."""

from __future__ import annotations

import typer

from experepair.cli.memory.learn import learn

memory = typer.Typer(
    name="memory",
    help="Teach, search and manage what is remembered of past repairs.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
memory.command("learn")(learn)
