"""Appending events, and what each kind does to the marks of entries."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

import sqlalchemy as sa

from experepair.memory.store import schema
from experepair.memory.store.coding import time_text
from experepair.memory.store.records import Mark


class Kind(StrEnum):
    """What happened."""

    LEARNED = "learned"
    """A lesson, without what follows in the same transaction:"""
    DEMONSTRATION = "demonstration"
    USED = "used"
    OPERATION = "operation"

    ACCEPTED = "accepted"
    FORGOTTEN = "forgotten"
    ERASED = "erased"
    REVERTED = "reverted"
    CONFIRMED = "confirmed"
    """A human's verdict accepted the patch of a repair."""
    REJECTED = "rejected"
    EDITED = "edited"


EFFECTS: Mapping[Kind, tuple[Mark, Mark]] = {
    Kind.ACCEPTED: (Mark.QUARANTINED | Mark.FORGOTTEN, Mark.NONE),
    Kind.FORGOTTEN: (Mark.NONE, Mark.FORGOTTEN),
    Kind.ERASED: (Mark.NONE, Mark.FORGOTTEN | Mark.ERASED),
    Kind.REVERTED: (Mark.NONE, Mark.REVERTED),
    Kind.CONFIRMED: (Mark.REJECTED, Mark.NONE),
    Kind.REJECTED: (Mark.NONE, Mark.REJECTED),
    Kind.EDITED: (Mark.NONE, Mark.REJECTED),
}
"""Which marks an event takes from the entries that it names, and which it gives them."""


@dataclass(frozen=True, slots=True)
class Event:
    """One fact; only the erasing of content ever changes its body."""

    id: int
    uid: str
    scope: int
    kind: Kind
    at: str
    actor: str
    lesson: int | None
    held: bool
    body: Mapping[str, Any]


class Writer:
    """Collects the events of one transaction of the store's only writer, and numbers them without gaps.

    Args:
        connection: that holds the write lock.
        actor: who does it.
    """

    def __init__(self, connection: sa.Connection, actor: str) -> None:
        self.connection = connection
        self.actor = actor
        self._next = (connection.scalar(sa.select(sa.func.max(schema.event.c.id))) or 0) + 1
        self._rows: list[dict[str, Any]] = []

    def append(
        self,
        kind: Kind,
        scope: int,
        at: datetime | str,
        body: Mapping[str, Any],
        *,
        lesson: int | None = None,
        held: bool = False,
        uid: str | None = None,
        actor: str | None = None,
    ) -> Event:
        """Number an event; it is written by `flush`."""
        event = Event(
            id=self._next,
            uid=uid or f"{time.time_ns():016x}{secrets.token_hex(8)}",
            scope=scope,
            kind=kind,
            at=at if isinstance(at, str) else time_text(at),
            actor=actor or self.actor,
            lesson=lesson,
            held=held,
            body=body,
        )
        self._next += 1
        self._rows.append({name: getattr(event, name) for name in Event.__slots__})
        return event

    def flush(self) -> None:
        """Write what was appended."""
        insert(self.connection, schema.event, self._rows)
        self._rows = []


def insert(connection: sa.Connection, table: sa.Table, rows: Sequence[Mapping[str, Any]]) -> None:
    """Insert rows, or nothing."""
    if rows:
        connection.execute(sa.insert(table), list(rows))


def scope_id(connection: sa.Connection, name: str) -> int | None:
    """The number of a repository, None when nothing was learned of it."""
    return connection.scalar(sa.select(schema.scope.c.id).where(schema.scope.c.name == name))


def made_scope(connection: sa.Connection, name: str) -> int:
    """The number of a repository, which is made if need be; only the writer may ask."""
    known = scope_id(connection, name)
    if known is not None:
        return known
    number = (connection.scalar(sa.select(sa.func.max(schema.scope.c.id))) or 0) + 1
    connection.execute(sa.insert(schema.scope).values(id=number, name=name))
    return number


def chunks(values: Iterable[Any], size: int = 500) -> Iterable[list[Any]]:
    """Values in lists that fit into one statement."""
    chunk: list[Any] = []
    for value in values:
        chunk.append(value)
        if len(chunk) == size:
            yield chunk
            chunk = []
    if chunk:
        yield chunk
