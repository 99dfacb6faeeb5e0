"""A command for a sandbox, and how it ended."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType

Changes = Mapping[str, bytes | None]
"""New content by path below the tree (POSIX, relative); None removes the file."""

NO_CHANGES: Changes = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Command:
    """What to run in a private copy of the tree.

    Attributes:
        argv: program and arguments; "{python}" stands for the target's interpreter.
        env: variables beside those of the sandbox's allow-list.
        stdin: what the command reads.
        cwd: working directory below the tree, POSIX, relative.
        collect: paths below the tree whose content is brought back in `Completed.files`.
    """

    argv: tuple[str, ...]
    env: tuple[tuple[str, str], ...] = ()
    stdin: bytes = b""
    cwd: str = "."
    collect: tuple[str, ...] = ()


class Ended(StrEnum):
    """Why a command is over."""

    EXITED = "exited"
    TIMED_OUT = "timed out"
    KILLED = "killed"


@dataclass(frozen=True, slots=True)
class Completed:
    """How a command ended. A non-zero exit is a result, not an error.

    Attributes:
        exit_code: as a shell counts it (128 + signal for a signal); None when the time was up.
        stdout: head and tail, decoded with replacement, with a line that says what was left out.
        stderr: the same.
        duration_s: wall time in seconds.
        ended: why it is over.
        files: content of the paths in `Command.collect` that were there.
    """

    exit_code: int | None
    stdout: str
    stderr: str
    duration_s: float
    ended: Ended = Ended.EXITED
    files: Mapping[str, bytes] = field(default_factory=dict)
