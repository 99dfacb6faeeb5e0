"""The one record of a run: entries are appended, and on the disk before their effect is used."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import TypeVar, cast

from experepair.errors import JournalError, LeaseLost, OutputError
from experepair.journal.distilled import distil, write_journal
from experepair.journal.entries import Entry, Record
from experepair.journal.lease import Lease, LeaseConfig
from experepair.journal.reading import decode, encode, read_journal

__all__ = ["Journal", "Subscriber", "distil", "read_journal", "write_journal"]

Subscriber = Callable[[Entry], None]
E = TypeVar("E", bound=Record)
_LEASE = LeaseConfig()


class Journal:
    """Entries of one run, held by one process at a time by a lease; threads may share it.

    Make one with `create`, `resume` or `in_memory`; close it, or use it in a `with` block.
    """

    def __init__(
        self,
        path: Path | None,
        fd: int | None,
        entries: Sequence[Entry],
        size: int,
        lease: Lease | None = None,
    ) -> None:
        self.path = path
        """The file, or None for a journal in memory."""
        self._fd = fd
        self._lease = lease
        self._entries = list(entries)
        self._size = size
        self._broken: str | None = None
        self._subscribers: list[Subscriber] = []
        self._lock = threading.RLock()

    @classmethod
    def create(cls, path: Path, lease: LeaseConfig = _LEASE) -> Journal:
        """A new journal.

        Args:
            path: of the file.
            lease: how long its writer may be silent.

        Raises:
            JournalError: there is a file already, or another process is about to make it.
            OutputError: it can't be made.
        """
        held = Lease.claim(lease_folder(path), lease)
        try:
            fd = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_EXCL, 0o644)
            held.settle()
        except FileExistsError as error:
            held.release()
            raise JournalError(
                f"the journal {str(path)!r} exists already; resume that run, or choose another folder"
            ) from error
        except OSError as error:
            held.release()
            raise OutputError(f"can't make the journal {str(path)!r}: {error.strerror or error}") from error
        _sync_folder(path.parent)
        return cls(path, fd, (), 0, held)

    @classmethod
    def resume(cls, path: Path, lease: LeaseConfig = _LEASE) -> Journal:
        """Take up a journal where it ended; a last line without its end is cut off.

        Args:
            path: of the file.
            lease: how long its writer may be silent, and whether one that is gets dispossessed.

        Raises:
            JournalError: there is none, another process holds it, it is damaged, or too new.
            OutputError: it can't be written.
        """
        if not path.exists():
            raise JournalError(f"there is no journal {str(path)!r} to resume")
        held = Lease.claim(lease_folder(path), lease)
        try:
            content = path.read_bytes()
            entries, whole = decode(content, path)
            if held.earlier_may_write:
                _write_anew(path, content[:whole])
            elif whole < len(content):
                os.truncate(path, whole)
            fd = os.open(path, os.O_RDWR | os.O_APPEND)
            held.settle()
        except OSError as error:
            held.release()
            raise OutputError(
                f"can't take up the journal {str(path)!r}: {error.strerror or error}"
            ) from error
        except JournalError:
            held.release()
            raise
        return cls(path, fd, entries, whole, held)

    @classmethod
    def in_memory(cls, entries: Sequence[Entry] = ()) -> Journal:
        """A journal that no file keeps, for tests and for callers who need no record."""
        return cls(None, None, entries, 0)

    def append(self, entry: E) -> E:
        """Number and date the entry, put it on the disk, then tell the subscribers.

        Returns:
            The entry as it stands in the journal.

        Raises:
            OutputError: it can't be written; what was there before is unchanged.
            LeaseLost: another process has taken the journal over.
        """
        with self._lock:
            stored = entry.model_copy(
                update={"seq": len(self._entries), "at": datetime.now(UTC).isoformat(timespec="milliseconds")}
            )
            line = cast("Entry", stored)  # Entry is the union of all records
            if self.path is not None:
                self._write(encode(line))
            self._entries.append(line)
            for subscriber in tuple(self._subscribers):
                subscriber(line)
        return stored

    @property
    def entries(self) -> tuple[Entry, ...]:
        """What stands in the journal now."""
        with self._lock:
            return tuple(self._entries)

    def subscribe(self, callback: Subscriber) -> None:
        """Call back with every entry appended from now on, in order, in the thread that appends."""
        with self._lock:
            self._subscribers.append(callback)

    @property
    def fence(self) -> int:
        """Number of the holder: higher than that of every earlier one; 0 when no file keeps the journal."""
        return self._lease.token if self._lease else 0

    def check_held(self) -> None:
        """Do nothing while this process holds the journal.

        Raises:
            LeaseLost: another has taken it over.
        """
        if self._lease:
            self._lease.check()

    def close(self) -> None:
        """Let go of the file; later appends are refused.

        Raises:
            LeaseLost: another process has taken it over before.
        """
        with self._lock:
            if self._fd is not None:
                os.close(self._fd)
                self._fd = None
        if self._lease:
            self._lease.release()

    def __enter__(self) -> Journal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.close()
        except LeaseLost:
            if kind is None or issubclass(kind, Exception):  # an interruption stays one
                raise

    def _write(self, line: bytes) -> None:
        if self._fd is None:
            raise JournalError(f"the journal {str(self.path)!r} is closed")
        self.check_held()
        if self._broken is not None:
            raise OutputError(self._broken)
        try:
            rest = memoryview(line)
            while rest:  # one write, unless the disk takes only a part of it
                rest = rest[os.write(self._fd, rest) :]
            os.fsync(self._fd)
        except OSError as error:
            message = f"can't write the journal {str(self.path)!r}: {error.strerror or error}"
            try:
                os.ftruncate(self._fd, self._size)
            except OSError:
                self._broken = message  # a torn line stands there: nothing may come after it
            raise OutputError(message) from error
        self.check_held()  # what is acknowledged was there before another could begin to read
        self._size += len(line)


def lease_folder(path: Path) -> Path:
    """Where the lease of a journal is."""
    return path.with_name(f"{path.name}.lease")


def _write_anew(path: Path, content: bytes) -> None:
    """Put a copy in the place of a file: what an earlier holder still writes goes into the one that nobody reads."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    with beside.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    beside.replace(path)
    _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    """Make the new file's name last; file systems that can't do it don't need it."""
    with contextlib.suppress(OSError):
        fd = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)
