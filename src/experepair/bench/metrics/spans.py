"""When a repair was at work, and what it waited for: from the times in its journal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from experepair.journal.entries import CallFailed, Entry, Executed, Intent, Replied, RunStarted


def span_s(entries: Sequence[Entry]) -> float:
    """Wall time of a run in seconds, from each start or resume to the last entry before the next."""
    total = 0.0
    began = last = None
    for entry in entries:
        at = _seconds(entry)
        if isinstance(entry, RunStarted):
            total += (last - began) if began is not None and last is not None else 0.0
            began = at
        last = at
    return total + (last - began if began is not None and last is not None else 0.0)


def busy_s(entries: Sequence[Entry]) -> float:
    """Seconds in which at least one call or execution ran."""
    return union_s(intervals(entries))


def intervals(entries: Iterable[Entry]) -> list[tuple[float, float]]:
    """Of all calls and executions, in seconds since the epoch; calls that a crash cut off are left out."""
    asked: dict[str, float] = {}
    found: list[tuple[float, float]] = []
    for entry in entries:
        match entry:
            case Intent():
                asked[entry.call] = _seconds(entry)
            case Replied() | CallFailed() if entry.call in asked:
                found.append((asked.pop(entry.call), _seconds(entry)))
            case Executed():
                end = _seconds(entry)
                found.append((end - entry.duration_s, end))
    return found


def union_s(found: Iterable[tuple[float, float]]) -> float:
    """Length of the union of intervals."""
    total, until = 0.0, float("-inf")
    for begin, end in sorted(found):
        total += max(0.0, end - max(begin, until))
        until = max(until, end)
    return total


def _seconds(entry: Entry) -> float:
    return datetime.fromisoformat(entry.at).timestamp()
