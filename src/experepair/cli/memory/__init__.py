"""`experepair memory`: what is remembered of past repairs. A command is loaded when it is called."""

from __future__ import annotations

import typer

from experepair.cli.memory.change import accept, forget, revert, verdict
from experepair.cli.memory.learn import learn
from experepair.cli.memory.look import list_, log, show, stats
from experepair.cli.memory.search import search
from experepair.cli.memory.transfer import export, import_

memory = typer.Typer(
    name="memory",
    help="Teach, search and manage what is remembered of past repairs.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
memory.command("learn")(learn)
memory.command("search")(search)
memory.command("list")(list_)
memory.command("show")(show)
memory.command("log")(log)
memory.command("revert")(revert)
memory.command("forget")(forget)
memory.command("accept")(accept)
memory.command("verdict")(verdict)
memory.command("export")(export)
memory.command("import")(import_)
memory.command("stats")(stats)
