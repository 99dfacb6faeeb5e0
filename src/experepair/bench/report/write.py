"""A report on disk: Markdown to read, CSV to compute with, figures to show."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path

from experepair.bench.report.collect import Collected
from experepair.bench.report.figures import curves, draw, models, overlap
from experepair.bench.report.tables import Table, tables
from experepair.domain.text import visible
from experepair.steps.report import write_all

REPORT = "report.md"


def write(
    found: Collected, out: Path, baselines: Mapping[str, frozenset[str]], *, figures: bool = True
) -> tuple[list[Table], Path]:
    """Write report.md, a CSV file for each table and figure, and the figures as PNG and SVG.

    Args:
        found: the campaign.
        out: folder of the report.
        baselines: resolved instances of other methods, by name.
        figures: whether they are drawn.

    Returns:
        The tables, and the path of the report.

    Raises:
        UsageError: figures are wanted, and matplotlib isn't installed.
        OutputError: a file can't be written.
    """
    shown = [*tables(found), overlap(found, baselines), models(found), curves(found)]
    write_all(out, {f"{table.name}.csv": as_csv(table) for table in shown})
    drawn = draw(found, baselines, out) if figures else []
    campaign = found.campaign
    head = [
        f"# Campaign on {visible(campaign.dataset)}",
        "",
        f"{len(campaign.instances)} issues, {len(campaign.seeds)} seeds, order {campaign.order}, profile {campaign.profile}, "
        f"begun {campaign.created}; start state {campaign.start[:12] or 'empty'}. Every number is computed from the journals and "
        "results in the campaign's folder, and from evaluations in it.",
        "",
    ]
    parts = [_section(table, table.name in drawn) for table in shown]
    write_all(out, {REPORT: visible("\n".join([*head, *parts]))})
    return shown, out / REPORT


def as_markdown(table: Table) -> str:
    """A table with its notes."""
    return "\n".join(
        [_row(table.header), _row(["---"] * len(table.header)), *map(_row, table.rows), "", *table.notes, ""]
    )


def as_csv(table: Table) -> str:
    """A table alone."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table.header)
    writer.writerows(table.rows)
    return text.getvalue()


def _section(table: Table, drawn: bool) -> str:
    image = [f"![{table.title}]({table.name}.png)", ""] if drawn else []
    return "\n".join([f"## {table.title}", "", *image, as_markdown(table)])


def _row(cells: Sequence[str]) -> str:
    plain = (" ".join(visible(cell).split()).replace("|", "\\|") for cell in cells)
    return f"| {' | '.join(plain)} |"
