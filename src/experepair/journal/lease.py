"""Who may write a journal in a folder that machines share: one holder at a time, each with a higher number.

The folder of a lease has one file a holder, named by its number (the fencing token), made with O_EXCL. Whoever has the
highest number holds the lease; nothing else has to be atomic. The holder changes its file every beat. Whoever wants the
lease watches that file by his own clock, so clocks need not agree: unchanged for the lease's length, it has expired.
See docs/decisions/0009-leases.md for what this can promise and what it can't.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import platform
import threading
import time
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from pydantic import BaseModel, Field

from experepair.errors import JournalHeld, LeaseLost, OutputError

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


class LeaseConfig(BaseModel, frozen=True, extra="forbid"):
    """How long a holder may be silent."""

    length_s: float = Field(default=30.0, gt=0)
    """Seconds without a sign of life after which another may take over."""
    beats: int = Field(default=6, ge=2)
    """Signs of life in that time."""
    take_over: bool = False
    """Whether a stopped process of this machine is dispossessed too; else it is told of at once, for a person to decide."""


class Stage(StrEnum):
    """How far a holder is; all names have one length, so that its file is overwritten in one small write."""

    CLAIMED = "take"
    """It has the number; an earlier holder may still write into what it has opened."""
    HELD = "held"
    """No earlier holder can reach the journal any more."""
    RELEASED = "free"


@dataclass(frozen=True, slots=True)
class Seen:
    """A holder's file as somebody saw it.

    Attributes:
        content: all of it; another one is a sign of life.
        stage: None when the file is being written for the first time.
        machine: names the machine since its start; "" when unknown.
        holder: for people.
        length_s: of its lease; 0 when unknown.
    """

    content: bytes
    stage: Stage | None = None
    machine: str = ""
    holder: str = "another process"
    length_s: float = 0.0


class Lease:
    """The right to write one journal. Make one with `claim`; `release` it.

    Args:
        folder: of the lease.
        token: number of this holder.
        config: length and beats.
        earlier_may_write: whether an earlier holder could still write into the files that it has opened.
    """

    def __init__(self, folder: Path, token: int, config: LeaseConfig, *, earlier_may_write: bool) -> None:
        self.token = token
        self.earlier_may_write = earlier_may_write
        self._folder, self._config = folder, config
        self._path = folder / str(token)
        self._beat = 0
        self._stage = Stage.CLAIMED
        self._writing = threading.Lock()
        self._ended = threading.Event()
        self._fd = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o644)
        try:
            with contextlib.suppress(OSError):  # where there are no locks, silence alone tells the dead
                fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._write()
        except BaseException:
            os.close(self._fd)
            raise
        self._thread = threading.Thread(target=self._live, name=f"lease {folder.parent.name}", daemon=True)
        self._thread.start()

    @classmethod
    def claim(cls, folder: Path, config: LeaseConfig) -> Lease:
        """Take the lease, if need be after watching a silent holder for its length.

        Args:
            folder: of the lease; made when missing.
            config: of the new holder.

        Raises:
            JournalHeld: somebody lives who has it.
            OutputError: the folder can't be written.
        """
        try:
            folder.mkdir(exist_ok=True)
            while True:
                newest = newest_token(folder)
                may_write = bool(newest) and _await_end(folder, newest, config)
                try:
                    return cls(folder, newest + 1, config, earlier_may_write=may_write)
                except FileExistsError:
                    continue  # another was faster: look at him
        except OSError as error:
            raise OutputError(f"can't make {str(folder)!r}: {error.strerror or error}") from error

    def settle(self) -> None:
        """Say that no earlier holder can reach the journal any more."""
        self._stage = Stage.HELD
        self._write()

    def check(self) -> None:
        """Do nothing while the lease is held.

        Raises:
            LeaseLost: another has taken over.
        """
        if (self._folder / str(self.token + 1)).exists():
            raise LeaseLost(
                f"{str(self._folder.parent)!r} was taken over by {seen(self._folder, self.token + 1).holder}, since "
                f"this process gave no sign of life for {self._config.length_s:g} s; nothing more is written here"
            )

    def release(self) -> None:
        """Let the next holder in at once; a second time does nothing.

        Raises:
            LeaseLost: another has taken over before.
        """
        if self._ended.is_set():
            return
        self._ended.set()
        self._thread.join()
        if self._stage is Stage.HELD:
            self._stage = Stage.RELEASED
            with contextlib.suppress(OSError):  # then silence tells
                self._write()
        os.close(self._fd)
        self.check()

    def _live(self) -> None:
        while not self._ended.wait(self._config.length_s / self._config.beats):
            with contextlib.suppress(OSError):  # the next beat may do
                self._write()

    def _write(self) -> None:
        """Change the file. It is opened anew: closing is what makes a network file system show it to others."""
        with self._writing:
            self._beat += 1
            content = {
                "beat": f"{self._beat:012d}",
                "stage": self._stage,
                "machine": machine(),
                "host": platform.node(),
                "process": os.getpid(),
                "length_s": self._config.length_s,
            }
            fd = os.open(self._path, os.O_WRONLY)
            try:
                os.pwrite(fd, json.dumps(content).encode("ascii"), 0)
            finally:
                os.close(fd)


def newest_token(folder: Path) -> int:
    """The highest number that a holder has taken, 0 when there was none."""
    try:
        return max((int(name) for name in os.listdir(folder) if name.isdecimal()), default=0)  # noqa: PTH208 - names are all that is wanted
    except FileNotFoundError:
        return 0


def seen(folder: Path, token: int) -> Seen:
    """A holder's file as it is now.

    Raises:
        OSError: it can't be read.
    """
    content = (folder / str(token)).read_bytes()
    try:
        data = json.loads(content)
        here = data["machine"] == machine()
        holder = f"process {int(data['process'])}" + ("" if here else f" of {str(data['host'])!r}")
        return Seen(content, Stage(data["stage"]), str(data["machine"]), holder, float(data["length_s"]))
    except (ValueError, KeyError, TypeError):
        return Seen(content)


class Watch:
    """Tells when a holder has been silent for the length of its lease, by the watcher's own clock.

    Args:
        folder: of the lease.
        length_s: of leases that don't tell theirs.
    """

    def __init__(self, folder: Path, length_s: float) -> None:
        self._folder, self._length_s = folder, length_s
        self._last: tuple[int, bytes] | None = None
        self._since = 0.0

    def silent(self, token: int) -> bool:
        """Look once more.

        Returns:
            whether that holder's file has been the same for the length of its lease.

        Raises:
            OSError: the file can't be read.
        """
        now = time.monotonic()
        look = seen(self._folder, token)
        if (token, look.content) != self._last:
            self._last, self._since = (token, look.content), now
        return now - self._since >= (look.length_s or self._length_s)


def _await_end(folder: Path, token: int, config: LeaseConfig) -> bool:
    """Wait until a holder is known to have ended, or to be silent.

    Returns:
        whether it, or one before it, may still write into what it has opened.

    Raises:
        JournalHeld: it lives.
    """
    first = seen(folder, token)
    if first.stage is Stage.RELEASED:
        return False
    if first.machine and first.machine == machine():
        if _is_dead(folder / str(token)):
            return first.stage is not Stage.HELD
        if not config.take_over:
            raise _held(folder, first)
    watch = Watch(folder, config.length_s)
    while not watch.silent(token):
        time.sleep(min(config.length_s, first.length_s or config.length_s) / (4 * config.beats))
        now = seen(folder, token)
        if now.stage is Stage.RELEASED:
            return False
        if first.stage is not None and now.content != first.content:
            raise _held(folder, now)
        first = now
    return True


def _held(folder: Path, look: Seen) -> JournalHeld:
    return JournalHeld(
        f"the journal {str(folder.with_suffix(''))!r} is in use by another experepair ({look.holder}); "
        "wait until it ends, or stop it, then resume"
    )


def _is_dead(path: Path) -> bool:
    """Whether a process of this machine has ended: the kernel has let go of its lock."""
    with path.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            return False
    return True


def machine() -> str:
    """Names this machine since its start; "" where the kernel doesn't tell."""
    try:
        return _BOOT_ID.read_text(encoding="ascii").strip()
    except OSError:
        return ""
