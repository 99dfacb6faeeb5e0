"""Learning: all of a lesson in one transaction, once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from typing import Any

import sqlalchemy as sa

from experepair.domain.memory import Demonstration, Operation, OperationKind
from experepair.domain.roles import Agent
from experepair.memory.config import LearnConfig
from experepair.memory.lesson import Learned, Lesson
from experepair.memory.store import schema, slots
from experepair.memory.store.coding import demonstration_body, lesson_body
from experepair.memory.store.events import Event, Kind, Writer, chunks, insert, made_scope
from experepair.memory.store.records import Mark
from experepair.memory.store.semantic import Insights, Outcome, Slot, Wish


def learn(
    writer: Writer, lessons: Sequence[Lesson], config: LearnConfig, *, held: bool | None = None
) -> list[Learned]:
    """Learn lessons in the writer's transaction; those whose keys are known change nothing.

    Args:
        writer: of the transaction.
        lessons: all with different keys, or the first of each key counts.
        config: caps.
        held: whether they are quarantined; None leaves it to the trust in their issues.
    """
    lessons = [_named(lesson) for lesson in lessons]
    batch = _Batch(writer, config)
    scopes = {name: made_scope(writer.connection, name) for name in {o.issue.repository for o in lessons}}
    known = {
        (number, key)
        for name, number in scopes.items()
        for key in known_keys(
            writer.connection, number, (o.key for o in lessons if o.issue.repository == name)
        )
    }
    taken = taken_ids(writer.connection, (d.id for lesson in lessons for d in lesson.demonstrations))
    learned: list[Learned] = []
    for lesson in lessons:
        scope = scopes[lesson.issue.repository]
        if (scope, lesson.key) in known:
            learned.append(Learned(new=False))
            continue
        known.add((scope, lesson.key))
        learned.append(
            batch.add(scope, lesson, taken, held=not lesson.issue.trusted if held is None else held)
        )
    batch.write()
    return learned


def known_keys(connection: sa.Connection, scope: int, keys: Iterable[str]) -> set[str]:
    """Which of these lessons were learned of a repository."""
    known: set[str] = set()
    table = schema.lesson
    for chunk in chunks(keys):
        found = sa.select(table.c.key).where(table.c.scope == scope, table.c.key.in_(chunk))
        known |= set(connection.scalars(found))
    return known


def taken_ids(connection: sa.Connection, ids: Iterable[str]) -> set[str]:
    """Which of these ids name a demonstration already."""
    taken: set[str] = set()
    for chunk in chunks(ids):
        found = sa.select(schema.demonstration.c.id).where(schema.demonstration.c.id.in_(chunk))
        taken |= set(connection.scalars(found))
    return taken


def lesson_row(event: Event) -> dict[str, Any]:
    """The projection of a lesson that was just learned."""
    body = event.body
    return {
        "id": event.id,
        "scope": event.scope,
        "key": body["key"],
        "issue": body["issue"]["id"],
        "source": body["source"],
        "outcome": body["outcome"],
        "verdict": "",
        "marks": int(_mark(event)),
    }


def demonstration_row(event: Event) -> dict[str, Any]:
    """The projection of a demonstration that was just learned."""
    return {
        "id": event.body["id"],
        "event": event.id,
        "lesson": event.lesson,
        "scope": event.scope,
        "agent": event.body["agent"],
        "origin": event.body["origin"],
        "marks": int(_mark(event)),
        "changed": event.id,
    }


def use_rows(event: Event) -> list[dict[str, Any]]:
    """The projection of what a repair used."""
    return [{"subject": id, "lesson": event.lesson, "named": named} for id, named in event.body["uses"]]


def _named(lesson: Lesson) -> Lesson:
    """The lesson with names that both databases can hold."""
    name = schema.named
    demonstrations = tuple(replace(d, id=name(d.id)) for d in lesson.demonstrations)
    return replace(
        lesson,
        key=name(lesson.key),
        issue=replace(lesson.issue, id=name(lesson.issue.id), repository=name(lesson.issue.repository)),
        outcome=name(lesson.outcome),
        demonstrations=demonstrations,
        uses=tuple(replace(use, id=name(use.id)) for use in lesson.uses),
    )


def _mark(event: Event) -> Mark:
    return Mark.QUARANTINED if event.held else Mark.NONE


class _Batch:
    """Rows of many lessons, written together."""

    def __init__(self, writer: Writer, config: LearnConfig) -> None:
        self._writer = writer
        self._config = config
        self._rows: dict[sa.Table, list[dict[str, Any]]] = {
            schema.lesson: [],
            schema.demonstration: [],
            schema.use: [],
        }
        self._before: dict[int, tuple[Slot, ...]] = {}
        self._insights: dict[int, Insights] = {}

    def add(self, scope: int, lesson: Lesson, taken: set[str], *, held: bool) -> Learned:
        """Take a new lesson in.

        Args:
            scope: number of its repository.
            lesson: all of it.
            taken: ids of demonstrations that others have; those of this lesson are added.
            held: whether it is quarantined.
        """
        event = self._writer.append(Kind.LEARNED, scope, lesson.at, lesson_body(lesson), held=held)
        self._rows[schema.lesson].append(lesson_row(event))
        ids: list[str] = []
        for demonstration in lesson.demonstrations:
            fit = _fitting(demonstration, lesson, taken)
            taken.add(fit.id)
            ids.append(fit.id)
            part = self._writer.append(
                Kind.DEMONSTRATION, scope, lesson.at, demonstration_body(fit), lesson=event.id, held=held
            )
            self._rows[schema.demonstration].append(demonstration_row(part))
        outcome = self._semantic(event, lesson) if lesson.uses or lesson.operations else Outcome()
        return Learned(True, tuple(ids), outcome.applied, outcome.dropped)

    def write(self) -> None:
        """Write all rows."""
        self._writer.flush()
        for table, rows in self._rows.items():
            insert(self._writer.connection, table, rows)
        for scope, insights in self._insights.items():
            slots.write(self._writer.connection, scope, self._before[scope], insights.present())

    def _semantic(self, learned: Event, lesson: Lesson) -> Outcome:
        uses: dict[str, bool] = {}
        for use in lesson.uses:
            uses[use.id] = uses.get(use.id, False) or use.named
        if uses:
            used = {"uses": [[id, named] for id, named in uses.items()]}
            event = self._writer.append(
                Kind.USED, learned.scope, lesson.at, used, lesson=learned.id, held=learned.held
            )
            self._rows[schema.use] += use_rows(event)
        bodies: list[dict[str, Any]] = []
        wishes: list[Wish] = []
        insights = self._present(learned.scope)
        for body in _operation_bodies(self._writer.connection, lesson.operations, self._config):
            event = self._writer.append(
                Kind.OPERATION, learned.scope, lesson.at, body, lesson=learned.id, held=learned.held
            )
            bodies.append(body)
            wishes.append(slots.wish_of(event.id, event.uid, body))
        if learned.held:
            return Outcome(
                tuple((f"{wish.kind}: waits until the lesson is accepted", False) for wish in wishes)
            )
        outcome = insights.apply(learned.id, (id for id, named in uses.items() if named), wishes)
        for body, (words, _) in zip(bodies, outcome.answers, strict=True):
            body["result"] = words
        return outcome

    def _present(self, scope: int) -> Insights:
        if scope not in self._insights:
            self._before[scope] = slots.present(self._writer.connection, scope)
            self._insights[scope] = Insights(self._before[scope], _forgotten(self._writer.connection, scope))
        return self._insights[scope]


def _fitting(demonstration: Demonstration, lesson: Lesson, taken: set[str]) -> Demonstration:
    trusted = demonstration.trusted and lesson.issue.trusted
    if demonstration.id not in taken:
        return replace(demonstration, trusted=trusted)
    source = "\0".join((lesson.issue.repository, lesson.key, str(len(taken))))
    suffix = sha256(source.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return replace(demonstration, id=f"{demonstration.id}-{suffix}", trusted=trusted)


def _forgotten(connection: sa.Connection, scope: int) -> set[str]:
    event = schema.event
    bodies = connection.scalars(
        sa.select(event.c.body).where(
            event.c.scope == scope, event.c.kind.in_([Kind.FORGOTTEN.value, Kind.ERASED.value])
        )
    )
    return {id for body in bodies for id in body["insights"]}


def _operation_bodies(
    connection: sa.Connection, operations: Mapping[Agent, Sequence[Operation]], config: LearnConfig
) -> list[dict[str, Any]]:
    seen = {o.insight.revision for mine in operations.values() for o in mine if o.insight is not None}
    event = schema.event
    uids = (
        {
            row.id: row.uid
            for row in connection.execute(sa.select(event.c.id, event.c.uid).where(event.c.id.in_(seen)))
        }
        if seen
        else {}
    )
    return [
        {
            "agent": agent.value,
            "operation": operation.kind.value,
            "text": operation.text,
            "insight": operation.insight.id if operation.insight else None,
            "seen": uids.get(operation.insight.revision, "") if operation.insight else "",
            "cap": config.most_insights,
            "refused": refusal(
                operation.kind, operation.text, place, config, names_one=operation.insight is not None
            ),
        }
        for agent, mine in operations.items()
        for place, operation in enumerate(mine)
    ]


def refusal(kind: OperationKind, text: str, place: int, config: LearnConfig, *, names_one: bool) -> str:
    """Why an operation can't be applied, whatever is present; "" when it can.

    Args:
        kind: what is asked for.
        text: the new lesson.
        place: among the operations of its agent and lesson, from 0.
        config: caps.
        names_one: whether it names an insight.
    """
    if place >= config.most_operations:
        return f"{kind}: one more than the {config.most_operations} that a repair may ask for"
    if kind is OperationKind.ADD and names_one:
        return f"{kind}: an ADD can't name an insight"
    if kind is not OperationKind.ADD and not names_one:
        return f"{kind}: it names no insight"
    if kind is not OperationKind.REMOVE and not text.strip():
        return f"{kind}: there is no text"
    if len(text) > config.insight_chars:
        return f"{kind}: {len(text)} characters are more than {config.insight_chars}"
    return ""
