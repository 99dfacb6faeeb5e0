"""How far a campaign is: counted from the entries of its journals as they come."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from experepair.bench.campaign.state import Outcome, State
from experepair.bench.campaign.work import Work
from experepair.journal.entries import Entry, RunStarted, StageStarted
from experepair.llm.ledger import Ledger
from experepair.steps.result import Status


@dataclass
class Line:
    """One variant (or, in the initial phase, model) of a campaign."""

    name: str
    total: int = 0
    running: dict[str, str] = field(default_factory=dict)
    """Stage by instance."""
    ended: Counter[State] = field(default_factory=Counter)
    repaired: int = 0


class Progress:
    """Follows a campaign; threads may share it."""

    def __init__(self) -> None:
        self.lines: dict[tuple[str, str], Line] = {}
        self.failed: list[tuple[Work, Outcome]] = []
        self.refused: list[tuple[Work, Outcome]] = []
        self.stopped = ""
        """Why no further repair is begun; "" while there is no reason."""
        self.ledger = Ledger()
        self.before = 0
        """Repairs that were done before this process began."""
        self._began: set[str] = set()
        self._ended = 0
        self._started = time.monotonic()
        self._lock = threading.Lock()

    def begin(self, works: Sequence[Work], ledger: Ledger) -> None:
        """Take up what is to be done."""
        self.ledger = ledger
        for work in works:
            self._line(work).total += 1

    def entry(self, work: Work, entry: Entry) -> None:
        """Follow one repair."""
        with self._lock:
            if isinstance(entry, RunStarted):
                self._began.add(str(work.out))
            if isinstance(entry, StageStarted):
                self._line(work).running[work.instance.id] = entry.stage

    def ended(self, work: Work, outcome: Outcome | None) -> None:
        """A repair is over; None when a cap stopped it."""
        with self._lock:
            line = self._line(work)
            line.running.pop(work.instance.id, None)
            if outcome is None:
                self.stopped = "the cap on the whole campaign is reached; --resume with a higher one goes on"
                return
            if str(work.out) in self._began:
                self._ended += 1
            else:
                self.before += 1
            line.ended[outcome.state] += 1
            line.repaired += outcome.status == Status.REPAIRED
            if outcome.state is State.FAILED:
                self.failed.append((work, outcome))
            if outcome.state is State.REFUSED:
                self.refused.append((work, outcome))

    @property
    def elapsed_s(self) -> float:
        """Wall time since the start, in seconds."""
        return time.monotonic() - self._started

    @property
    def left(self) -> int:
        """Repairs that are not over."""
        return sum(line.total - line.ended.total() for line in self.lines.values())

    @property
    def left_s(self) -> float | None:
        """Guess of the time that is left, from the repairs that ended in this process; None before the first."""
        return self.elapsed_s / self._ended * self.left if self._ended else None

    def _line(self, work: Work) -> Line:
        return self.lines.setdefault((work.phase, work.line), Line(work.line))
