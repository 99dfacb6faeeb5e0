"""What the store answers with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import IntFlag, StrEnum
from typing import Any

from experepair.domain.memory import Demonstration, Insight, Origin
from experepair.domain.roles import Agent
from experepair.memory.lesson import Source


class State(StrEnum):
    """What may be done with an entry; only an accepted one is recalled."""

    ACCEPTED = "accepted"
    QUARANTINED = "quarantined"
    """Of untrusted origin, and not yet accepted."""
    REJECTED = "rejected"
    """A patch that a human's verdict rejected or replaced."""
    FORGOTTEN = "forgotten"
    REVERTED = "reverted"
    ERASED = "erased"
    """Its content is gone for good."""


class Mark(IntFlag):
    """Why an entry isn't recalled; an entry without marks is."""

    NONE = 0
    QUARANTINED = 1
    REJECTED = 2
    FORGOTTEN = 4
    REVERTED = 8
    ERASED = 16

    @property
    def state(self) -> State:
        """The weightiest of the marks."""
        for mark in sorted(Mark, reverse=True):
            if mark & self:
                return State((mark.name or "").lower())
        return State.ACCEPTED


class Verdict(StrEnum):
    """What a human says of the patch of a repair."""

    ACCEPTED = "accepted"
    REJECTED = "rejected"
    EDITED = "edited"
    """Another patch took its place."""


@dataclass(frozen=True, slots=True)
class Stored:
    """A demonstration, and what the store knows of it.

    Attributes:
        demonstration: as it was learned; its texts are empty once it is erased.
        state: whether it may be recalled.
        event: the last one that changed that.
        scope: the repository.
        key: of the lesson that it came with.
    """

    demonstration: Demonstration
    state: State
    event: int
    scope: str
    key: str


@dataclass(frozen=True, slots=True)
class Change:
    """A demonstration that an index must take in or leave out.

    Attributes:
        event: the last one that changed it.
        id: of the demonstration.
        demonstration: None when it must not be recalled any more.
    """

    event: int
    id: str
    demonstration: Demonstration | None


@dataclass(frozen=True, slots=True)
class Usage:
    """How repairs used an entry; those that were reverted or are quarantined don't count.

    Attributes:
        recalled: in how many repairs it was recalled.
        named: in how many of them the agent said that it applied it.
        outcomes: how those repairs ended, by status; "rejected" when a human's verdict said so.
    """

    recalled: int = 0
    named: int = 0
    outcomes: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class InsightRecord:
    """A present insight and its record.

    Attributes:
        insight: numbered by its place.
        scope: the repository.
        agent: whose it is.
        usage: how repairs used it.
        added: the event that added it.
        last_used: the event that last added, edited or applied it; the least one leaves first.
    """

    insight: Insight
    scope: str
    agent: Agent
    usage: Usage
    added: int
    last_used: int


@dataclass(frozen=True, slots=True)
class Held:
    """A lesson, and what the store knows of it.

    Attributes:
        key: names its source within the repository.
        event: the one that learned it.
        scope: the repository.
        source: what kind of source it is.
        issue_id: of the issue.
        title: the issue's first line.
        outcome: how the repair ended.
        state: of the lesson as a whole; its demonstrations can differ.
        verdict: a human's, if there is one.
        at: when it was learned.
    """

    key: str
    event: int
    scope: str
    source: Source
    issue_id: str
    title: str
    outcome: str
    state: State
    verdict: Verdict | None
    at: datetime


@dataclass(frozen=True, slots=True)
class LogEntry:
    """One event, for people.

    Attributes:
        event: its number, in order.
        at: when it happened, UTC.
        actor: who did it.
        kind: what happened.
        scope: the repository.
        key: of the lesson that it is about; "" for none.
        source: of that lesson.
        issue_id: of that lesson.
        outcome: of that lesson.
        detail: the rest of the event, without long texts; JSON values.
    """

    event: int
    at: datetime
    actor: str
    kind: str
    scope: str
    key: str
    source: str
    issue_id: str
    outcome: str
    detail: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Filter:
    """Which demonstrations are listed; what is None or empty doesn't narrow.

    Attributes:
        scope: the repository.
        agent: whose.
        origin: of what origin.
        state: in which state.
        issue_id: from which issue.
        key: from which lesson.
        text: a piece of the issue, script or patch, in any case of ASCII letters.
        outcome: how the repair ended that it was learned from.
    """

    scope: str | None = None
    agent: Agent | None = None
    origin: Origin | None = None
    state: State | None = None
    issue_id: str | None = None
    key: str | None = None
    text: str = ""
    outcome: str | None = None


@dataclass(frozen=True, slots=True)
class Page:
    """Some of what a listing found, newest first.

    Attributes:
        entries: of this page.
        total: how many there are on all pages.
    """

    entries: tuple[Stored, ...]
    total: int


@dataclass(frozen=True, slots=True)
class Changed:
    """What a command did.

    Attributes:
        demonstrations: ids of those whose state was set.
        lessons: keys of those whose state was set.
        insights: what became of insights, in words with ids.
    """

    demonstrations: tuple[str, ...] = ()
    lessons: tuple[str, ...] = ()
    insights: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Imported:
    """What an import did.

    Attributes:
        lessons: how many were new.
        demonstrations: how many came with them.
        events: how many others were taken over.
        skipped: what was left out, each with the reason.
    """

    lessons: int = 0
    demonstrations: int = 0
    events: int = 0
    skipped: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Stats:
    """How a memory grows, is used, and what that brings.

    Attributes:
        lessons: how many, by source and state.
        demonstrations: how many, by agent, origin and state.
        insights: how many are present, by agent.
        growth: lessons learned, by month ("2026-11").
        recalls: how often entries were recalled, by "insights" and "demonstrations", and how often insights were
            named as applied.
        with_memory: endings of the repairs that recalled something, by status.
        without_memory: endings of those that recalled nothing.
        events: how many there are.
        size: of the database, in bytes.
    """

    lessons: Mapping[str, int]
    demonstrations: Mapping[str, int]
    insights: Mapping[str, int]
    growth: Mapping[str, int]
    recalls: Mapping[str, int]
    with_memory: Mapping[str, int]
    without_memory: Mapping[str, int]
    events: int
    size: int
