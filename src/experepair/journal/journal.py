"""The one record of a run: entries are appended, and on the disk before their effect is used."""

from __future__ import annotations

import contextlib
import fcntl
import os
import threading
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar, cast

from experepair.errors import JournalError, OutputError
from experepair.journal.distilled import distil, write_journal
from experepair.journal.entries import Entry, Record
from experepair.journal.reading import decode, encode, read_journal

__all__ = ["Journal", "Subscriber", "distil", "read_journal", "write_journal"]

Subscriber = Callable[[Entry], None]
E = TypeVar("E", bound=Record)


class Journal:
    """Entries of one run, held by one process at a time; threads may share it.

    Make one with `create`, `resume` or `in_memory`; close it, or use it in a `with` block.
    """

    def __init__(self, path: Path | None, fd: int | None, entries: Sequence[Entry], size: int) -> None:
        self.path = path
        """The file, or None for a journal in memory."""
        self._fd = fd
        self._entries = list(entries)
        self._size = size
        self._broken: str | None = None
        self._subscribers: list[Subscriber] = []
        self._lock = threading.RLock()

    @classmethod
    def create(cls, path: Path) -> Journal:
        """A new journal.

        Raises:
            JournalError: there is a file already.
            OutputError: it can't be made.
        """
        try:
            fd = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_EXCL, 0o644)
        except FileExistsError as error:
            raise JournalError(
                f"the journal {str(path)!r} exists already; resume that run, or choose another folder"
            ) from error
        except OSError as error:
            raise OutputError(f"can't make the journal {str(path)!r}: {error.strerror or error}") from error
        _hold(fd, path)
        _sync_folder(path.parent)
        return cls(path, fd, (), 0)

    @classmethod
    def resume(cls, path: Path) -> Journal:
        """Take up a journal where it ended; a last line without its end is cut off.

        Raises:
            JournalError: there is none, another process holds it, it is damaged, or too new.
            OutputError: it can't be written.
        """
        try:
            fd = os.open(path, os.O_RDWR | os.O_APPEND)
        except FileNotFoundError as error:
            raise JournalError(f"there is no journal {str(path)!r} to resume") from error
        except OSError as error:
            raise OutputError(f"can't write the journal {str(path)!r}: {error.strerror or error}") from error
        _hold(fd, path)
        try:
            content = path.read_bytes()
            entries, whole = decode(content, path)
            if whole < len(content):
                os.ftruncate(fd, whole)
        except OSError as error:
            os.close(fd)
            raise OutputError(
                f"can't take up the journal {str(path)!r}: {error.strerror or error}"
            ) from error
        except JournalError:
            os.close(fd)
            raise
        return cls(path, fd, entries, whole)

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

    def close(self) -> None:
        """Let go of the file; later appends are refused."""
        with self._lock:
            if self._fd is not None:
                os.close(self._fd)
                self._fd = None

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def _write(self, line: bytes) -> None:
        if self._fd is None:
            raise JournalError(f"the journal {str(self.path)!r} is closed")
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
        self._size += len(line)


def _hold(fd: int, path: Path) -> None:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        holder = _holder(fd)
        os.close(fd)
        raise JournalError(
            f"the journal {str(path)!r} is in use by another experepair{holder}; "
            "wait until it ends, or stop it, then resume"
        ) from error
    except OSError as error:
        os.close(fd)
        raise OutputError(f"can't lock the journal {str(path)!r}: {error.strerror or error}") from error


def _holder(fd: int) -> str:
    """Who holds the lock, where the kernel tells (Linux)."""
    inode = os.fstat(fd).st_ino
    with contextlib.suppress(OSError):
        for line in Path("/proc/locks").read_text(encoding="ascii").splitlines():
            fields = line.split()
            if fields[1:2] == ["FLOCK"] and fields[5:6] and fields[5].endswith(f":{inode}"):
                return f" (process {fields[4]})"
    return ""


def _sync_folder(folder: Path) -> None:
    """Make the new file's name last; file systems that can't do it don't need it."""
    with contextlib.suppress(OSError):
        fd = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)
