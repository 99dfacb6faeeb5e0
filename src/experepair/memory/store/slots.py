"""The table of present insights: read, written, and made again from the events."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from experepair.domain.memory import OperationKind
from experepair.domain.roles import Agent
from experepair.memory.store import schema
from experepair.memory.store.events import Kind, chunks, insert
from experepair.memory.store.semantic import Insights, Slot, Wish

_TABLE = schema.insight


def present(connection: sa.Connection, scope: int, agent: Agent | None = None) -> tuple[Slot, ...]:
    """The present insights of a repository, in the order of their numbers."""
    wanted = sa.select(_TABLE).where(_TABLE.c.scope == scope).order_by(_TABLE.c.added)
    if agent is not None:
        wanted = wanted.where(_TABLE.c.agent == agent.value)
    return tuple(
        Slot(row.id, Agent(row.agent), row.added, row.revision, row.writer, row.used, row.text)
        for row in connection.execute(wanted)
    )


def write(
    connection: sa.Connection, scope: int, before: Iterable[Slot], after: Iterable[Slot]
) -> tuple[str, ...]:
    """Bring the table from one state to another.

    Returns:
        what changed, in words with ids.
    """
    old, new = {slot.id: slot for slot in before}, {slot.id: slot for slot in after}
    changed = [slot for slot in new.values() if old.get(slot.id) != slot]
    gone = [id for id, slot in old.items() if new.get(id) != slot]
    if gone:
        connection.execute(sa.delete(_TABLE).where(_TABLE.c.id.in_(gone)))
    insert(connection, _TABLE, [_row(scope, slot) for slot in changed])
    words = [f"{id} left" for id in old if id not in new]
    words += [f"{slot.id} came back" for slot in changed if slot.id not in old]
    words += [f"{s.id} has another text" for s in changed if s.id in old and old[s.id].text != s.text]
    return tuple(words)


def rebuilt(connection: sa.Connection, scope: int, without: Collection[int] = ()) -> Insights:
    """The insights of a repository as its events make them.

    Args:
        connection: to the database.
        scope: number of the repository.
        without: numbers of lessons that don't count.
    """
    kinds = [kind.value for kind in (Kind.OPERATION, Kind.USED, *_ABOUT)]
    event = schema.event
    rows = connection.execute(
        sa.select(event.c.id, event.c.uid, event.c.kind, event.c.lesson, event.c.held, event.c.body)
        .where(event.c.scope == scope, event.c.kind.in_(kinds))
        .order_by(event.c.id)
    ).all()
    numbers = sorted({row.lesson for row in rows if row.lesson is not None})
    keys: dict[int, str] = {}
    for chunk in chunks(numbers):
        lessons = sa.select(schema.lesson.c.id, schema.lesson.c.key).where(schema.lesson.c.id.in_(chunk))
        keys |= {row.id: row.key for row in connection.execute(lessons)}
    return replayed([row for row in rows if row.lesson not in without], keys)


_ABOUT = (Kind.ACCEPTED, Kind.FORGOTTEN, Kind.ERASED, Kind.REVERTED)


def replayed(rows: Sequence[sa.Row[*tuple[Any, ...]]], keys: Mapping[int, str]) -> Insights:
    """Apply all lessons that count, each where it was learned or accepted.

    Args:
        rows: events of the kinds that concern insights, in order.
        keys: of lessons, by number.
    """
    uses: dict[int, list[str]] = defaultdict(list)
    wishes: dict[int, list[Wish]] = defaultdict(list)
    applied_at: dict[int, int | None] = {}
    accepted: dict[str, int] = {}
    reverted: set[str] = set()
    forgotten: dict[int, list[str]] = {}
    for row in rows:
        body = row.body
        if row.kind in (Kind.OPERATION, Kind.USED):
            applied_at.setdefault(row.lesson, None if row.held else row.lesson)
            if row.kind == Kind.USED:
                uses[row.lesson] += [id for id, named in body["uses"] if named]
            else:
                wishes[row.lesson].append(wish_of(row.id, row.uid, body))
        elif row.kind == Kind.REVERTED:
            reverted |= set(body["lessons"])
        elif row.kind == Kind.ACCEPTED:
            for key in body["lessons"]:
                accepted.setdefault(key, row.id)
        elif body["insights"]:
            forgotten[row.id] = body["insights"]
    steps: dict[int, int] = {}
    for number, at in applied_at.items():
        when = accepted.get(keys[number]) if at is None else at
        if when is not None and keys[number] not in reverted:
            steps[number] = when
    insights = Insights()
    order = [(when, number) for number, when in steps.items()] + [(when, 0) for when in forgotten]
    for when, number in sorted(order):
        for id in forgotten.get(when, ()) if not number else ():
            insights.forget(id)
        if number:
            insights.apply(when, uses[number], wishes[number])
    return insights


def wish_of(event: int, uid: str, body: Mapping[str, Any]) -> Wish:
    """The operation that an event holds."""
    return Wish(
        event=event,
        uid=uid,
        agent=Agent(body["agent"]),
        kind=OperationKind(body["operation"]),
        text=body["text"],
        target=body["insight"],
        seen=body["seen"],
        cap=body["cap"],
        refused=body["refused"],
    )


def _row(scope: int, slot: Slot) -> dict[str, Any]:
    return {
        "id": slot.id,
        "scope": scope,
        "agent": slot.agent.value,
        "added": slot.added,
        "revision": slot.revision,
        "writer": slot.writer,
        "used": slot.used,
        "text": slot.text,
    }
