"""What the pages of a repair show: values made of journal entries, and of the result once there is one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from experepair.domain.issue import Issue
from experepair.domain.memory import Demonstration, Insight
from experepair.journal import entries
from experepair.steps.result import Result
from experepair.steps.spending import Spending


@dataclass(frozen=True)
class Call:
    """One call to a model.

    Attributes:
        intent: what was sent.
        reply: the answer; None while there is none, or when it failed.
        failed: why it was given up.
        attempts: all, in order.
        began: when it was sent.
        ended: when it was answered or given up; None while it runs.
        memories: ids of what memory had put into its prompt.
    """

    intent: entries.Intent
    reply: entries.Replied | None
    failed: entries.CallFailed | None
    attempts: tuple[entries.Attempt, ...]
    began: datetime
    ended: datetime | None
    memories: tuple[str, ...]

    @property
    def paused_s(self) -> float:
        """Pauses between attempts, in seconds."""
        return sum(attempt.wait_s for attempt in self.attempts)

    @property
    def state(self) -> str:
        """answered, failed, or running."""
        return "answered" if self.reply else "failed" if self.failed else "running"


@dataclass(frozen=True)
class Execution:
    """One command in a sandbox, and when it began; `ended` is when it was journalled."""

    entry: entries.Executed
    began: datetime
    ended: datetime


@dataclass(frozen=True)
class Remembered:
    """An insight or a demonstration that memory gave.

    Attributes:
        id: in the store.
        agent: whose memory it is from.
        demonstration: itself; None for an insight.
        insight: itself; None for a demonstration.
        score: its best likeness to a query, if memory tells.
        calls: the calls in whose prompts it was.
        applied: outputs that say that it was applied.
    """

    id: str
    agent: str
    demonstration: Demonstration | None
    insight: Insight | None
    score: float | None
    calls: tuple[str, ...]
    applied: tuple[str, ...]

    @property
    def title(self) -> str:
        """The insight, or the first line of the demonstration's issue."""
        if self.demonstration:
            return Issue("", "", self.demonstration.issue).title
        return self.insight.text if self.insight else self.id


@dataclass(frozen=True)
class Candidate:
    """A sample of the patch agent.

    Attributes:
        name: P1.3 is the third sample of round 1, R2 the second refinement.
        passed: the reproduction, or without one that it applies.
        diff: "" when no patch could be made of the reply.
        output: the reply, when there is no diff.
        feedback: what the agent was told of it.
        parent: the candidate that it refines; "" for none.
    """

    name: str
    passed: bool
    diff: str
    output: str
    feedback: str
    parent: str = ""


@dataclass(frozen=True)
class Matrix:
    """Candidates by tests, as text: "pass", "FAIL", "ERROR", "skipped", "?" or words."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    set_aside: tuple[str, ...] = ()


@dataclass(frozen=True)
class Stage:
    """A stage of the repair with what happened in it.

    Attributes:
        name: as journalled; "set-up" before the first one.
        began: its first entry's time.
        ended: None while it runs.
        events: its entries, in order.
        spending: calls and executions.
        waiting_s: wall time in which at least one model was asked.
        executing_s: wall time in which at least one command ran.
        paused_s: pauses before calls were tried again, summed up.
    """

    name: str
    began: datetime
    ended: datetime | None
    events: tuple[entries.Entry, ...]
    spending: Spending
    waiting_s: float
    executing_s: float
    paused_s: float
    last: datetime

    @property
    def seconds(self) -> float:
        """Wall time until its end, or until its newest entry."""
        return ((self.ended or self.last) - self.began).total_seconds()


@dataclass(frozen=True)
class Repair:
    """Everything about one run.

    Attributes:
        journal: all entries.
        result: what was published; None while it runs, or when it was killed.
        live: whether a process holds the journal.
        calls: by the call's id, in order.
        executions: by the entry's number, in order.
        stages: in order.
        memories: what memory gave, by id, in the order of prompts.
        candidates: in order.
        spending: of all.
    """

    journal: tuple[entries.Entry, ...]
    result: Result | None
    live: bool
    calls: Mapping[str, Call]
    executions: Mapping[int, Execution]
    stages: tuple[Stage, ...]
    memories: Mapping[str, Remembered]
    candidates: tuple[Candidate, ...]
    spending: Spending
    matrix: Matrix | None = None
    chosen: str = ""
    reasons: str = ""

    @cached_property
    def started(self) -> entries.RunStarted:
        """Its first beginning."""
        return next(entry for entry in self.journal if isinstance(entry, entries.RunStarted))

    @property
    def issue(self) -> Issue:
        """What is repaired."""
        start = self.started
        return Issue(start.issue_id, start.repository, start.issue)

    @property
    def status(self) -> str:
        """How it ended: "running" while it does, "stopped" when it ended without saying how."""
        ended = next(
            (one for one in reversed(self.journal) if isinstance(one, entries.RunEnded | entries.RunStarted)),
            None,
        )
        if isinstance(ended, entries.RunEnded):
            return str(ended.status)
        return "running" if self.live else "stopped"

    @property
    def last(self) -> int:
        """Number of the newest entry."""
        return self.journal[-1].seq

    @property
    def seconds(self) -> float:
        """Wall time of its stages, in seconds; the time between a stop and a resume doesn't count."""
        return sum(stage.seconds for stage in self.stages)

    def candidate(self, name: str) -> Candidate | None:
        """The candidate with that name."""
        return next((one for one in self.candidates if one.name == name), None)
