"""When what happened in a repair: bars on lanes, for one drawing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise

from experepair.journal import entries
from experepair.web.run.assembling import at
from experepair.web.run.model import Call, Execution, Repair

_STEPS = (0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14400, 43200)
_TICKS = 6
_THIN = 0.35
"""Percent of the width that a bar has at least, so that it can be seen and clicked."""


@dataclass(frozen=True, slots=True)
class Bar:
    """One call or execution; `x` and `width` are percent of the drawing."""

    x: float
    width: float
    lane: int
    kind: str
    label: str
    path: str


@dataclass(frozen=True, slots=True)
class Band:
    """A stage behind the bars."""

    x: float
    width: float
    name: str


@dataclass(frozen=True, slots=True)
class Chart:
    """The drawing: calls above, executions below."""

    bars: tuple[Bar, ...]
    bands: tuple[Band, ...]
    ticks: tuple[tuple[float, float], ...]
    """Position in percent, and seconds."""
    call_lanes: int
    lanes: int


def chart(repair: Repair, base: str) -> Chart:
    """The drawing of a repair whose pages stand below `base`."""
    clock = _Clock(repair)
    calls = [(call.began, call.ended or clock.end, call) for call in repair.calls.values()]
    ran = [(one.began, one.ended, one) for one in repair.executions.values()]
    bars, above = _lanes([(a, b, *_call(call, base)) for a, b, call in calls], clock, 0)
    more, lanes = _lanes([(a, b, *_execution(one, base)) for a, b, one in ran], clock, above)
    bands = tuple(
        Band(
            clock.x(stage.began),
            max(0.0, clock.x(stage.ended or stage.last) - clock.x(stage.began)),
            stage.name,
        )
        for stage in repair.stages
    )
    return Chart((*bars, *more), bands, tuple(clock.ticks()), above, lanes)


class _Clock:
    """Time of a repair to percent; what lies between a stop and a resume is cut out."""

    def __init__(self, repair: Repair) -> None:
        self._gaps: list[tuple[datetime, datetime]] = []
        journal = repair.journal
        for before, entry in pairwise(journal):
            if isinstance(entry, entries.RunStarted):
                self._gaps.append((at(before), at(entry)))
        self.start, self.end = at(journal[0]), at(journal[-1])
        self._whole = max(self._elapsed(self.end), 1e-3)

    def x(self, moment: datetime) -> float:
        return round(min(100.0, max(0.0, 100 * self._elapsed(moment) / self._whole)), 3)

    def ticks(self) -> Iterator[tuple[float, float]]:
        step = next((step for step in _STEPS if self._whole / step <= _TICKS), _STEPS[-1])
        number = 0
        while number * step <= self._whole:
            yield round(100 * number * step / self._whole, 3), number * step
            number += 1

    def _elapsed(self, moment: datetime) -> float:
        cut = sum((min(end, moment) - start for start, end in self._gaps if start < moment), timedelta())
        return (moment - self.start - cut).total_seconds()


def _lanes(
    spans: Sequence[tuple[datetime, datetime, str, str, str]], clock: _Clock, first: int
) -> tuple[list[Bar], int]:
    """Bars on the first lane that is free for each; returns the next free lane, too."""
    free: list[float] = []
    bars = []
    for began, ended, kind, label, path in sorted(spans, key=lambda span: (span[0], span[1])):
        x = clock.x(began)
        width = max(_THIN, clock.x(ended) - x)
        lane = next((number for number, until in enumerate(free) if until <= x), len(free))
        if lane == len(free):
            free.append(0.0)
        free[lane] = x + width
        bars.append(Bar(min(x, 100 - _THIN), width, first + lane, kind, label, path))
    return bars, first + len(free)


def _call(call: Call, base: str) -> tuple[str, str, str]:
    return (
        f"call {call.state}",
        f"{call.intent.role}, sample {call.intent.sample + 1}",
        f"{base}/calls/{call.intent.call}",
    )


def _execution(one: Execution, base: str) -> tuple[str, str, str]:
    good = one.entry.exit_code == 0
    return f"execution {'good' if good else 'bad'}", one.entry.purpose, f"{base}/executions/{one.entry.seq}"
