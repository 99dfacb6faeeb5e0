"""What recall and its index read."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import sqlalchemy as sa

from experepair.domain.issue import Issue
from experepair.domain.memory import Demonstration, Insight
from experepair.domain.roles import Agent
from experepair.memory.store import schema, slots
from experepair.memory.store.coding import demonstration_of, issue_of
from experepair.memory.store.events import Kind, chunks, scope_id
from experepair.memory.store.records import Change, InsightRecord, Mark, Stored, Usage, Verdict

_D, _E, _L, _S = schema.demonstration, schema.event, schema.lesson, schema.scope
STORED = (
    sa.select(_D.c.id, _D.c.marks, _D.c.changed, _L.c.key, _S.c.name, _E.c.held, _E.c.body)
    .join(_E, _E.c.id == _D.c.event)
    .join(_L, _L.c.id == _D.c.lesson)
    .join(_S, _S.c.id == _D.c.scope)
)
"""What makes a `Stored`."""
COUNTS = _L.c.marks.bitwise_and(int(Mark.QUARANTINED | Mark.REVERTED)) == 0
"""Lessons whose uses and endings count."""


def demonstrations(connection: sa.Connection, ids: Sequence[str]) -> dict[str, Stored]:
    """Demonstrations by id, in the order of the ids; those that aren't there are left out."""
    found: dict[str, Stored] = {}
    for chunk in chunks(dict.fromkeys(ids)):
        for row in connection.execute(STORED.where(_D.c.id.in_(chunk))):
            found[row.id] = stored(row)
    return {id: found[id] for id in dict.fromkeys(ids) if id in found}


def stored(row: sa.Row[*tuple[Any, ...]]) -> Stored:
    """A row of `STORED`."""
    return Stored(
        demonstration=_demonstration(row),
        state=Mark(row.marks).state,
        event=row.changed,
        scope=row.name,
        key=row.key,
    )


def changes(connection: sa.Connection, scope: str, agent: Agent, after: int, limit: int) -> list[Change]:
    """What changed for an index after an event; changes of one event are never parted."""
    number = scope_id(connection, scope)
    if number is None:
        return []
    mine = (_D.c.scope == number) & (_D.c.agent == agent.value)
    wanted = (
        sa.select(_D.c.id, _D.c.changed, _D.c.marks, _E.c.held, _E.c.body)
        .join(_E, _E.c.id == _D.c.event)
        .where(mine)
        .order_by(_D.c.changed, _D.c.id)
    )
    rows = list(connection.execute(wanted.where(_D.c.changed > after).limit(limit)))
    if len(rows) == limit and rows:
        last = rows[-1]
        rows += connection.execute(wanted.where(_D.c.changed == last.changed, _D.c.id > last.id))
    return [Change(row.changed, row.id, _recallable(row)) for row in rows]


def _recallable(row: sa.Row[*tuple[Any, ...]]) -> Demonstration | None:
    return None if row.marks else _demonstration(row)


def _demonstration(row: sa.Row[*tuple[Any, ...]]) -> Demonstration:
    """What was held when it came is of untrusted origin here, whatever the record says."""
    demonstration = demonstration_of(row.body)
    return replace(demonstration, trusted=False) if row.held and demonstration.trusted else demonstration


def head(connection: sa.Connection, scope: str, agent: Agent) -> int:
    """The last event that concerns an index, 0 when there is none."""
    newest = (
        sa.select(sa.func.max(_D.c.changed))
        .join(_S, _S.c.id == _D.c.scope)
        .where(_S.c.name == scope, _D.c.agent == agent.value)
    )
    return connection.scalar(newest) or 0


def present(
    connection: sa.Connection, scope: str, agent: Agent, counts: Callable[[Issue], bool] | None = None
) -> tuple[Insight, ...]:
    """The insights of an agent, numbered from 1; those that some lessons alone make, told by their issues."""
    number = scope_id(connection, scope)
    if number is None:
        return ()
    if counts is None:
        found = slots.present(connection, number, agent)
    else:
        insights = slots.rebuilt(connection, number, _barred(connection, number, scope, counts))
        found = tuple(slot for slot in insights.present() if slot.agent is agent)
    return tuple(Insight(slot.id, place, slot.text, slot.revision) for place, slot in enumerate(found, 1))


def _barred(connection: sa.Connection, number: int, scope: str, counts: Callable[[Issue], bool]) -> set[int]:
    """Lessons about insights whose issues don't count."""
    about = (Kind.OPERATION.value, Kind.USED.value)
    lessons = sa.select(_E.c.lesson).where(_E.c.scope == number, _E.c.kind.in_(about)).distinct()
    rows = connection.execute(sa.select(_E.c.id, _E.c.body).where(_E.c.id.in_(lessons)))
    return {row.id for row in rows if not counts(issue_of(row.body, scope))}


def insights(connection: sa.Connection, scope: str, agent: Agent) -> tuple[InsightRecord, ...]:
    """The insights of an agent with their record."""
    number = scope_id(connection, scope)
    found = () if number is None else slots.present(connection, number, agent)
    used = usage(connection, [slot.id for slot in found])
    return tuple(
        InsightRecord(
            insight=Insight(slot.id, place, slot.text, slot.revision),
            scope=scope,
            agent=agent,
            usage=used[slot.id],
            added=slot.added,
            last_used=slot.used,
        )
        for place, slot in enumerate(found, 1)
    )


def usage(connection: sa.Connection, ids: Iterable[str]) -> dict[str, Usage]:
    """How repairs that count used insights or demonstrations; one that nobody used is there with zeros."""
    wanted = list(dict.fromkeys(ids))
    recalled: Counter[str] = Counter()
    named: Counter[str] = Counter()
    outcomes: dict[str, Counter[str]] = defaultdict(Counter)
    use = schema.use
    for chunk in chunks(wanted):
        counted = (
            sa.select(use.c.subject, use.c.named, _L.c.outcome, _L.c.verdict, sa.func.count().label("times"))
            .join(_L, _L.c.id == use.c.lesson)
            .where(use.c.subject.in_(chunk), COUNTS)
            .group_by(use.c.subject, use.c.named, _L.c.outcome, _L.c.verdict)
        )
        for row in connection.execute(counted):
            recalled[row.subject] += row.times
            named[row.subject] += row.times if row.named else 0
            outcomes[row.subject][ending(row.outcome, row.verdict)] += row.times
    return {id: Usage(recalled[id], named[id], dict(outcomes[id])) for id in wanted}


def ending(outcome: str, verdict: str) -> str:
    """How a repair ended: as a human said, if he rejected its patch."""
    return Verdict.REJECTED.value if verdict == Verdict.REJECTED else outcome
