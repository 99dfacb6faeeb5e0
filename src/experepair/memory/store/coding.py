"""How lessons and demonstrations are written in events."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from experepair.domain.issue import Issue
from experepair.domain.memory import Demonstration, Failure, Origin
from experepair.domain.roles import Agent
from experepair.memory.lesson import Lesson


def time_text(at: datetime) -> str:
    """UTC, so that texts sort as times do."""
    return at.astimezone(UTC).isoformat(timespec="microseconds")


def time_of(text: str) -> datetime:
    """The time that `time_text` wrote."""
    return datetime.fromisoformat(text)


def lesson_body(lesson: Lesson) -> dict[str, Any]:
    """A lesson without its demonstrations, operations and uses, which have events of their own."""
    issue = lesson.issue
    return {
        "key": lesson.key,
        "source": lesson.source.value,
        "issue": {
            "id": issue.id,
            "text": issue.text,
            "author": issue.author,
            "trusted": issue.trusted,
            "created_at": time_text(issue.created_at) if issue.created_at else None,
        },
        "commit": lesson.commit,
        "outcome": lesson.outcome,
        "models": list(lesson.models),
        "patch": lesson.patch,
    }


def issue_of(body: Mapping[str, Any], scope: str) -> Issue:
    """The issue in a lesson's body; its text is empty once it is erased."""
    issue = body["issue"]
    return Issue(
        id=issue["id"],
        repository=scope,
        text=issue["text"],
        author=issue["author"],
        trusted=issue["trusted"],
        created_at=_time(issue["created_at"]),
    )


def demonstration_body(demonstration: Demonstration) -> dict[str, Any]:
    """All of a demonstration."""
    failure = demonstration.failure
    return {
        "id": demonstration.id,
        "agent": demonstration.agent.value,
        "issue_id": demonstration.issue_id,
        "issue": demonstration.issue,
        "success": demonstration.success,
        "failure": [failure.output, failure.feedback] if failure else None,
        "origin": demonstration.origin.value,
        "trusted": demonstration.trusted,
        "run_id": demonstration.run_id,
        "commit": demonstration.commit,
        "created_at": time_text(demonstration.created_at) if demonstration.created_at else None,
        "paths": list(demonstration.paths),
        "functions": list(demonstration.functions),
    }


def demonstration_of(body: Mapping[str, Any]) -> Demonstration:
    """The demonstration that `demonstration_body` wrote."""
    return Demonstration(
        id=body["id"],
        agent=Agent(body["agent"]),
        issue_id=body["issue_id"],
        issue=body["issue"],
        success=body["success"],
        failure=Failure(*body["failure"]) if body["failure"] else None,
        origin=Origin(body["origin"]),
        trusted=body["trusted"],
        run_id=body["run_id"],
        commit=body["commit"],
        created_at=_time(body["created_at"]),
        paths=tuple(body["paths"]),
        functions=tuple(body["functions"]),
    )


def erased_demonstration(body: Mapping[str, Any]) -> dict[str, Any]:
    """What is left of a demonstration's body: its id and what kind of thing it was."""
    gone: dict[str, Any] = {"issue": "", "success": "", "failure": None, "paths": [], "functions": []}
    return {**body, **gone}


def erased_lesson(body: Mapping[str, Any]) -> dict[str, Any]:
    """What is left of a lesson's body: its key and how it ended."""
    return {**body, "issue": {**body["issue"], "text": "", "author": None}, "patch": ""}


def _time(text: str | None) -> datetime | None:
    return time_of(text) if text else None
