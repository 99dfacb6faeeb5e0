"""Which process may still teach what a run taught: the one that took the run over last."""

from __future__ import annotations

from hashlib import sha256

import sqlalchemy as sa

from experepair.errors import LeaseLost
from experepair.memory.lesson import Lesson
from experepair.memory.store import schema


def raise_fence(connection: sa.Connection, scope: str, key: str, fence: int) -> None:
    """Refuse this lesson from every process with a lower number, from the end of this transaction on."""
    name = _name(scope, key)
    known = _fence(connection, name)
    if known is None:
        connection.execute(sa.insert(schema.meta).values(key=name, value=str(fence)))
    elif fence > known:
        connection.execute(sa.update(schema.meta).where(schema.meta.c.key == name).values(value=str(fence)))


def check_fence(connection: sa.Connection, lesson: Lesson) -> None:
    """Let a lesson pass, and forget its fence: a key that is known teaches nothing more.

    Raises:
        LeaseLost: a process with a higher number has the run.
    """
    if not lesson.fence:
        return
    name = _name(lesson.issue.repository, lesson.key)
    known = _fence(connection, name)
    if known is None:
        return
    if known > lesson.fence:
        raise LeaseLost(
            f"{lesson.key} was taken over by another process (number {known}, this one has {lesson.fence}); "
            "nothing is learned from here"
        )
    connection.execute(sa.delete(schema.meta).where(schema.meta.c.key == name))


def _fence(connection: sa.Connection, name: str) -> int | None:
    value: str | None = connection.scalar(sa.select(schema.meta.c.value).where(schema.meta.c.key == name))
    return None if value is None else int(value)


def _name(scope: str, key: str) -> str:
    return "fence:" + sha256(f"{scope}\0{key}".encode("utf-8", "surrogatepass")).hexdigest()
