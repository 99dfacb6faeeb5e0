"""What holds the memory of a whole sandbox: a control group where one can be made, else a watchdog."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Protocol

from experepair.sandbox.cgroup import Group, Parents, find_parents, sweep_groups
from experepair.sandbox.process import SetupFailed, Watch
from experepair.sandbox.sandbox import Limits
from experepair.sandbox.watchdog import memory_exceeded


class Fenced(Protocol):
    """One execution's fence."""

    prefix: list[str]
    """What its command line begins with."""
    watch: Watch | None
    """What ends it from outside."""

    def note(self) -> str:
        """What the fence did to it, in words; "" for nothing."""
        ...


class Fence(Protocol):
    """A way of fencing executions in."""

    name: str
    """For `Isolation.memory`."""
    notes: tuple[str, ...]
    """Where it is weaker than it could be."""
    holds_processes: bool
    """Whether it holds the limit on processes too."""

    def around(
        self, limits: Limits, *, memory_mb: int, processes: int
    ) -> AbstractAsyncContextManager[Fenced]:
        """The fence of one execution.

        Args:
            limits: of the command.
            memory_mb: what all of it may use in MiB, set-up included; 0 means no limit.
            processes: the limit, with those that set up.
        """
        ...


class _Grouped:
    watch: Watch | None = None

    def __init__(self, group: Group, memory_mb: int) -> None:
        self.prefix = group.prefix
        self._group, self._memory_mb = group, memory_mb

    def note(self) -> str:
        if killed := self._group.killed():
            return f"[the memory limit of {self._memory_mb} MiB for the whole sandbox ended {killed} processes]\n"
        return ""


class CgroupFence:
    """A control group around each execution."""

    notes: tuple[str, ...] = ()
    holds_processes = True

    def __init__(self, parents: Parents) -> None:
        self.name = f"cgroup v{parents.version}"
        self._parents = parents

    @asynccontextmanager
    async def around(self, limits: Limits, *, memory_mb: int, processes: int) -> AsyncIterator[Fenced]:
        """The group lives as long as the block; whatever is in it dies at the end."""
        try:
            group = Group(self._parents, limits, memory_mb=memory_mb, processes=processes)
        except (OSError, KeyError) as error:
            raise SetupFailed(f"no control group can be made any more: {error}") from error
        try:
            yield _Grouped(group, memory_mb)
        finally:
            await group.remove()


class _Watched:
    def __init__(self, memory_mb: int) -> None:
        self.prefix: list[str] = []
        self.watch: Watch | None = (lambda pid: memory_exceeded(pid, memory_mb)) if memory_mb else None

    def note(self) -> str:
        return ""


class WatchdogFence:
    """Adds up the memory again and again, and ends what uses too much."""

    name = "watchdog"
    notes: tuple[str, ...] = (
        "no cgroup can be made here: the sum of the memory of a sandbox is looked at several times a second",
    )
    holds_processes = False

    @asynccontextmanager
    async def around(self, limits: Limits, *, memory_mb: int, processes: int) -> AsyncIterator[Fenced]:
        """Nothing is made that had to be removed."""
        del limits, processes
        yield _Watched(memory_mb)


@functools.cache
def _parents() -> Parents | None:
    return find_parents()


def find_fence() -> Fence:
    """The best fence that this process can make."""
    parents = _parents()
    return CgroupFence(parents) if parents else WatchdogFence()


def sweep_fences() -> list[Path]:
    """Remove what fences of dead processes left.

    Returns:
        What was removed.
    """
    with contextlib.suppress(OSError):
        if parents := _parents():
            return sweep_groups(parents)
    return []
