"""What people look at: lists, single entries, the log, and figures."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

import sqlalchemy as sa

from experepair.memory.lesson import Source
from experepair.memory.store import naming, schema
from experepair.memory.store.coding import issue_of, time_of
from experepair.memory.store.events import Kind
from experepair.memory.store.reading import COUNTS, STORED, ending, stored
from experepair.memory.store.records import Filter, Held, LogEntry, Mark, Page, State, Stats, Verdict

_D, _E, _L, _S = schema.demonstration, schema.event, schema.lesson, schema.scope
_LONG = 200
"""Characters of a text in the log."""
_HELD = (
    sa.select(_L, _E.c.at, _E.c.body, _S.c.name).join(_E, _E.c.id == _L.c.id).join(_S, _S.c.id == _L.c.scope)
)


def listing(connection: sa.Connection, wanted: Filter, offset: int, limit: int) -> Page:
    """Demonstrations that a filter lets through, newest first."""
    ordered = _matching(wanted, _D.c.event).order_by(_D.c.event.desc())
    if wanted.text:  # one scan of all texts tells both
        found = connection.scalars(ordered).all()
        events, total = found[offset : offset + limit], len(found)
    else:
        events = connection.scalars(ordered.offset(offset).limit(limit)).all()
        total = connection.scalar(_matching(wanted, sa.func.count(_D.c.event))) or 0
    rows = connection.execute(STORED.where(_D.c.event.in_(events)).order_by(_D.c.event.desc())).all()
    return Page(tuple(stored(row) for row in rows), total)


def _matching(wanted: Filter, *columns: sa.ColumnElement[Any]) -> sa.Select[*tuple[Any, ...]]:
    """Columns of the demonstrations that a filter lets through, with no table more than it asks for."""
    query = sa.select(*columns).select_from(_D)
    if wanted.scope is not None:
        query = query.join(_S, _S.c.id == _D.c.scope)
    if wanted.text:
        query = query.join(_E, _E.c.id == _D.c.event)
    if not (wanted.issue_id is wanted.key is wanted.outcome is None):
        query = query.join(_L, _L.c.id == _D.c.lesson)
    return query.where(*_conditions(wanted))


def _conditions(wanted: Filter) -> Iterator[sa.ColumnElement[bool]]:
    if wanted.scope is not None:
        yield _S.c.name == wanted.scope
    if wanted.agent is not None:
        yield _D.c.agent == wanted.agent.value
    if wanted.origin is not None:
        yield _D.c.origin == wanted.origin.value
    if wanted.state is not None:
        yield _in_state(_D.c.marks, wanted.state)
    if wanted.issue_id is not None:
        yield _L.c.issue == wanted.issue_id
    if wanted.key is not None:
        yield _L.c.key == wanted.key
    if wanted.outcome is not None:
        yield _L.c.outcome == wanted.outcome
    if wanted.text:
        escaped = json.dumps(wanted.text)[1:-1]  # as it stands in the stored JSON
        yield sa.cast(_E.c.body, sa.Text).icontains(escaped, autoescape=True)


def _in_state(marks: sa.Column[Any], state: State) -> sa.ColumnElement[bool]:
    if state is State.ACCEPTED:
        return marks == 0
    weight = int(Mark[state.name])
    return (marks >= weight) & (marks < 2 * weight)


def lessons(
    connection: sa.Connection, scope: str | None, state: State | None, offset: int, limit: int
) -> tuple[Held, ...]:
    """Lessons, newest first."""
    wanted = _HELD.order_by(_L.c.id.desc()).offset(offset).limit(limit)
    if scope is not None:
        wanted = wanted.where(_S.c.name == scope)
    if state is not None:
        wanted = wanted.where(_in_state(_L.c.marks, state))
    return tuple(_held(row) for row in connection.execute(wanted))


def lesson(connection: sa.Connection, scope: str, name: str) -> tuple[Held, ...]:
    """Lessons with that key, of that run or of that issue, oldest first."""
    number = naming.known_scope(connection, scope)
    found = naming.lessons_named(connection, number, name)
    rows = connection.execute(_HELD.where(_L.c.id.in_(found)).order_by(_L.c.id))
    return tuple(_held(row) for row in rows)


def _held(row: sa.Row[*tuple[Any, ...]]) -> Held:
    return Held(
        key=row.key,
        event=row.id,
        scope=row.name,
        source=Source(row.source),
        issue_id=row.issue,
        title=issue_of(row.body, row.name).title,
        outcome=row.outcome,
        state=Mark(row.marks).state,
        verdict=Verdict(row.verdict) if row.verdict else None,
        at=time_of(row.at),
    )


def scopes(connection: sa.Connection) -> dict[str, int]:
    """Repositories of which something was learned, with the number of their lessons."""
    counted = (
        sa.select(_S.c.name, sa.func.count(_L.c.id).label("lessons"))
        .outerjoin(_L, _L.c.scope == _S.c.id)
        .group_by(_S.c.name)
        .order_by(_S.c.name)
    )
    return {row.name: row.lessons for row in connection.execute(counted)}


def log(
    connection: sa.Connection, scope: str | None, name: str | None, before: int | None, limit: int
) -> tuple[LogEntry, ...]:
    """Events, newest first; see `Store.log`."""
    wanted = (
        sa.select(_E, _S.c.name, _L.c.key, _L.c.source, _L.c.issue, _L.c.outcome)
        .join(_S, _S.c.id == _E.c.scope)
        .outerjoin(_L, _L.c.id == sa.func.coalesce(_E.c.lesson, _E.c.id))
        .order_by(_E.c.id.desc())
    )
    if scope is not None:
        wanted = wanted.where(_S.c.name == scope)
    if before is not None:
        wanted = wanted.where(_E.c.id < before)
    if name is None:
        return tuple(_entry(row) for row in connection.execute(wanted.limit(limit)))
    named = sa.cast(_E.c.body, sa.Text).contains(json.dumps(name)[1:-1], autoescape=True)
    wanted = wanted.where(sa.or_(_L.c.key.in_((name, f"run:{name}")), _L.c.issue == name, named))
    found: list[LogEntry] = []
    for row in connection.execute(wanted):
        if _mentions(row, name):
            found.append(_entry(row))
        if len(found) == limit:
            break
    return tuple(found)


def _mentions(row: sa.Row[*tuple[Any, ...]], name: str) -> bool:
    body = row.body
    own = (row.key, row.issue, body.get("id"), body.get("insight"), *body.get("lessons", ()))
    named = {*own, *body.get("demonstrations", ()), *body.get("insights", ())}
    return bool(named & {name, f"run:{name}"}) or name in body.get("result", "")


def _entry(row: sa.Row[*tuple[Any, ...]]) -> LogEntry:
    key = row.key or ""
    return LogEntry(
        event=row.id,
        at=time_of(row.at),
        actor=row.actor,
        kind=row.kind,
        scope=row.name,
        key=key,
        source=row.source or "",
        issue_id=row.issue or "",
        outcome=row.outcome or "",
        detail={name: _short(value) for name, value in row.body.items()},
    )


def _short(value: Any) -> Any:
    if isinstance(value, str):
        return value if len(value) <= _LONG else f"{value[:_LONG]}… ({len(value)} characters)"
    if isinstance(value, dict):
        return {name: _short(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_short(inner) for inner in value]
    return value


def stats(connection: sa.Connection, scope: str | None) -> Stats:
    """Figures of one repository, or of all."""
    number = None if scope is None else naming.known_scope(connection, scope)
    bars = _Counted(connection, number)
    with_memory, without_memory = bars.endings()
    size = sa.text(
        "SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()"
        if connection.dialect.name == "sqlite"
        else "SELECT sum(pg_total_relation_size(c.oid)) FROM pg_class c WHERE c.relkind = 'r' "
        "AND c.relname LIKE 'memory\\_%' AND pg_table_is_visible(c.oid)"
    )
    return Stats(
        lessons=bars.by(_L, _L.c.source),
        demonstrations=bars.by(_D, _D.c.agent, _D.c.origin),
        insights=bars.insights(),
        growth=bars.growth(),
        recalls=bars.recalls(),
        with_memory=with_memory,
        without_memory=without_memory,
        events=bars.count(_E),
        size=int(connection.scalar(size) or 0),
    )


class _Counted:
    """Counts of the rows of one repository, or of all."""

    def __init__(self, connection: sa.Connection, scope: int | None) -> None:
        self._connection = connection
        self._scope = scope

    def count(self, table: sa.Table) -> int:
        return self._connection.scalar(self._mine(sa.select(sa.func.count()).select_from(table), table)) or 0

    def by(self, table: sa.Table, *columns: sa.Column[Any]) -> dict[str, int]:
        """By some columns and the state, as "mined accepted"."""
        counted: Counter[str] = Counter()
        grouped = sa.select(*columns, table.c.marks, sa.func.count()).group_by(*columns, table.c.marks)
        for *names, marks, times in self._connection.execute(self._mine(grouped, table)):
            counted[" ".join((*names, Mark(marks).state))] += times
        return dict(sorted(counted.items()))

    def insights(self) -> dict[str, int]:
        table = schema.insight
        grouped = sa.select(table.c.agent, sa.func.count()).group_by(table.c.agent).order_by(table.c.agent)
        return dict(self._connection.execute(self._mine(grouped, table)).all())

    def growth(self) -> dict[str, int]:
        month = sa.func.substr(_E.c.at, 1, 7)
        grouped = (
            sa.select(month, sa.func.count())
            .where(_E.c.kind == Kind.LEARNED.value)
            .group_by(month)
            .order_by(month)
        )
        return dict(self._connection.execute(self._mine(grouped, _E)).all())

    def recalls(self) -> dict[str, int]:
        use = schema.use
        kind = sa.case((_D.c.id.is_(None), "insights"), else_="demonstrations").label("kind")
        named = sa.func.sum(sa.cast(use.c.named, sa.Integer))
        grouped = (
            sa.select(kind, sa.func.count(), named)
            .select_from(use)
            .join(_L, _L.c.id == use.c.lesson)
            .outerjoin(_D, _D.c.id == use.c.subject)
            .where(COUNTS)
            .group_by(kind)
        )
        counted = {"insights": 0, "demonstrations": 0, "named": 0}
        for name, times, applied in self._connection.execute(self._mine(grouped, _L)):
            counted[name] = times
            counted["named"] += applied
        return counted

    def endings(self) -> tuple[dict[str, int], dict[str, int]]:
        """Of repairs that recalled something, and of the others."""
        used = sa.exists().where(schema.use.c.lesson == _L.c.id).label("used")
        inner = sa.select(_L.c.outcome, _L.c.verdict, used).where(COUNTS, _L.c.source == Source.RUN.value)
        rows = self._mine(inner, _L).subquery()
        grouped = sa.select(rows, sa.func.count()).group_by(*rows.c)
        counted: tuple[Counter[str], Counter[str]] = (Counter(), Counter())
        for outcome, verdict, recalled, times in self._connection.execute(grouped):
            counted[0 if recalled else 1][ending(outcome, verdict)] += times
        return dict(counted[0]), dict(counted[1])

    def _mine(self, query: sa.Select[*tuple[Any, ...]], table: sa.Table) -> sa.Select[*tuple[Any, ...]]:
        return query if self._scope is None else query.where(table.c.scope == self._scope)
