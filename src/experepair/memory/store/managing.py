"""Commands of people: accept, forget, revert, and the verdict on a patch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from hashlib import sha256
from typing import Any

import sqlalchemy as sa

from experepair.domain.issue import Issue
from experepair.domain.memory import Demonstration, Origin
from experepair.domain.roles import Agent
from experepair.errors import UsageError
from experepair.memory.config import LearnConfig
from experepair.memory.lesson import Lesson, Source
from experepair.memory.store import learning, naming, reading, schema, slots
from experepair.memory.store.coding import issue_of
from experepair.memory.store.events import EFFECTS, Kind, Writer, chunks
from experepair.memory.store.records import Changed, Mark, Verdict

_D, _E, _L = schema.demonstration, schema.event, schema.lesson
_VERDICTS = {
    Verdict.ACCEPTED: Kind.CONFIRMED,
    Verdict.REJECTED: Kind.REJECTED,
    Verdict.EDITED: Kind.EDITED,
}
VERDICT_OF = {kind: verdict for verdict, kind in _VERDICTS.items()}
"""What an event says of the lessons that it names."""


@dataclass(frozen=True, slots=True)
class Judged:
    """A human's word on the patch of a repair.

    Attributes:
        run_id: of the repair.
        verdict: what he says.
        patch: that took its place; None unless it was edited.
        paths: files that this patch touches; empty means those of the replaced one.
        functions: definitions that it touches; the same.
    """

    run_id: str
    verdict: Verdict
    patch: str | None = None
    paths: tuple[str, ...] = ()
    functions: tuple[str, ...] = ()


def command(
    writer: Writer,
    scope: int,
    kind: Kind,
    about: naming.Subjects,
    at: datetime | str,
    *,
    uid: str | None = None,
    actor: str | None = None,
) -> None:
    """Append an event about entries and mark them; `refreshed` then brings the insights in line.

    Args:
        writer: of the transaction.
        scope: number of the repository.
        kind: what happens.
        about: to what.
        at: when.
        uid: of an event that is taken over from another store.
        actor: the same.
    """
    body: dict[str, Any] = {
        "lessons": list(about.lessons.values()),
        "demonstrations": about.demonstrations,
        "insights": about.insights if kind in (Kind.FORGOTTEN, Kind.ERASED) else [],
    }
    event = writer.append(kind, scope, at, body, uid=uid, actor=actor)
    writer.flush()
    _mark(writer.connection, kind, event.id, about)


def changed(writer: Writer, scope: int, kind: Kind, about: naming.Subjects, at: datetime) -> Changed:
    """Do a command, and say what it did."""
    command(writer, scope, kind, about, at)
    words = () if kind in VERDICT_OF else refreshed(writer.connection, scope)
    return Changed(tuple(about.demonstrations), tuple(about.lessons.values()), words)


def refreshed(connection: sa.Connection, scope: int) -> tuple[str, ...]:
    """Make the insights of a repository what its events say.

    Returns:
        what changed, in words.
    """
    before = slots.present(connection, scope)
    return slots.write(connection, scope, before, slots.rebuilt(connection, scope).present())


def _mark(connection: sa.Connection, kind: Kind, event: int, about: naming.Subjects) -> None:
    """Take marks from entries and give them others, as an event wants it."""
    clear, give = EFFECTS[kind]
    for chunk in chunks(about.demonstrations):
        marks = _D.c.marks.bitwise_and(~int(clear)).bitwise_or(int(give))
        connection.execute(sa.update(_D).where(_D.c.id.in_(chunk)).values(marks=marks, changed=event))
    for chunk in chunks(about.lessons):
        update = sa.update(_L).where(_L.c.id.in_(chunk))
        if kind in VERDICT_OF:
            update = update.values(verdict=VERDICT_OF[kind].value)
        else:
            update = update.values(marks=_L.c.marks.bitwise_and(~int(clear)).bitwise_or(int(give)))
        connection.execute(update)


def accept(writer: Writer, scope: str, names: Iterable[str], at: datetime) -> Changed:
    """Let entries be recalled; the operations of a whole lesson are applied now."""
    number = naming.known_scope(writer.connection, scope)
    about = naming.subjects(writer.connection, number, names)
    return changed(writer, number, Kind.ACCEPTED, about, at)


def forget(writer: Writer, scope: str, names: Iterable[str], at: datetime) -> Changed:
    """Hide entries."""
    number = naming.known_scope(writer.connection, scope)
    about = naming.subjects(writer.connection, number, names)
    return changed(writer, number, Kind.FORGOTTEN, about, at)


def revert(writer: Writer, scope: str, name: str, at: datetime) -> Changed:
    """Make it as if the lessons of an issue or a run had never been learned."""
    number = naming.known_scope(writer.connection, scope)
    lessons = naming.lessons_named(writer.connection, number, name)
    if not lessons:
        raise UsageError(f"memory knows no run, lesson or issue {name!r} of {scope!r}")
    about = naming.Subjects(lessons, naming.demonstrations_of(writer.connection, lessons))
    return changed(writer, number, Kind.REVERTED, about, at)


def judge(writer: Writer, scope: str, judged: Judged, config: LearnConfig, at: datetime) -> Changed:
    """Take a human's verdict on the patch of a repair."""
    if (judged.patch is not None and judged.patch.strip() != "") != (judged.verdict is Verdict.EDITED):
        raise UsageError("a patch goes with the verdict 'edited', and only with that one")
    number = naming.known_scope(writer.connection, scope)
    found = writer.connection.execute(
        sa.select(_L.c.id, _L.c.key, _L.c.marks, _E.c.body)
        .join(_E, _E.c.id == _L.c.id)
        .where(_L.c.scope == number, _L.c.key == f"run:{judged.run_id}")
    ).one_or_none()
    if found is None:
        raise UsageError(f"memory knows no repair {judged.run_id!r} of {scope!r}")
    if judged.patch is not None and found.marks & Mark.ERASED:
        raise UsageError(f"the repair {judged.run_id!r} was erased; teach the patch with its issue instead")
    mine = _patches(writer.connection, [found.id])
    about = naming.Subjects({found.id: found.key}, list(mine))
    done = changed(writer, number, _VERDICTS[judged.verdict], about, at)
    key = ""
    if judged.patch is not None:
        lesson = _human(judged, found.body, scope, mine, at)
        held = bool(found.marks & Mark.QUARANTINED)
        key = lesson.key
        learning.learn(writer, [lesson], config, held=held)
    _replacements(writer, number, judged.run_id, key, at)
    return done


def _patches(connection: sa.Connection, lessons: Iterable[int]) -> dict[str, Demonstration]:
    ids = naming.demonstrations_of(connection, lessons)
    found = reading.demonstrations(connection, ids)
    return {id: one.demonstration for id, one in found.items() if one.demonstration.agent is Agent.PATCH}


def _human(
    judged: Judged, body: Mapping[str, Any], scope: str, replaced: Mapping[str, Demonstration], at: datetime
) -> Lesson:
    patch = judged.patch or ""
    issue = issue_of(body, scope)
    digest = sha256(f"{judged.run_id}\0{patch}".encode("utf-8", "surrogatepass")).hexdigest()[:12]
    models = list(replaced.values()) or [_plain(issue, body["commit"])]
    demonstrations = tuple(
        replace(
            model,
            id=f"h{digest}-{place}",
            success=patch,
            origin=Origin.HUMAN,
            run_id="",
            paths=judged.paths or model.paths,
            functions=judged.functions or (() if judged.paths else model.functions),
        )
        for place, model in enumerate(models)
    )
    return Lesson(
        key=f"verdict:{judged.run_id}:{digest}",
        source=Source.HUMAN,
        issue=issue,
        at=at,
        commit=body["commit"],
        demonstrations=demonstrations,
        patch=patch,
    )


def _plain(issue: Issue, commit: str) -> Demonstration:
    return Demonstration(
        "",
        Agent.PATCH,
        issue.id,
        issue.text,
        "",
        trusted=issue.trusted,
        commit=commit,
        created_at=issue.created_at,
    )


def _replacements(writer: Writer, scope: int, run_id: str, key: str, at: datetime) -> None:
    """Only the newest patch by which a human replaced that of a repair is recalled."""
    prefix = _L.c.key.startswith(f"verdict:{run_id}:", autoescape=True)
    rows = writer.connection.execute(sa.select(_L.c.id, _L.c.key).where(_L.c.scope == scope, prefix))
    for row in rows.all():
        rejected = _D.c.marks.bitwise_and(int(Mark.REJECTED)) != 0
        wrong = rejected if row.key == key else ~rejected
        ids = writer.connection.scalars(sa.select(_D.c.id).where(_D.c.lesson == row.id, wrong)).all()
        if ids:
            kind = Kind.CONFIRMED if row.key == key else Kind.REJECTED
            command(writer, scope, kind, naming.Subjects({}, list(ids)), at)
