"""The store: everything that is remembered, in one SQL database."""

from __future__ import annotations

import getpass
from collections.abc import Collection, Iterable, Sequence
from itertools import islice
from types import TracebackType

from experepair.domain.memory import Insight
from experepair.domain.roles import Agent
from experepair.memory.config import LearnConfig
from experepair.memory.lesson import Learned, Lesson
from experepair.memory.store import learning, reading
from experepair.memory.store.database import Database, parsed
from experepair.memory.store.events import Writer, scope_id
from experepair.memory.store.records import Change, InsightRecord, Stored, Usage

_BATCH = 500
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
        """
        with self._database.write() as connection:
            return learning.learn(Writer(connection, self._actor), [lesson], self._config)[0]

    def learn_many(self, lessons: Iterable[Lesson]) -> int:
        """Learn lessons in batches.

        Returns:
            how many were new.
        """
        new = 0
        stream = iter(lessons)
        while batch := list(islice(stream, _BATCH)):
            with self._database.write() as connection:
                learned = learning.learn(Writer(connection, self._actor), batch, self._config)
            new += sum(one.new for one in learned)
        return new

    def knows(self, scope: str, keys: Collection[str]) -> set[str]:
        """Which of these lessons were learned of a repository, whatever became of them."""
        with self._database.read() as connection:
            number = scope_id(connection, scope)
            return set() if number is None else learning.known_keys(connection, number, keys)

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

    def present(self, scope: str, agent: Agent) -> tuple[Insight, ...]:
        """All insights of an agent, numbered from 1, as prompts show them."""
        with self._database.read() as connection:
            return reading.present(connection, scope, agent)

    def insights(self, scope: str, agent: Agent) -> tuple[InsightRecord, ...]:
        """The same with their record; slower when they were used often."""
        with self._database.read() as connection:
            return reading.insights(connection, scope, agent)

    def usage(self, ids: Collection[str]) -> dict[str, Usage]:
        """How repairs used insights or demonstrations; those that nobody used are there with zeros."""
        with self._database.read() as connection:
            return reading.usage(connection, ids)


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a user without a name
        return "unknown"
