"""A store in memory for tests of recall: what it is told, in the order of events."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from experepair.domain.issue import Issue
from experepair.domain.memory import Demonstration, Failure, Insight, Origin
from experepair.domain.roles import Agent

SCOPE = "example/toy"


@dataclass(frozen=True)
class ListedChange:
    """A change of the memory."""

    event: int
    id: str
    demonstration: Demonstration | None


@dataclass(frozen=True)
class ListedEntry:
    """A demonstration with its state."""

    demonstration: Demonstration
    state: str


class ListedStore:
    """Keeps demonstrations of one scope in lists."""

    def __init__(self, demonstrations: Sequence[Demonstration] = (), identity: str = "a-store") -> None:
        self.identity = identity
        self.log: list[tuple[Agent, ListedChange]] = []
        self.kept: dict[str, ListedEntry] = {}
        self.lessons: tuple[Insight, ...] = ()
        self.reads = 0
        self.learn(*demonstrations)

    def learn(self, *demonstrations: Demonstration, state: str = "accepted") -> None:
        """Add demonstrations; only accepted ones are recallable."""
        for each in demonstrations:
            self.kept[each.id] = ListedEntry(each, state)
            if state == "accepted":
                self._note(each, each)

    def drop(self, name: str) -> None:
        """Forget one."""
        known = self.kept[name].demonstration
        self.kept[name] = ListedEntry(known, "forgotten")
        self._note(known, None)

    def _note(self, known: Demonstration, now: Demonstration | None) -> None:
        self.log.append((known.agent, ListedChange(len(self.log) + 1, known.id, now)))

    def changes(self, scope: str, agent: Agent, after: int, limit: int) -> Sequence[ListedChange]:
        """In the order of events."""
        self.reads += 1
        if scope != SCOPE:
            return []
        return [change for owner, change in self.log[after:] if owner is agent][:limit]

    def head(self, scope: str, agent: Agent) -> int:
        """The last event of an agent."""
        if scope != SCOPE:
            return 0
        return max((change.event for owner, change in self.log if owner is agent), default=0)

    def demonstrations(self, ids: Sequence[str]) -> Mapping[str, ListedEntry]:
        """By id."""
        return {name: self.kept[name] for name in ids if name in self.kept}

    def present(
        self, scope: str, agent: Agent, counts: Callable[[Issue], bool] | None = None
    ) -> tuple[Insight, ...]:
        """The same for both agents and all issues."""
        del agent, counts
        return self.lessons if scope == SCOPE else ()


def demonstration(
    name: str,
    issue: str,
    success: str = "",
    *,
    agent: Agent = Agent.PATCH,
    failure: Failure | None = None,
    origin: Origin = Origin.VALIDATED,
    trusted: bool = True,
    commit: str = "",
    created_at: datetime | None = datetime(2020, 1, 1, tzinfo=UTC),
    paths: tuple[str, ...] = (),
    functions: tuple[str, ...] = (),
    issue_id: str = "",
) -> Demonstration:
    """A demonstration whose issue and success are named after it unless they are given."""
    return Demonstration(
        name,
        agent,
        issue_id or f"issue-{name}",
        issue,
        success or f"fix of {name}",
        failure,
        origin,
        trusted,
        "" if origin is not Origin.VALIDATED else f"run-{name}",
        commit,
        created_at,
        paths,
        functions,
    )
