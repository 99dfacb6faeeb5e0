"""What is remembered of past repairs (paper, 3.3)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256

from experepair.domain.roles import Agent


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
        success: the script or patch that worked.
        failure: what was tried before, and the feedback to it.
        origin: how far it can be trusted.
    """

    id: str
    agent: Agent
    issue_id: str
    issue: str
    success: str
    failure: Failure | None = None
    origin: Origin = Origin.VALIDATED


@dataclass(frozen=True, slots=True)
class Insight:
    """A lesson distilled from many repairs.

    Attributes:
        id: names it in the store.
        number: its place in the prompt, from 1; agents name it by that.
        text: the lesson.
    """

    id: str
    number: int
    text: str


@dataclass(frozen=True, slots=True)
class Query:
    """What memory is asked with: the issue always, the newest failure if there is one (paper, A.1)."""

    agent: Agent
    issue_id: str
    issue: str
    failure: Failure | None = None

    @property
    def digest(self) -> str:
        """Names the query in the journal."""
        failure = (self.failure.output, self.failure.feedback) if self.failure else ()
        text = "\0".join((self.agent, self.issue_id, self.issue, *failure))
        return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True, slots=True)
class Recalled:
    """What memory has to say in one trial; empty means that the prompt doesn't mention memory."""

    insights: tuple[Insight, ...] = ()
    demonstrations: tuple[Demonstration, ...] = ()
