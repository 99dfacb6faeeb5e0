"""Comparing the projection with the events that it was made of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import sqlalchemy as sa

from experepair.memory.store import schema, slots
from experepair.memory.store.events import EFFECTS, Event, Kind
from experepair.memory.store.learning import demonstration_row, lesson_row, use_rows
from experepair.memory.store.managing import VERDICT_OF

_E = schema.event
_Row = dict[str, Any]


def verify(connection: sa.Connection) -> tuple[str, ...]:
    """What differs between the tables and the events, in words; nothing when all is well."""
    expected = _Expected()
    for row in connection.execute(sa.select(_E).order_by(_E.c.id)).yield_per(500):
        expected.take(Event(**{**row._mapping, "kind": Kind(row.kind)}))
    problems = list(_compared(connection, schema.lesson, expected.lessons, "id"))
    problems += _compared(connection, schema.demonstration, expected.demonstrations, "id")
    uses = {(row["subject"], row["lesson"]): row for row in expected.uses}
    problems += _compared(connection, schema.use, uses, "subject", "lesson")
    for scope in connection.scalars(sa.select(schema.scope.c.id)).all():
        if slots.rebuilt(connection, scope).present() != slots.present(connection, scope):
            problems.append(f"memory_insight: the insights of repository {scope} differ from their events")
    return tuple(problems)


class _Expected:
    """The projection as it follows from the events alone."""

    def __init__(self) -> None:
        self.lessons: dict[Any, _Row] = {}
        self.demonstrations: dict[Any, _Row] = {}
        self.uses: list[_Row] = []
        self._numbers: dict[tuple[int, str], int] = {}

    def take(self, event: Event) -> None:
        if event.kind is Kind.LEARNED:
            self.lessons[event.id] = lesson_row(event)
            self._numbers[event.scope, event.body["key"]] = event.id
        elif event.kind is Kind.DEMONSTRATION:
            self.demonstrations[event.body["id"]] = demonstration_row(event)
        elif event.kind is Kind.USED:
            self.uses += use_rows(event)
        elif event.kind in EFFECTS:
            self._mark(event)

    def _mark(self, event: Event) -> None:
        clear, give = (int(marks) for marks in EFFECTS[event.kind])
        for id in event.body["demonstrations"]:
            row = self.demonstrations[id]
            row["marks"] = row["marks"] & ~clear | give
            row["changed"] = event.id
        for key in event.body["lessons"]:
            row = self.lessons[self._numbers[event.scope, key]]
            if event.kind in VERDICT_OF:
                row["verdict"] = VERDICT_OF[event.kind].value
            else:
                row["marks"] = row["marks"] & ~clear | give


def _compared(
    connection: sa.Connection, table: sa.Table, expected: Mapping[Any, _Row], *key: str
) -> Iterator[str]:
    left = dict(expected)
    for row in connection.execute(sa.select(table)).yield_per(500):
        found = dict(row._mapping)
        name = found[key[0]] if len(key) == 1 else tuple(found[part] for part in key)
        wanted = left.pop(name, None)
        if wanted is None:
            yield f"{table.name}: {name} is in no event"
        elif wanted != found:
            wrong = [column for column in found if found[column] != wanted[column]]
            yield f"{table.name}: {name} differs from its events in {', '.join(wrong)}"
    for name in left:
        yield f"{table.name}: {name} is missing"
