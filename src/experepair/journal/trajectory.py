"""The trajectory of a repair, read out of its journal."""

from __future__ import annotations

from collections.abc import Sequence

from experepair.domain.issue import Issue
from experepair.domain.roles import Agent
from experepair.domain.trajectory import Trajectory, Trial
from experepair.errors import JournalError
from experepair.journal.entries import Entry, RunEnded, RunStarted, Tried


def trajectory(entries: Sequence[Entry], issue: Issue, chosen: Sequence[str]) -> Trajectory:
    """All trials of a run, each once although a resumed run has journalled it again.

    Args:
        entries: of one journal.
        issue: what the run repaired.
        chosen: names of the reproduction and the patch that were chosen.

    Raises:
        JournalError: the journal has no beginning.
    """
    started = next((entry for entry in entries if isinstance(entry, RunStarted)), None)
    if started is None:
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
    status = ended.status if ended else "interrupted"
    return Trajectory(started.run_id, issue, started.commit, status, tuple(trials.values()), tuple(chosen))
