"""The trajectory of a repair, read out of its journal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from experepair.domain.issue import Issue
from experepair.domain.memory import Use
from experepair.domain.roles import Agent
from experepair.domain.trajectory import Trajectory, Trial
from experepair.errors import JournalError
from experepair.journal.entries import Applied, Entry, Intent, Recalled, Replied, RunEnded, RunStarted, Tried


def trajectory(entries: Sequence[Entry], issue: Issue, chosen: Sequence[str], patch: str = "") -> Trajectory:
    """All trials of a run, each once although a resumed run has journalled it again.

    Args:
        entries: of one journal.
        issue: what the run repaired.
        chosen: names of the reproduction and the patch that were chosen.
        patch: the final one, as a diff.

    Raises:
        JournalError: the journal has no beginning.
    """
    starts = [entry for entry in entries if isinstance(entry, RunStarted)]
    if not starts:
        raise JournalError("the journal has no beginning: its first entry should be a run_started")
    ended = next((entry for entry in reversed(entries) if isinstance(entry, RunEnded)), None)
    trials: dict[str, Trial] = {}
    for entry in entries:
        if isinstance(entry, Tried):
            trials[entry.name] = Trial(
                Agent(entry.agent),
                entry.number,
                entry.name,
                entry.output,
                entry.feedback,
                entry.succeeded,
                entry.applied,
            )
    return Trajectory(
        starts[0].run_id,
        issue,
        starts[0].commit,
        ended.status if ended else "interrupted",
        tuple(trials.values()),
        tuple(chosen),
        uses(entries),
        _models(entries),
        patch,
        starts[-1].fence,
    )


def uses(entries: Sequence[Entry]) -> tuple[Use, ...]:
    """What of memory was in a prompt that was sent, each once, and whether an agent named it."""
    named = {each for entry in entries if isinstance(entry, Applied) for each in entry.ids}
    shown = (each for ids in shown_in(entries).values() for each in ids)
    return tuple(Use(each, each in named) for each in dict.fromkeys(shown))


def shown_in(entries: Sequence[Entry]) -> Mapping[str, tuple[str, ...]]:
    """Ids of what memory had put into each call's prompt, by the call; calls without any are left out."""
    by_part: dict[str, tuple[str, ...]] = {}
    for entry in entries:
        if isinstance(entry, Recalled):
            by_part.update(entry.parts)
    calls = {
        entry.call: [by_part[part.sha256] for part in entry.parts if part.sha256 in by_part]
        for entry in entries
        if isinstance(entry, Intent)
    }
    return {call: tuple(each for ids in parts for each in ids) for call, parts in calls.items() if parts}


def _models(entries: Sequence[Entry]) -> tuple[str, ...]:
    answered = {entry.call for entry in entries if isinstance(entry, Replied)}
    return tuple(
        dict.fromkeys(
            entry.model for entry in entries if isinstance(entry, Intent) and entry.call in answered
        )
    )
