"""What is remembered of past repairs (paper, 3.3)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from hashlib import sha256
from typing import Any

from experepair.domain.roles import Agent

TESTS_FOLLOW = "# The tests that came with it:\n"
"""Stands in the success of a mined or human fix between its source and its tests, at the beginning of a line."""


class Origin(StrEnum):
    """Where a demonstration comes from; only `VALIDATED` ones were proved by execution."""

    VALIDATED = "validated"
    MINED = "mined"
    HUMAN = "human"


@dataclass(frozen=True, slots=True)
class Failure:
    """A failed output and the feedback that it got."""

    output: str
    feedback: str


@dataclass(frozen=True, slots=True)
class Demonstration:
    """One successful script or patch, with the failure that it answered if there was one.

    Attributes:
        id: names it in the store and in reports.
        agent: whose memory it is from.
        issue_id: the issue it was learned from.
        issue: that issue's text.
        success: the script or patch that worked; after `TESTS_FOLLOW` the changed tests, if it was mined or human.
        failure: what was tried before, and the feedback to it.
        origin: how far it can be trusted.
        trusted: whether its source was; others are capped in any recall, also once they are accepted.
        run_id: the repair that it was learned from; "" for mined and human ones.
        commit: the fix that it was mined from, or the commit that was repaired.
        created_at: when the issue was written, or the fix committed; UTC, None when unknown.
        paths: files that the success touches, POSIX, relative to the tree.
        functions: simple names of definitions that it touches.
    """

    id: str
    agent: Agent
    issue_id: str
    issue: str
    success: str
    failure: Failure | None = None
    origin: Origin = Origin.VALIDATED
    trusted: bool = True
    run_id: str = ""
    commit: str = ""
    created_at: datetime | None = None
    paths: tuple[str, ...] = ()
    functions: tuple[str, ...] = ()

    @property
    def source(self) -> str:
        """The success without the tests that came with it."""
        return self._parts[0]

    @property
    def tests(self) -> str:
        """The tests that came with a mined or human fix; "" when there are none."""
        return self._parts[1]

    @property
    def _parts(self) -> tuple[str, str]:
        if self.origin is Origin.VALIDATED:
            return self.success, ""
        source, _, tests = self.success.partition(TESTS_FOLLOW)
        return source, tests


@dataclass(frozen=True, slots=True)
class Insight:
    """A lesson distilled from many repairs.

    Attributes:
        id: names it in the store.
        number: its place in the prompt, from 1; agents name it by that.
        text: the lesson.
        revision: the event that wrote this text; an operation names it, so that a change in between is noticed.
    """

    id: str
    number: int
    text: str
    revision: int = 0


class OperationKind(StrEnum):
    """What a summary may do to the insights (paper, Figure 8)."""

    ADD = "ADD"
    EDIT = "EDIT"
    REMOVE = "REMOVE"


@dataclass(frozen=True, slots=True)
class Operation:
    """One change to the insights of an agent.

    Attributes:
        kind: what is done.
        text: the new lesson; "" for a REMOVE.
        insight: what is edited or removed, as the summarizer saw it; None for an ADD.
    """

    kind: OperationKind
    text: str = ""
    insight: Insight | None = None


@dataclass(frozen=True, slots=True)
class Use:
    """How a repair used what it recalled.

    Attributes:
        id: of an insight or a demonstration.
        named: whether the agent said that it applied it; never said of demonstrations.
    """

    id: str
    named: bool = False


@dataclass(frozen=True, slots=True)
class PastRepair:
    """A repair that memory recalls for localization.

    Attributes:
        paths: files that it changed.
        detail: names it in reports.
        similarity: how much its issue is like this one, 0..1.
        functions: simple names of definitions that it changed.
    """

    paths: tuple[str, ...]
    detail: str
    similarity: float = 1.0
    functions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Query:
    """What memory is asked with: the issue always, the newest failure if there is one (paper, A.1).

    Attributes:
        agent: who asks, of his own memory.
        issue_id: never recalled itself.
        issue: its text.
        failure: the latest failed output and the feedback to it.
        paths: files that the ranking suspects, best first; past fixes of the same files are nearer.
    """

    agent: Agent
    issue_id: str
    issue: str
    failure: Failure | None = None
    paths: tuple[str, ...] = ()

    @property
    def digest(self) -> str:
        """Names the query in the journal."""
        failure = (self.failure.output, self.failure.feedback) if self.failure else ()
        text = "\0".join((self.agent, self.issue_id, self.issue, *failure, *self.paths))
        return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True, slots=True)
class Recalled:
    """What memory has to say in one trial; empty means that the prompt doesn't mention memory.

    Attributes:
        insights: all of the agent's, numbered from 1.
        demonstrations: nearest first.
        considered: how many demonstrations the memory of this agent and repository holds.
        audit: scores by id, and why what came near was left out; JSON values, for the journal.
    """

    insights: tuple[Insight, ...] = ()
    demonstrations: tuple[Demonstration, ...] = ()
    considered: int = 0
    audit: Mapping[str, Any] = field(default_factory=dict)
