"""What one source teaches: the unit in which memory learns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from experepair.domain.issue import Issue
from experepair.domain.memory import Demonstration, Operation, Use
from experepair.domain.roles import Agent


class Source(StrEnum):
    """Where a lesson comes from."""

    RUN = "run"
    HISTORY = "history"
    HUMAN = "human"


@dataclass(frozen=True, slots=True)
class Lesson:
    """What is learned from one repair, past commit or human fix: all of it in one transaction, once.

    Attributes:
        key: names the source within the repository ("run:ID", "commit:ID", "patch:DIGEST"); a key that is known
            teaches nothing more.
        source: what kind of source it is.
        issue: what was repaired; its `repository` is the scope, its `trusted` decides about quarantine.
        at: when it is learned, UTC.
        commit: that was repaired, or that holds the fix.
        outcome: status of the result ("repaired", "unrepaired", …); "" when nothing was repaired here.
        models: that answered, "provider:name".
        demonstrations: of both agents.
        operations: on the insights, by agent, in order.
        uses: what was recalled, each once.
        patch: the final one; "" when there is none. A human's verdict compares with it.
        fence: number of the process that tells it, among those that held the run; 0 when nobody counts them.
    """

    key: str
    source: Source
    issue: Issue
    at: datetime
    commit: str = ""
    outcome: str = ""
    models: tuple[str, ...] = ()
    demonstrations: tuple[Demonstration, ...] = ()
    operations: Mapping[Agent, tuple[Operation, ...]] = field(default_factory=dict)
    uses: tuple[Use, ...] = ()
    patch: str = ""
    fence: int = 0


@dataclass(frozen=True, slots=True)
class Learned:
    """What came of a lesson.

    Attributes:
        new: False when its key was known already; then nothing was changed.
        demonstrations: ids of those that were stored.
        operations: what was done to the insights, in words with ids, for the journal.
        dropped: operations that could not be applied, each with the reason.
    """

    new: bool
    demonstrations: tuple[str, ...] = ()
    operations: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
