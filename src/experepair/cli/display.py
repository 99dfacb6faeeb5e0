"""What the user sees while a repair runs: a live panel on a terminal, plain lines elsewhere."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, Self

from experepair.domain.text import visible
from experepair.journal.entries import (
    Attempt,
    CallFailed,
    Decided,
    Entry,
    Executed,
    Intent,
    Learned,
    Recalled,
    Replied,
    RunEnded,
    StageEnded,
    StageStarted,
    Tried,
)

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult


class Display(Protocol):
    """Shows the entries of a journal as they come; used in a `with` block."""

    def __call__(self, entry: Entry) -> None:
        """Show one entry."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *exc_info: object) -> None: ...


@dataclass
class Tally:
    """Counts over the entries so far."""

    calls: int = 0
    in_flight: dict[str, str] = field(default_factory=dict)
    tokens: int = 0
    usd: float | None = 0.0
    executions: int = 0
    stage: str = ""

    def add(self, entry: Entry) -> None:
        """Count one entry."""
        match entry:
            case StageStarted():
                self.stage = entry.stage
            case Intent():
                self.calls += 1
                self.in_flight[entry.call] = entry.role
            case Replied():
                self.in_flight.pop(entry.call, None)
                if entry.usage:
                    self.tokens += entry.usage.input + entry.usage.output
                self.usd = None if self.usd is None or entry.cost_usd is None else self.usd + entry.cost_usd
            case CallFailed():
                self.in_flight.pop(entry.call, None)
            case Executed():
                self.executions += 1

    @property
    def facts(self) -> str:
        """Calls, tokens, cost and executions in one line."""
        cost = "cost unknown" if self.usd is None else f"${self.usd:.4f}"
        return f"{self.calls} calls, {self.tokens} tokens, {cost}, {self.executions} executions"


def line(entry: Entry) -> str | None:
    """What an entry says in one line; None for those that a user needn't see."""
    match entry:
        case StageStarted():
            text = f"{entry.stage} …"
        case StageEnded():
            text = f"{entry.stage}: done"
        case Decided():
            text = f"  {entry.what}"
        case Tried() if not entry.succeeded:
            text = f"  {entry.name} failed: {entry.feedback.strip().splitlines()[0] if entry.feedback.strip() else ''}"
        case Tried():
            text = f"  {entry.name} works"
        case Attempt(error=str()) if entry.wait_s:
            text = f"  the model's provider: {entry.error}; next attempt in {entry.wait_s:.0f} s"
        case CallFailed():
            text = f"  a call failed: {entry.reason}"
        case Recalled() if entry.taken and entry.given is not None:
            text = f"  memory gives the {entry.agent} agent {len(entry.taken)} of its entries"
        case Learned(new=True):
            changed = f", {len(entry.operations)} changes to insights" if entry.operations else ""
            waits = "; they wait to be accepted" if entry.quarantined else ""
            text = f"  learned {len(entry.demonstrations)} demonstrations{changed}{waits}"
        case Learned() if entry.failed:
            text = f"  {entry.failed}"
        case RunEnded():
            text = f"ended: {entry.status}"
        case _:
            return None
    return visible(text)[:300]


class PlainDisplay:
    """One line an event, with the seconds since the start, on standard error."""

    def __init__(self, console: Console) -> None:
        self._console, self._started, self.tally = console, time.monotonic(), Tally()
        self._lock = threading.Lock()

    def __call__(self, entry: Entry) -> None:
        """Show one entry."""
        with self._lock:
            self.tally.add(entry)
            if text := line(entry):
                seconds = time.monotonic() - self._started
                self._console.print(f"{seconds:7.1f}s {text}", markup=False, highlight=False, soft_wrap=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        pass


class LiveDisplay:
    """Finished events scroll by; a panel below shows the stage, calls under way, cost and elapsed time."""

    def __init__(self, console: Console) -> None:
        from rich.live import Live

        self._console, self._started, self.tally = console, time.monotonic(), Tally()
        self._live = Live(self, console=console, refresh_per_second=8, transient=True)
        self._lock = threading.Lock()

    def __call__(self, entry: Entry) -> None:
        """Show one entry."""
        from rich.text import Text

        with self._lock:
            self.tally.add(entry)
        # not under the lock: the console has one of its own, and draws the panel while it holds that
        if text := line(entry):
            seconds = time.monotonic() - self._started
            self._live.console.print(Text.assemble((f"{seconds:7.1f}s ", "dim"), (text, _style(entry))))

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        from rich.spinner import Spinner
        from rich.text import Text

        with self._lock:
            roles = ", ".join(sorted(self.tally.in_flight.values())) or "executing"
            seconds = time.monotonic() - self._started
            text = f" {self.tally.stage}  {roles}  {seconds:.0f} s  {self.tally.facts}"
        yield Spinner("dots", Text(text, style="bold", no_wrap=True, overflow="ellipsis"))

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._live.stop()


def display(console: Console) -> Display:
    """The display that fits where the console writes to."""
    return LiveDisplay(console) if console.is_terminal else PlainDisplay(console)


def _style(entry: Entry) -> str:
    match entry:
        case StageStarted() | StageEnded():
            return "bold"
        case Tried():
            return "green" if entry.succeeded else "yellow"
        case CallFailed():
            return "red"
        case _:
            return ""
