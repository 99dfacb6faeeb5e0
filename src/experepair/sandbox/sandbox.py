"""The port to isolated execution, and its fake."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from pydantic import BaseModel

from experepair.domain.command import NO_CHANGES, Changes, Command, Completed
from experepair.sandbox.interpreter import Interpreter


class Limits(BaseModel, frozen=True, extra="forbid"):
    """What one execution may use; each limit holds for each execution by itself."""

    time_s: float = 120.0
    """Wall time in seconds."""
    processes: int = 256
    """Processes and threads at once."""
    disk_mb: int = 1024
    """What may be written to the tree and to the private /tmp, in MiB."""
    memory_mb: int = 4096
    """Address space of each process in MiB; 0 means no limit."""
    total_memory_mb: int = 4096
    """Memory of all processes together in MiB, beside what `disk_mb` allows; 0 means no limit."""
    cpus: float = 0.0
    """Processors at once, held where there is a cgroup; 0 means no limit."""
    output_kb: int = 128
    """How much of stdout, and as much of stderr, is kept in KiB: one half head, one half tail."""


@dataclass(frozen=True, slots=True)
class Isolation:
    """What stands behind a sandbox, for the result and for doctor.

    Attributes:
        backend: "bubblewrap", "docker", "podman" or "none".
        tree: how each execution gets its private copy.
        notes: where it is weaker than it could be, and why.
        memory: what holds the memory of the whole sandbox.
        image: id of the image that commands run in; "" without one.
    """

    backend: str
    tree: str
    notes: tuple[str, ...] = ()
    memory: str = ""
    image: str = ""

    @property
    def summary(self) -> str:
        """For the result."""
        return f"{self.backend} ({self.tree}; memory by {self.memory})"


class Sandbox(Protocol):
    """One tree in which commands may run, each on a private, writable copy of its own."""

    async def run(
        self, command: Command, changes: Changes = NO_CHANGES, *, limits: Limits | None = None
    ) -> Completed:
        """Run to completion on a private copy with `changes` laid over; what it writes is thrown away.

        Several may run at once. A time limit, a kill or a non-zero exit is a result, not an error.
        """
        ...


class IsolatedSandbox(Sandbox, Protocol):
    """A sandbox that says what isolates it."""

    @property
    def isolation(self) -> Isolation:
        """As it was proved when the sandbox was opened."""
        ...

    @property
    def place(self) -> str:
        """Where commands see the tree."""
        ...

    @property
    def interpreter(self) -> Interpreter:
        """What "{python}" stands for."""
        ...


class ScriptedSandbox:
    """Answers from a table, or by a function, and remembers what it was asked."""

    def __init__(
        self, replies: Mapping[Command, Completed] | Callable[[Command, Changes], Completed]
    ) -> None:
        self._replies = replies
        self.ran: list[tuple[Command, Changes]] = []

    async def run(
        self, command: Command, changes: Changes = NO_CHANGES, *, limits: Limits | None = None
    ) -> Completed:
        """Answer as scripted."""
        del limits
        self.ran.append((command, changes))
        if callable(self._replies):
            return self._replies(command, changes)
        return self._replies[command]
