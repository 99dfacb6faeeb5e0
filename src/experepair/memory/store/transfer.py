"""Export and import as JSON Lines: a header, then one event a line, in order."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal, TypeVar

import sqlalchemy as sa
from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from experepair.domain.memory import OperationKind, Origin
from experepair.domain.roles import Agent
from experepair.errors import UsageError
from experepair.memory.config import LearnConfig
from experepair.memory.lesson import Source
from experepair.memory.store import learning, naming, schema
from experepair.memory.store.coding import time_text
from experepair.memory.store.events import EFFECTS, Event, Kind, Writer, chunks, insert, made_scope
from experepair.memory.store.managing import command, refreshed
from experepair.memory.store.records import Imported
from experepair.memory.store.semantic import insight_id

FORMAT = 1
_E, _L, _S = schema.event, schema.lesson, schema.scope
_Name = Annotated[str, AfterValidator(schema.named)]
_Time = Annotated[
    str, AfterValidator(lambda text: time_text(TypeAdapter(AwareDatetime).validate_python(text)))
]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


M = TypeVar("M", bound=_Strict)


class _Header(_Strict):
    experepair_memory: Literal[1]
    identity: str


class _Issue(_Strict):
    id: _Name
    text: str
    author: str | None
    trusted: bool
    created_at: _Time | None


class _Learned(_Strict):
    key: _Name
    source: Source
    issue: _Issue
    commit: str
    outcome: _Name
    models: list[str]
    patch: str


class _Demonstration(_Strict):
    id: _Name
    agent: Agent
    issue_id: str
    issue: str
    success: str
    failure: tuple[str, str] | None
    origin: Origin
    trusted: bool
    run_id: str
    commit: str
    created_at: _Time | None
    paths: list[str]
    functions: list[str]


class _Used(_Strict):
    uses: list[tuple[_Name, bool]]


class _Operation(_Strict):
    agent: Agent
    operation: OperationKind
    text: str
    insight: str | None
    seen: str
    cap: int = Field(ge=0, le=1000)
    refused: str
    result: str = ""


class _Command(_Strict):
    lessons: list[_Name]
    demonstrations: list[_Name]
    insights: list[_Name]


class _Line(_Strict):
    event: int
    uid: str = Field(pattern=r"^[0-9a-f]{32}$")
    scope: _Name
    kind: Kind
    at: _Time
    actor: _Name
    key: _Name
    held: bool
    body: dict[str, Any]


_BODIES: Mapping[Kind, type[_Strict]] = {
    Kind.LEARNED: _Learned,
    Kind.DEMONSTRATION: _Demonstration,
    Kind.USED: _Used,
    Kind.OPERATION: _Operation,
}
_LETS_IN = (Kind.ACCEPTED, Kind.CONFIRMED)
"""Commands that an import which isn't trusted can't give."""


def exported(connection: sa.Connection, scope: str | None, identity: str) -> Iterator[dict[str, Any]]:
    """All events of one repository, or of all, as JSON values."""
    yield {"experepair_memory": FORMAT, "identity": identity}
    wanted = (
        sa.select(_E, _S.c.name, _L.c.key)
        .join(_S, _S.c.id == _E.c.scope)
        .outerjoin(_L, _L.c.id == _E.c.lesson)
        .order_by(_E.c.id)
    )
    if scope is not None:
        wanted = wanted.where(_E.c.scope == naming.known_scope(connection, scope))
    for row in connection.execute(wanted).yield_per(500):
        yield {
            "event": row.id,
            "uid": row.uid,
            "scope": row.name,
            "kind": row.kind,
            "at": row.at,
            "actor": row.actor,
            "key": row.key or "",
            "held": row.held,
            "body": row.body,
        }


def import_lines(writer: Writer, lines: Iterable[str], config: LearnConfig, *, trusted: bool) -> Imported:
    """Take in what `exported` gave, in the writer's transaction.

    Raises:
        UsageError: a line can't be read; it says which.
    """
    load = _Import(writer, config, trusted)
    numbered = enumerate(lines, 1)
    _, header = next(numbered, (1, ""))
    _parsed(_Header, header, 1)
    for chunk in chunks(numbered):
        parsed = [(number, _parsed(_Line, line, number)) for number, line in chunk if line.strip()]
        load.take([(line, _body(line, number)) for number, line in parsed])
    return load.end()


class _Import:
    """What of a file became what here.

    Without trust, lessons are quarantined under keys of their own, so that they can't stand for one's own runs and
    commits; commands count only for what came with the same file, and let nothing in; caps are those of this store.
    """

    def __init__(self, writer: Writer, config: LearnConfig, trusted: bool) -> None:
        self._writer = writer
        self._config = config
        self._connection = writer.connection
        self._trusted = trusted
        self._scopes: dict[str, int] = {}
        self._lessons: dict[tuple[int, str], tuple[int, str]] = {}
        self._demonstrations: dict[str, str] = {}
        self._insights: set[str] = set()
        self._rows: dict[sa.Table, list[dict[str, Any]]] = {
            schema.lesson: [],
            schema.demonstration: [],
            schema.use: [],
        }
        self._places: Counter[tuple[int, str]] = Counter()
        self._counts: Counter[str] = Counter()
        self._skipped: list[str] = []

    def take(self, lines: Sequence[tuple[_Line, dict[str, Any]]]) -> None:
        """Take the next lines in."""
        uids = [line.uid for line, _ in lines]
        known = self._connection.execute(
            sa.select(_E.c.uid, _E.c.id, _L.c.key, schema.demonstration.c.id.label("demonstration"))
            .outerjoin(_L, _L.c.id == _E.c.id)
            .outerjoin(schema.demonstration, schema.demonstration.c.event == _E.c.id)
            .where(_E.c.uid.in_(uids))
        )
        here = {row.uid: row for row in known}
        taken = learning.taken_ids(
            self._connection, (body["id"] for line, body in lines if line.kind is Kind.DEMONSTRATION)
        )
        for line, body in lines:
            scope = self._scope(line.scope)
            if line.kind is Kind.OPERATION:
                self._insights.add(insight_id(line.uid))
            if line.uid in here:
                self._recognize(scope, line, body, here[line.uid])
            elif line.kind is Kind.LEARNED:
                self._lesson(scope, line, body)
            elif line.kind in EFFECTS:
                self._command(scope, line, body)
            elif (scope, line.key) in self._lessons:
                self._part(scope, line, body, taken)
        self._flush()

    def end(self) -> Imported:
        """Bring the insights in line."""
        for scope in self._scopes.values():
            refreshed(self._connection, scope)
        return Imported(
            lessons=self._counts["lessons"],
            demonstrations=self._counts["demonstrations"],
            events=self._counts["events"],
            skipped=tuple(self._skipped),
        )

    def _scope(self, name: str) -> int:
        if name not in self._scopes:
            self._scopes[name] = made_scope(self._connection, name)
        return self._scopes[name]

    def _recognize(
        self, scope: int, line: _Line, body: Mapping[str, Any], row: sa.Row[*tuple[Any, ...]]
    ) -> None:
        if line.kind is Kind.LEARNED and row.key is not None:
            self._lessons[scope, body["key"]] = (row.id, row.key)
        elif line.kind is Kind.DEMONSTRATION and row.demonstration is not None:
            self._demonstrations[body["id"]] = row.demonstration

    def _lesson(self, scope: int, line: _Line, body: dict[str, Any]) -> None:
        theirs = body["key"]
        key = theirs if self._trusted else f"import:{theirs}"
        pending = {(row["scope"], row["key"]) for row in self._rows[schema.lesson]}
        if (scope, key) in pending or learning.known_keys(self._connection, scope, [key]):
            self._skipped.append(f"{theirs}: {line.scope!r} has learned it already")
            return
        event = self._append(scope, line, {**body, "key": key}, None)
        self._lessons[scope, theirs] = (event.id, key)
        self._rows[schema.lesson].append(learning.lesson_row(event))
        self._counts["lessons"] += 1

    def _part(self, scope: int, line: _Line, body: dict[str, Any], taken: set[str]) -> None:
        lesson = self._lessons[scope, line.key][0]
        if line.kind is Kind.DEMONSTRATION:
            theirs = body["id"]
            if theirs in taken:
                body = {**body, "id": f"{theirs}-{line.uid[-8:]}"}
            taken.add(body["id"])
            self._demonstrations[theirs] = body["id"]
            event = self._append(scope, line, body, lesson)
            self._rows[schema.demonstration].append(learning.demonstration_row(event))
            self._counts["demonstrations"] += 1
            return
        if line.kind is Kind.OPERATION and not self._trusted:
            body = self._capped(lesson, body)
        event = self._append(scope, line, body, lesson)
        if line.kind is Kind.USED:
            self._rows[schema.use] += learning.use_rows(event)

    def _capped(self, lesson: int, body: dict[str, Any]) -> dict[str, Any]:
        """An operation within the caps of this store, whatever the file says of it."""
        place = self._places[lesson, body["agent"]]
        self._places[lesson, body["agent"]] += 1
        kind, names_one = OperationKind(body["operation"]), body["insight"] is not None
        refused = learning.refusal(kind, body["text"], place, self._config, names_one=names_one)
        cap = min(body["cap"], self._config.most_insights)
        return {**body, "cap": cap, "refused": body["refused"] or refused}

    def _command(self, scope: int, line: _Line, body: Mapping[str, Any]) -> None:
        if not self._trusted and line.kind in _LETS_IN:
            return
        about = naming.Subjects(
            dict(self._lessons[scope, key] for key in body["lessons"] if (scope, key) in self._lessons),
            [self._demonstrations[id] for id in body["demonstrations"] if id in self._demonstrations],
            [id for id in body["insights"] if id in self._insights],
        )
        if about.lessons or about.demonstrations or about.insights:
            self._flush()
            command(self._writer, scope, line.kind, about, line.at, uid=line.uid, actor=line.actor)
            self._counts["events"] += 1

    def _append(self, scope: int, line: _Line, body: Mapping[str, Any], lesson: int | None) -> Event:
        held = line.held or not self._trusted
        return self._writer.append(
            line.kind, scope, line.at, body, lesson=lesson, held=held, uid=line.uid, actor=line.actor
        )

    def _flush(self) -> None:
        self._writer.flush()
        for table, rows in self._rows.items():
            insert(self._connection, table, rows)
            rows.clear()


def _parsed(model: type[M], line: str, number: int) -> M:
    try:
        return model.model_validate(json.loads(line))
    except (ValidationError, ValueError, RecursionError) as error:
        raise _unreadable(number, error) from error


def _body(line: _Line, number: int) -> dict[str, Any]:
    try:
        return (
            _BODIES.get(line.kind, _Command)
            .model_validate(line.body)
            .model_dump(mode="json", exclude_unset=True)
        )
    except ValidationError as error:
        raise _unreadable(number, error) from error


def _unreadable(number: int, error: Exception) -> UsageError:
    reason = str(error)
    if isinstance(error, ValidationError):
        first = error.errors()[0]
        reason = f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
    return UsageError(
        f"line {number} isn't what `experepair memory export` writes ({reason}); nothing was imported"
    )
