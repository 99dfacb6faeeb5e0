"""What the user sees of a campaign: a live table on a terminal, a line for each repair elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from experepair.bench.campaign.progress import Progress
from experepair.bench.campaign.state import Outcome, State
from experepair.bench.campaign.work import Work
from experepair.domain.text import visible

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult
    from rich.table import Table

_SHOWN = 4
"""Repairs under way that are named."""


class Told(Progress):
    """Tells of each repair as it ends.

    Args:
        console: where to.
    """

    def __init__(self, console: Console) -> None:
        super().__init__()
        self._console = console

    def ended(self, work: Work, outcome: Outcome | None) -> None:
        """Tell of it, unless it was done before."""
        before = self.before
        super().ended(work, outcome)
        if outcome is None or self.before > before:
            return
        told = outcome.status or outcome.state
        why = f": {visible(outcome.why)}" if outcome.why else ""
        text = f"{clock(self.elapsed_s)}  {work.line}  {work.instance.id}  {told}{why}"
        self._console.print(text, markup=False, highlight=False, soft_wrap=True)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield table(self)


@contextmanager
def following(console: Console) -> Iterator[Progress]:
    """Show a campaign while it runs."""
    progress = Told(console)
    if not console.is_terminal:
        yield progress
        return
    from rich.live import Live

    with Live(progress, console=console, refresh_per_second=2, transient=True):
        yield progress


def table(progress: Progress) -> Table:
    """Where each variant stands."""
    from rich.table import Table

    shown = Table("variant", "done", "failed", "running", "repaired", "under way", box=None, pad_edge=False)
    for (phase, _), line in progress.lines.items():
        under_way = [f"{name}: {stage}" for name, stage in list(line.running.items())[:_SHOWN]]
        more = len(line.running) - len(under_way)
        done = line.ended[State.DONE]
        shown.add_row(
            visible(line.name) if phase == "inference" else f"{visible(line.name)} (initial)",
            f"{done}/{line.total}",
            str(line.ended[State.FAILED] + line.ended[State.REFUSED]),
            str(len(line.running)),
            f"{line.repaired} ({100 * line.repaired / done:.0f} %)" if done else "0",
            visible(", ".join(under_way)) + (f" and {more} more" if more > 0 else ""),
        )
    shown.caption_justify = "left"
    shown.caption = facts(progress)
    return shown


def facts(progress: Progress) -> str:
    """Cost and time in one line."""
    ledger = progress.ledger
    cost = f"${ledger.spent_usd:.4f}" + (f" of ${ledger.max_cost_usd:g}" if ledger.max_cost_usd else "")
    if ledger.unpriced_calls:
        cost += f" and {ledger.unpriced_calls} calls of unknown cost"
    tokens = f"{ledger.spent_tokens:,} tokens" + (f" of {ledger.max_tokens:,}" if ledger.max_tokens else "")
    left = f", about {clock(progress.left_s)} left" if progress.left and progress.left_s is not None else ""
    return f"{cost}, {tokens}, {clock(progress.elapsed_s)}{left}"


def clock(seconds: float | None) -> str:
    """Seconds as hours, minutes and seconds."""
    whole = int(seconds or 0)
    return f"{whole // 3600}:{whole // 60 % 60:02}:{whole % 60:02}"
