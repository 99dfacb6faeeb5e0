"""Erasing content for good: from events, from the projection, and from the pages of the database."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from functools import partial
from typing import Any

import sqlalchemy as sa

from experepair.errors import MemoryUnavailable
from experepair.memory.store import naming, schema
from experepair.memory.store.coding import erased_demonstration, erased_lesson
from experepair.memory.store.database import Database
from experepair.memory.store.events import Kind, Writer, chunks
from experepair.memory.store.managing import changed
from experepair.memory.store.records import Changed, Mark

_D, _E, _L = schema.demonstration, schema.event, schema.lesson
_Body = Mapping[str, Any]


def erase(writer: Writer, scope: str, names: Iterable[str], at: datetime) -> Changed:
    """Forget entries and blank their content; `scrub` then cleans the pages."""
    connection = writer.connection
    number = naming.known_scope(connection, scope)
    about = naming.subjects(connection, number, names)
    holders = _holders(connection, about.demonstrations)
    done = changed(writer, number, Kind.ERASED, about, at)
    lessons = set(about.lessons) | _emptied(connection, set(holders.values()))
    operations = set(naming.operations_of(connection, about.lessons))
    operations |= naming.texts_of(connection, number, about.insights)
    _patches_gone(connection, holders, lessons)
    _blank(connection, holders, erased_demonstration)
    _blank(connection, lessons, erased_lesson)
    _blank(connection, operations, lambda body: {**body, "text": ""})
    return done


def scrub(database: Database) -> None:
    """Leave nothing of what was blanked in the files of the database.

    Raises:
        MemoryUnavailable: others kept reading old pages until the wait was over.
    """
    if not database.is_sqlite:
        with database.maintain() as connection:
            names = ", ".join(table.name for table in (_E, _D, _L, schema.insight))
            connection.exec_driver_sql(f"VACUUM (FULL) {names}")
        return
    deadline = time.monotonic() + database.config.lock_wait_s
    with database.maintain() as connection:
        connection.exec_driver_sql("VACUUM")
        while True:
            busy = connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)").one()[0]
            if not busy:
                return
            if time.monotonic() > deadline:
                raise MemoryUnavailable(
                    f"memory at {database.url}: the content is erased, but other processes still read older pages "
                    "of the file; end them and erase again"
                )
            time.sleep(0.05)


def _holders(connection: sa.Connection, demonstrations: Iterable[str]) -> dict[int, int]:
    """Numbers of the events that hold demonstrations, with their lessons'."""
    found: dict[int, int] = {}
    for chunk in chunks(demonstrations):
        rows = connection.execute(sa.select(_D.c.event, _D.c.lesson).where(_D.c.id.in_(chunk)))
        found |= {row.event: row.lesson for row in rows}
    return found


def _emptied(connection: sa.Connection, lessons: set[int]) -> set[int]:
    """Those of the lessons all of whose demonstrations are erased."""
    left: set[int] = set()
    for chunk in chunks(lessons):
        alive = _D.c.marks.bitwise_and(int(Mark.ERASED)) == 0
        left |= set(connection.scalars(sa.select(_D.c.lesson).where(_D.c.lesson.in_(chunk), alive)))
    return lessons - left


def _patches_gone(connection: sa.Connection, holders: Mapping[int, int], erased: set[int]) -> None:
    """Blank the final patch of a lesson that stays, where an erased demonstration held the same."""
    for number in set(holders.values()) - erased:
        gone = {event for event, lesson in holders.items() if lesson == number}
        texts = {
            body["success"] for body in connection.scalars(sa.select(_E.c.body).where(_E.c.id.in_(gone)))
        }
        _blank(connection, [number], partial(_without_patch, texts))


def _without_patch(texts: set[str], body: _Body) -> _Body:
    return {**body, "patch": "" if body["patch"] in texts else body["patch"]}


def _blank(connection: sa.Connection, events: Iterable[int], blanked: Callable[[_Body], _Body]) -> None:
    for chunk in chunks(events):
        for row in connection.execute(sa.select(_E.c.id, _E.c.body).where(_E.c.id.in_(chunk))).all():
            connection.execute(sa.update(_E).where(_E.c.id == row.id).values(body=blanked(row.body)))
