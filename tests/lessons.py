"""Lessons for tests of memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta

from experepair.domain.issue import Issue
from experepair.domain.memory import Demonstration, Failure, Insight, Operation, OperationKind, Origin, Use
from experepair.domain.roles import Agent
from experepair.memory.lesson import Lesson, Source

SCOPE = "example.org/repo"
START = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def run_lesson(
    name: str,
    *,
    scope: str = SCOPE,
    issue: str = "",
    trusted: bool = True,
    outcome: str = "repaired",
    operations: Mapping[Agent, Sequence[Operation]] | None = None,
    uses: Sequence[Use] = (),
) -> Lesson:
    """What the repair `name` teaches: a pair for each agent, and a failure tuple for the patch agent."""
    about = Issue(
        id=issue or f"issue-{name}",
        repository=scope,
        text=f"Title of {name}\n\nThe text of {name}: naïve \0 and \ud800.",
        author="somebody",
        trusted=trusted,
        created_at=START,
    )
    patch = f"--- a/{name}.py\n+++ b/{name}.py\n@@ -1 +1 @@\n-wrong {name}\n+right {name}\n"

    def demonstration(part: str, agent: Agent, success: str, failure: Failure | None = None) -> Demonstration:
        return Demonstration(
            id=f"{scope}/{name}/{part}",
            agent=agent,
            issue_id=about.id,
            issue=about.text,
            success=success,
            failure=failure,
            origin=Origin.VALIDATED,
            trusted=trusted,
            run_id=name,
            commit="c0ffee",
            created_at=about.created_at,
            paths=(f"{name}.py",),
            functions=(f"do_{name}",),
        )

    return Lesson(
        key=f"run:{name}",
        source=Source.RUN,
        issue=about,
        at=START + timedelta(minutes=1),
        commit="c0ffee",
        outcome=outcome,
        models=("provider:model",),
        demonstrations=(
            demonstration("test", Agent.TEST, f"def test_{name}(): ..."),
            demonstration("pair", Agent.PATCH, patch),
            demonstration("tuple", Agent.PATCH, patch, Failure(f"tried {name}", f"feedback on {name}")),
        ),
        operations={agent: tuple(mine) for agent, mine in (operations or {}).items()},
        uses=tuple(uses),
        patch=patch,
    )


def add(*texts: str, agent: Agent = Agent.PATCH) -> dict[Agent, list[Operation]]:
    """Operations that add insights."""
    return {agent: [Operation(OperationKind.ADD, text) for text in texts]}


def edit(insight: Insight, text: str) -> Operation:
    """The operation that gives an insight another text."""
    return Operation(OperationKind.EDIT, text, insight)


def remove(insight: Insight) -> Operation:
    """The operation that removes an insight."""
    return Operation(OperationKind.REMOVE, "", insight)
