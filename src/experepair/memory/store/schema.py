"""The tables, as the newest migration leaves them.

`memory_event` is the truth and only grows; all other tables are a projection of it, written in the same
transaction. Texts are JSON with ASCII escapes, so that NUL and lone surrogates, which issues and outputs may hold,
survive in both databases.
"""

from __future__ import annotations

import json
from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Dialect,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    TypeDecorator,
    UniqueConstraint,
)

from experepair.domain.text import encodable

VERSION = "0001"
"""Of the schema: the newest migration's revision."""
VERSION_TABLE = "memory_version"


def named(text: str) -> str:
    """A name with what a database can't hold as escapes."""
    return encodable(text).replace("\0", "\\x00")


class Json(TypeDecorator[Any]):
    """A JSON value in a text column."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> str:
        """Write it."""
        del dialect
        return json.dumps(value, separators=(",", ":"), sort_keys=True)

    def process_result_value(self, value: str | None, dialect: Dialect) -> Any:
        """Read it."""
        del dialect
        return None if value is None else json.loads(value)


class Name(TypeDecorator[str]):
    """A name that is searched for; what a database can't hold is escaped alike in writing and in searching."""

    impl = String
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        """Escape."""
        del dialect
        return None if value is None else named(value)


Number = BigInteger().with_variant(Integer, "sqlite")
"""Of events; SQLite's row number is an INTEGER."""

metadata = MetaData()

meta = Table(
    "memory_meta", metadata, Column("key", String, primary_key=True), Column("value", String, nullable=False)
)

scope = Table(
    "memory_scope",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", Name, nullable=False, unique=True),
)

event = Table(
    "memory_event",
    metadata,
    Column("id", Number, primary_key=True, autoincrement=False),
    Column("uid", String(32), nullable=False, unique=True),
    Column("scope", Integer, ForeignKey(scope.c.id), nullable=False),
    Column("kind", String(16), nullable=False),
    Column("at", String(32), nullable=False),
    Column("actor", Name, nullable=False),
    Column("lesson", Number),
    Column("held", Boolean, nullable=False),
    Column("body", Json, nullable=False),
    Index("memory_event_kind", "scope", "kind"),
    Index("memory_event_lesson", "lesson"),
)

lesson = Table(
    "memory_lesson",
    metadata,
    Column("id", Number, ForeignKey(event.c.id), primary_key=True, autoincrement=False),
    Column("scope", Integer, ForeignKey(scope.c.id), nullable=False),
    Column("key", Name, nullable=False),
    Column("issue", Name, nullable=False),
    Column("source", String(16), nullable=False),
    Column("outcome", Name, nullable=False),
    Column("verdict", String(16), nullable=False),
    Column("marks", Integer, nullable=False),
    UniqueConstraint("scope", "key"),
    Index("memory_lesson_issue", "scope", "issue"),
)

demonstration = Table(
    "memory_demonstration",
    metadata,
    Column("id", Name, primary_key=True),
    Column("event", Number, ForeignKey(event.c.id), nullable=False),
    Column("lesson", Number, ForeignKey(lesson.c.id), nullable=False),
    Column("scope", Integer, ForeignKey(scope.c.id), nullable=False),
    Column("agent", String(16), nullable=False),
    Column("origin", String(16), nullable=False),
    Column("marks", Integer, nullable=False),
    Column("changed", Number, nullable=False),
    Index("memory_demonstration_changed", "scope", "agent", "changed"),
    Index("memory_demonstration_lesson", "lesson"),
)

insight = Table(
    "memory_insight",
    metadata,
    Column("id", Name, primary_key=True),
    Column("scope", Integer, ForeignKey(scope.c.id), nullable=False),
    Column("agent", String(16), nullable=False),
    Column("added", Number, nullable=False),
    Column("revision", Number, nullable=False),
    Column("writer", String(32), nullable=False),
    Column("used", Number, nullable=False),
    Column("text", Json, nullable=False),
    Index("memory_insight_agent", "scope", "agent"),
)

use = Table(
    "memory_use",
    metadata,
    Column("subject", Name, primary_key=True),
    Column("lesson", Number, ForeignKey(lesson.c.id), primary_key=True),
    Column("named", Boolean, nullable=False),
    Index("memory_use_lesson", "lesson"),
)
