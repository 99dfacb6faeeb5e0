"""The database behind the store: its address, its connections, its one writer at a time."""

from __future__ import annotations

import contextlib
import random
import sqlite3
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.exc import ArgumentError, DBAPIError, SQLAlchemyError

from experepair.errors import MemoryUnavailable
from experepair.memory.config import LearnConfig
from experepair.memory.store import schema

_WRITER = 0x65787065  # of PostgreSQL's advisory lock: any number that others are unlikely to take
_IDENTITY = "identity"
_POLL_S = 0.02
"""How often a busy lock of SQLite is asked for, in seconds, on average."""


class Database:
    """Connections to a store's database; threads may share it.

    Args:
        url: where it is, as SQLAlchemy understands it.
        config: how long another writer is waited for.
    """

    def __init__(self, url: sa.URL, config: LearnConfig) -> None:
        self.url = masked(url)
        self.config = config
        self.is_sqlite = url.get_backend_name() == "sqlite"
        wait = (
            {"connect_args": {"timeout": config.lock_wait_s}} if self.is_sqlite else {"pool_pre_ping": True}
        )
        try:
            self._engine = sa.create_engine(url, max_overflow=-1, **wait)
        except ImportError as error:
            raise MemoryUnavailable(
                f"memory at {self.url}: {error.name} is missing; install experepair[postgres]"
            ) from error
        if self.is_sqlite:
            sa.event.listen(self._engine, "connect", self._prepare)
            sa.event.listen(self._engine, "begin", self._begin)
        try:
            self.identity = self._ready()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Let go of all connections."""
        self._engine.dispose()

    @contextlib.contextmanager
    def read(self, *, snapshot: bool = False) -> Iterator[sa.Connection]:
        """A connection that changes nothing.

        Args:
            snapshot: whether several statements must see the same state (SQLite's always do).
        """
        with self._translated(), self._engine.connect() as connection:
            if snapshot and not self.is_sqlite:
                connection = connection.execution_options(isolation_level="REPEATABLE READ")
            yield connection

    @contextlib.contextmanager
    def write(self) -> Iterator[sa.Connection]:
        """The only connection that writes; what it did is on the disk when the block ends without an error."""
        with self._translated(), self._engine.connect() as plain:
            connection = plain.execution_options(experepair_write=True)
            with connection.begin():
                if not self.is_sqlite:
                    wait = str(int(self.config.lock_wait_s * 1000) or 1)
                    connection.execute(sa.select(sa.func.set_config("lock_timeout", wait, True)))
                    connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_WRITER)))
                yield connection

    @contextlib.contextmanager
    def maintain(self) -> Iterator[sa.Connection]:
        """A connection outside of any transaction, for VACUUM and the like."""
        with self._translated(), self._engine.connect() as plain:
            if self.is_sqlite:
                yield plain.execution_options(experepair_bare=True)
            else:
                yield plain.execution_options(isolation_level="AUTOCOMMIT")

    def _prepare(self, connection: sqlite3.Connection, record: object) -> None:
        del record
        connection.isolation_level = None  # transactions are begun here, not by the driver
        _use_wal(connection, time.monotonic() + self.config.lock_wait_s)
        for pragma in ("synchronous=FULL", "foreign_keys=ON", "secure_delete=ON", "cache_size=-16000"):
            connection.execute(f"PRAGMA {pragma}")

    def _begin(self, connection: sa.Connection) -> None:
        options = connection.get_execution_options()
        if options.get("experepair_write"):
            self._lock(connection.connection.driver_connection)
        elif not options.get("experepair_bare"):
            connection.exec_driver_sql("BEGIN")

    def _lock(self, connection: Any) -> None:
        """Begin to write. SQLite's own waiting backs off so far that one of many busy writers may never get its turn."""
        deadline = time.monotonic() + self.config.lock_wait_s
        connection.execute("PRAGMA busy_timeout=0")
        try:
            while not _begun(connection):
                if time.monotonic() > deadline:
                    raise MemoryUnavailable(f"memory at {self.url}: {self._locked()}")
                time.sleep(_POLL_S * random.uniform(0.5, 1.5))  # noqa: S311
        finally:
            connection.execute(f"PRAGMA busy_timeout={int(self.config.lock_wait_s * 1000)}")

    def _locked(self) -> str:
        return f"another process has held its write lock for {self.config.lock_wait_s:g} s; try again"

    def _ready(self) -> str:
        """Make or upgrade the tables if need be.

        Returns:
            the identity of this store.
        """
        with self.read() as connection:
            if self._version(connection) == schema.VERSION:
                return _identity(connection)
        with self.write() as connection:
            version = self._version(connection)
            if version is None:
                self._refuse_foreign(connection)
            if version != schema.VERSION:
                _migrate(connection)
                if version is None:
                    connection.execute(sa.insert(schema.meta).values(key=_IDENTITY, value=uuid.uuid4().hex))
            return _identity(connection)

    def _version(self, connection: sa.Connection) -> str | None:
        if not sa.inspect(connection).has_table(schema.VERSION_TABLE):
            return None
        version: str | None = connection.scalar(sa.text(f"SELECT version_num FROM {schema.VERSION_TABLE}"))  # noqa: S608
        if version is not None and version > schema.VERSION:
            raise MemoryUnavailable(
                f"memory at {self.url} was written by a newer experepair (schema {version}, this one knows "
                f"{schema.VERSION}); upgrade experepair, or name another store"
            )
        return version

    def _refuse_foreign(self, connection: sa.Connection) -> None:
        if self.is_sqlite and sa.inspect(connection).get_table_names():
            raise MemoryUnavailable(f"memory at {self.url}: the file is a database of something else")

    @contextlib.contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except (SQLAlchemyError, sqlite3.Error) as error:
            reason = str(error.orig if isinstance(error, DBAPIError) else error).strip()
            if "database is locked" in reason or "lock timeout" in reason:
                reason = (
                    f"another process has held its write lock for {self.config.lock_wait_s:g} s; try again"
                )
            raise MemoryUnavailable(f"memory at {self.url}: {reason}") from error


def parsed(url: str) -> sa.URL:
    """The address that a user gave: a URL of SQLite or PostgreSQL, or the path of a file for SQLite.

    Raises:
        MemoryUnavailable: it is neither.
    """
    if "://" not in url:
        return _file(url)
    try:
        parts = sa.make_url(url)
    except (ArgumentError, ValueError) as error:
        raise MemoryUnavailable(
            "the address of the memory can't be read; give a path, sqlite:///PATH or "
            "postgresql://USER:PASSWORD@HOST/NAME"
        ) from error
    backend = parts.get_backend_name()
    if backend == "sqlite":
        return _file(parts.database or "")
    if backend in ("postgresql", "postgres"):
        return parts.set(drivername="postgresql+psycopg")
    raise MemoryUnavailable(f"memory at {masked(parts)}: only sqlite and postgresql are known")


def make_schema(url: str, name: str) -> None:
    """Make a schema in PostgreSQL: a place for the tables of one store among several in a database.

    Args:
        url: of the database.
        name: of letters, digits and underscores.

    Raises:
        MemoryUnavailable: it can't be made, or the address isn't PostgreSQL's.
    """
    address = parsed(url)
    if address.get_backend_name() != "postgresql":
        raise MemoryUnavailable(f"memory at {masked(address)}: only PostgreSQL serves many machines")
    try:
        engine = sa.create_engine(address)
        try:
            with engine.begin() as connection:
                connection.execute(sa.schema.CreateSchema(name))
        finally:
            engine.dispose()
    except ImportError as error:
        raise MemoryUnavailable(
            f"memory at {masked(address)}: {error.name} is missing; install experepair[postgres]"
        ) from error
    except SQLAlchemyError as error:
        raise MemoryUnavailable(f"memory at {masked(address)}: no schema can be made: {error}") from error


def masked(url: sa.URL) -> str:
    """The address without passwords, for people."""
    if url.get_backend_name() == "sqlite":
        return f"sqlite:///{url.database}"
    hidden = {key: "***" for key in url.query if key in ("password", "sslpassword", "passfile")}
    return (
        url.set(drivername=url.get_backend_name())
        .update_query_dict(hidden)
        .render_as_string(hide_password=True)
    )


def _file(path: str) -> sa.URL:
    if not path or path == ":memory:" or path.startswith("file:"):
        raise MemoryUnavailable(f"memory at {path!r}: give the path of a file; memory outlives a process")
    whole = Path(path).expanduser().absolute()
    try:
        whole.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise MemoryUnavailable(f"memory at {str(whole)!r}: {error.strerror or error}") from error
    return sa.URL.create("sqlite", database=str(whole))


def _begun(connection: Any) -> bool:
    try:
        connection.execute("BEGIN IMMEDIATE")
    except sqlite3.OperationalError as error:
        if "locked" not in str(error):
            raise
        return False
    return True


def _use_wal(connection: sqlite3.Connection, deadline: float) -> None:
    """Turn the write-ahead log on; SQLite doesn't wait by itself when another process is doing the same."""
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL")
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(0.02)
        else:
            return


def _identity(connection: sa.Connection) -> str:
    found: Any = connection.scalar(sa.select(schema.meta.c.value).where(schema.meta.c.key == _IDENTITY))
    return str(found)


def _migrate(connection: sa.Connection) -> None:
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
