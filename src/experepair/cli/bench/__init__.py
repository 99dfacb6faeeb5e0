"""`experepair bench`: many issues, and what the hidden tests say of the patches."""

from __future__ import annotations

import typer

from experepair.cli.bench.eval import evaluate
from experepair.cli.bench.report import report
from experepair.cli.bench.run import run
from experepair.cli.bench.tables import localize, recall

bench = typer.Typer(
    name="bench",
    help="Repair datasets of issues, judge the patches, and print the tables.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
bench.command("run")(run)
bench.command("eval")(evaluate)
bench.command("report")(report)
bench.command("localize")(localize)
bench.command("recall")(recall)
