"""Finding what a user names: a demonstration, an insight, a lesson by its key, a run, or an issue."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import sqlalchemy as sa

from experepair.errors import UsageError
from experepair.memory.store import schema, slots
from experepair.memory.store.events import Kind, chunks, scope_id
from experepair.memory.store.semantic import insight_id

_D, _E, _L = schema.demonstration, schema.event, schema.lesson


@dataclass(slots=True)
class Subjects:
    """What a command is about.

    Attributes:
        lessons: keys by number.
        demonstrations: ids, those of the lessons among them.
        insights: ids, those among them whose present text the lessons wrote.
    """

    lessons: dict[int, str] = field(default_factory=dict)
    demonstrations: list[str] = field(default_factory=list)
    insights: list[str] = field(default_factory=list)


def known_scope(connection: sa.Connection, name: str) -> int:
    """The number of a repository.

    Raises:
        UsageError: nothing was learned of it.
    """
    number = scope_id(connection, name)
    if number is None:
        raise UsageError(f"memory holds nothing of the repository {name!r}")
    return number


def subjects(connection: sa.Connection, scope: int, names: Iterable[str]) -> Subjects:
    """All that some names stand for.

    Raises:
        UsageError: a name stands for nothing.
    """
    found = Subjects()
    for name in dict.fromkeys(names):
        lessons = lessons_named(connection, scope, name)
        demonstrations = _demonstrations_named(connection, scope, name)
        insights = [name] if _operations_on(connection, scope, {name}) else []
        if not (lessons or demonstrations or insights):
            raise UsageError(
                f"memory knows no demonstration, insight, lesson, run or issue {name!r} of this repository"
            )
        found.lessons |= lessons
        found.demonstrations += demonstrations
        found.insights += insights
    found.demonstrations += demonstrations_of(connection, found.lessons)
    written = set(operations_of(connection, found.lessons))
    found.insights += [slot.id for slot in slots.present(connection, scope) if slot.revision in written]
    found.demonstrations = list(dict.fromkeys(found.demonstrations))
    found.insights = list(dict.fromkeys(found.insights))
    return found


def lessons_named(connection: sa.Connection, scope: int, name: str) -> dict[int, str]:
    """Lessons with that key, of that run (what a human made of it too), or of that issue."""
    named = (
        _L.c.key.in_([name, f"run:{name}", f"import:run:{name}"])
        | _L.c.key.startswith(f"verdict:{name}:", autoescape=True)
        | (_L.c.issue == name)
    )
    rows = connection.execute(
        sa.select(_L.c.id, _L.c.key).where(_L.c.scope == scope, named).order_by(_L.c.id)
    )
    return {row.id: row.key for row in rows}


def demonstrations_of(connection: sa.Connection, lessons: Iterable[int]) -> list[str]:
    """Ids of all demonstrations of some lessons."""
    ids: list[str] = []
    for chunk in chunks(lessons):
        ids += connection.scalars(sa.select(_D.c.id).where(_D.c.lesson.in_(chunk)).order_by(_D.c.event))
    return ids


def operations_of(connection: sa.Connection, lessons: Iterable[int]) -> list[int]:
    """Numbers of the events that hold the operations of some lessons."""
    numbers: list[int] = []
    for chunk in chunks(lessons):
        mine = (_E.c.lesson.in_(chunk)) & (_E.c.kind == Kind.OPERATION.value)
        numbers += connection.scalars(sa.select(_E.c.id).where(mine))
    return numbers


def texts_of(connection: sa.Connection, scope: int, insights: Iterable[str]) -> set[int]:
    """Numbers of the events that hold a text of some insights, also where another lesson asked for the same."""
    wanted = set(insights)
    return _operations_on(connection, scope, wanted) if wanted else set()


def _operations_on(connection: sa.Connection, scope: int, insights: set[str]) -> set[int]:
    mine = (_E.c.scope == scope) & (_E.c.kind == Kind.OPERATION.value)
    rows = connection.execute(sa.select(_E.c.id, _E.c.uid, _E.c.body).where(mine)).all()
    hits = [row for row in rows if row.body["insight"] in insights or insight_id(row.uid) in insights]
    texts = {row.body["text"] for row in hits} - {""}
    return {row.id for row in hits} | {row.id for row in rows if row.body["text"] in texts}


def _demonstrations_named(connection: sa.Connection, scope: int, name: str) -> Sequence[str]:
    return connection.scalars(sa.select(_D.c.id).where(_D.c.scope == scope, _D.c.id == name)).all()
