"""The store: everything that is remembered, in one SQL database."""

from __future__ import annotations

import contextlib
import getpass
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from itertools import islice
from types import TracebackType
from typing import Any

from experepair.domain.issue import Issue
from experepair.domain.memory import Insight
from experepair.domain.roles import Agent
from experepair.memory.config import LearnConfig
from experepair.memory.lesson import Learned, Lesson
from experepair.memory.store import (
    erasing,
    fencing,
    learning,
    looking,
    managing,
    reading,
    transfer,
    verifying,
)
from experepair.memory.store.database import Database, parsed
from experepair.memory.store.events import Writer, scope_id
from experepair.memory.store.records import (
    Change,
    Changed,
    Filter,
    Held,
    Imported,
    InsightRecord,
    LogEntry,
    Page,
    State,
    Stats,
    Stored,
    Usage,
    Verdict,
)
from experepair.memory.store.schema import named

_BATCH = 1000
"""Lessons that `learn_many` writes in one transaction."""


class Store:
    """Demonstrations and insights of any number of repositories; threads may share it.

    Open one with `open`; close it, or use it in a `with` block. Every method can raise MemoryUnavailable.
    """

    def __init__(self, database: Database, config: LearnConfig, actor: str) -> None:
        self._database = database
        self._config = config
        self._actor = actor

    @classmethod
    def open(cls, url: str, config: LearnConfig | None = None, actor: str = "") -> Store:
        """Open a store, and make or upgrade its tables if need be.

        Args:
            url: the path of a file, sqlite:///PATH, or postgresql://USER:PASSWORD@HOST/NAME.
            config: caps on what is kept.
            actor: who acts, for the log; "" means the user of this process.

        Raises:
            MemoryUnavailable: it can't be reached, isn't a store, or was written by a newer program.
        """
        config = config or LearnConfig()
        return cls(Database(parsed(url), config), config, actor or _user())

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the database."""
        self._database.close()

    @property
    def url(self) -> str:
        """Where it is, without passwords."""
        return self._database.url

    @property
    def identity(self) -> str:
        """Names this store among all; it stays when the database is moved."""
        return self._database.identity

    def learn(self, lesson: Lesson) -> Learned:
        """Learn all of a lesson in one transaction; on the disk when this returns.

        A lesson whose key its repository knows already changes nothing. What comes of an issue that isn't trusted is
        quarantined, its operations on insights wait until it is accepted.

        Raises:
            LeaseLost: another process has taken over the run that teaches it.
        """
        with self._writer() as writer:
            fencing.check_fence(writer.connection, lesson)
            return learning.learn(writer, [lesson], self._config)[0]

    def raise_fence(self, scope: str, key: str, fence: int) -> None:
        """From now on refuse a lesson from those who held its run before.

        Args:
            scope: the repository.
            key: of the lesson.
            fence: number of the process that holds the run now.
        """
        with self._writer() as writer:
            fencing.raise_fence(writer.connection, scope, key, fence)

    def learn_many(self, lessons: Iterable[Lesson]) -> int:
        """Learn lessons in batches.

        Returns:
            how many were new.
        """
        new = 0
        stream = iter(lessons)
        while batch := list(islice(stream, _BATCH)):
            with self._writer() as writer:
                learned = learning.learn(writer, batch, self._config)
            new += sum(one.new for one in learned)
        return new

    def knows(self, scope: str, keys: Collection[str]) -> set[str]:
        """Which of these lessons were learned of a repository, whatever became of them."""
        with self._database.read() as connection:
            number = scope_id(connection, scope)
            known = set() if number is None else learning.known_keys(connection, number, keys)
        return {key for key in keys if named(key) in known}

    def demonstrations(self, ids: Sequence[str]) -> dict[str, Stored]:
        """Demonstrations by id, in the order of the ids; those that aren't there are left out."""
        with self._database.read() as connection:
            return reading.demonstrations(connection, ids)

    def changes(self, scope: str, agent: Agent, after: int, limit: int) -> list[Change]:
        """What an index has to take in or leave out, in the order of events.

        Args:
            scope: the repository.
            agent: whose demonstrations.
            after: the last event that the index holds, 0 for none.
            limit: how many changes at most; those of one event are never parted, so it may be a few more.
        """
        with self._database.read() as connection:
            return reading.changes(connection, scope, agent, after, limit)

    def head(self, scope: str, agent: Agent) -> int:
        """The last event that concerns that index, 0 when there is none."""
        with self._database.read() as connection:
            return reading.head(connection, scope, agent)

    def present(
        self, scope: str, agent: Agent, counts: Callable[[Issue], bool] | None = None
    ) -> tuple[Insight, ...]:
        """All insights of an agent, numbered from 1, as prompts show them.

        Args:
            scope: the repository.
            agent: whose insights.
            counts: which lessons count, by their issues: the insights are those that these alone make. None means all.
        """
        with self._database.read(snapshot=True) as connection:
            return reading.present(connection, scope, agent, counts)

    def insights(self, scope: str, agent: Agent) -> tuple[InsightRecord, ...]:
        """The same with their record; slower when they were used often."""
        with self._database.read() as connection:
            return reading.insights(connection, scope, agent)

    def usage(self, ids: Collection[str]) -> dict[str, Usage]:
        """How repairs used insights or demonstrations; those that nobody used are there with zeros."""
        with self._database.read() as connection:
            return reading.usage(connection, ids)

    def verdict(
        self,
        scope: str,
        run_id: str,
        verdict: Verdict,
        patch: str | None = None,
        at: datetime | None = None,
        *,
        paths: tuple[str, ...] = (),
        functions: tuple[str, ...] = (),
    ) -> Changed:
        """Say what became of the patch of a repair.

        A rejected one is no success any more: neither recalled nor counted. An edited one is replaced in its
        demonstrations by the human's.

        Args:
            scope: the repository.
            run_id: of the repair.
            verdict: what the human says; the last word counts.
            patch: his own, when it is EDITED.
            at: when he said so; None means now.
            paths: files that his patch touches; empty means those of the replaced one.
            functions: definitions that it touches; the same.

        Raises:
            UsageError: there is no such repair, or no patch where one is needed.
        """
        judged = managing.Judged(run_id, Verdict(verdict), patch, paths, functions)
        with self._writer() as writer:
            return managing.judge(writer, scope, judged, self._config, at or _now())

    def accept(self, scope: str, names: Iterable[str], at: datetime | None = None) -> Changed:
        """Let what is quarantined or forgotten be recalled.

        Args:
            scope: the repository.
            names: demonstrations, lessons, runs or issues; the operations of a whole lesson are applied now, to the
                insights as they are now.
            at: when; None means now.

        Raises:
            UsageError: a name stands for nothing.
        """
        with self._writer() as writer:
            return managing.accept(writer, scope, names, at or _now())

    def forget(
        self, scope: str, names: Iterable[str], erase: bool = False, at: datetime | None = None
    ) -> Changed:
        """Hide entries, or remove their content for good.

        Args:
            scope: the repository.
            names: demonstrations, insights, lessons, runs or issues.
            erase: also from the events and from the pages of the database. This rewrites the file; indexes that were
                derived from the store have to be made again.
            at: when; None means now.

        Raises:
            UsageError: a name stands for nothing.
        """
        with self._writer() as writer:
            act = erasing.erase if erase else managing.forget
            done = act(writer, scope, names, at or _now())
        if erase:
            erasing.scrub(self._database)
        return done

    def revert(self, scope: str, name: str, at: datetime | None = None) -> Changed:
        """Make it as if the lessons of a run, a lesson's key or an issue had never been learned.

        The insights become what all other lessons make of them, each applied in its turn: what a later lesson wrote
        stays, as the rules for operations on a changed or missing insight say; who left to make room is back.

        Raises:
            UsageError: the name stands for nothing.
        """
        with self._writer() as writer:
            return managing.revert(writer, scope, name, at or _now())

    def scopes(self) -> dict[str, int]:
        """Repositories of which something was learned, with the number of their lessons."""
        with self._database.read() as connection:
            return looking.scopes(connection)

    def listing(self, wanted: Filter, offset: int = 0, limit: int = 50) -> Page:
        """Demonstrations that a filter lets through, newest first."""
        with self._database.read() as connection:
            return looking.listing(connection, wanted, offset, limit)

    def lessons(
        self, scope: str | None = None, state: State | None = None, offset: int = 0, limit: int = 50
    ) -> tuple[Held, ...]:
        """Lessons, newest first."""
        with self._database.read() as connection:
            return looking.lessons(connection, scope, state, offset, limit)

    def lesson(self, scope: str, name: str) -> tuple[Held, ...]:
        """Lessons with that key, of that run or of that issue, oldest first."""
        with self._database.read() as connection:
            return looking.lesson(connection, scope, name)

    def log(
        self, scope: str | None = None, name: str | None = None, before: int | None = None, limit: int = 50
    ) -> tuple[LogEntry, ...]:
        """Events, newest first.

        Args:
            scope: of one repository only.
            name: only those about a demonstration, insight, lesson, run or issue.
            before: only older ones than this event, for the next page.
            limit: how many at most.
        """
        with self._database.read() as connection:
            return looking.log(connection, scope, name, before, limit)

    def stats(self, scope: str | None = None) -> Stats:
        """Growth, use and outcomes, of one repository or of all."""
        with self._database.read(snapshot=True) as connection:
            return looking.stats(connection, scope)

    def verify(self) -> tuple[str, ...]:
        """What differs between the tables and the events that they were made of, in words; nothing when all is well."""
        with self._database.read(snapshot=True) as connection:
            return verifying.verify(connection)

    def export(self, scope: str | None = None) -> Iterator[dict[str, Any]]:
        """All that is known, as JSON values, one a line: a header, then the events in order."""
        with self._database.read(snapshot=True) as connection:
            yield from transfer.exported(connection, scope, self.identity)

    def import_(self, lines: Iterable[str], trusted: bool = False) -> Imported:
        """Take in what `export` gave; all of it or, when a line can't be read, nothing. Twice is once.

        Args:
            lines: of JSON.
            trusted: whether it is one's own backup, with all states; else all of it is quarantined here.

        Raises:
            UsageError: a line can't be read.
        """
        with self._writer() as writer:
            return transfer.import_lines(writer, lines, self._config, trusted=trusted)

    @contextlib.contextmanager
    def _writer(self) -> Iterator[Writer]:
        with self._database.write() as connection:
            yield Writer(connection, self._actor)


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a user without a name
        return "unknown"


def _now() -> datetime:
    return datetime.now(UTC)
