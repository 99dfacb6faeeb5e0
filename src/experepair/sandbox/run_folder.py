"""The folder that holds what one process of experepair stages for its sandboxes, and the sweep after dead ones."""

from __future__ import annotations

import fcntl
import os
import secrets
import shutil
import stat
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self

from experepair.errors import UsageError
from experepair.folders import cache_folder


def default_run_root() -> Path:
    """Where run folders live: below the user's cache folder.

    Raises:
        UsageError: the user has no home.
    """
    return cache_folder() / "run"


class RunFolder:
    """A folder that lives as long as the process that holds its lock; use it in a `with` block.

    The lock file stands beside the folder, so that it is there, and locked, before the folder is.
    """

    def __init__(self, root: Path) -> None:
        name = f"{os.getpid()}-{secrets.token_hex(4)}"
        self.path = root / name
        self.lock = root / f"{name}.lock"
        self._fd = -1

    def __enter__(self) -> Self:
        try:
            self.lock.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            while self._fd < 0:
                self._fd = _locked(self.lock)
            self.path.mkdir(mode=0o700)
        except OSError as error:
            self._close()
            raise UsageError(f"can't make the folder {str(self.path)!r}: {error.strerror}") from error
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        remove(self.path)
        self.lock.unlink(missing_ok=True)
        self._close()

    def _close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def sweep(run_root: Path) -> list[Path]:
    """Remove the run folders whose process is gone.

    Returns:
        What was removed.
    """
    removed = []
    for lock in sorted(run_root.glob("*.lock")):
        fd = _locked(lock, create=False)
        if fd < 0:
            continue
        folder = lock.with_suffix("")
        remove(folder)
        lock.unlink(missing_ok=True)
        os.close(fd)
        removed.append(folder)
    return removed


def is_held(lock: Path) -> bool | None:
    """Whether the process of a run folder's lock lives; None when this user can't tell."""
    try:
        lock.parent.stat()
    except FileNotFoundError:
        return False
    except OSError:
        return None
    try:
        fd = _locked(lock, create=False)
    except OSError:
        return None
    if fd < 0:
        return lock.exists()
    os.close(fd)
    return False


def remove(folder: Path) -> None:
    """Remove a folder whatever permissions were set in it; what can't be removed stays for the next sweep."""

    def unlock(retry: Callable[..., object], path: str, _: object) -> None:
        for locked in (Path(path).parent, Path(path)):
            try:
                if not stat.S_ISLNK(locked.lstat().st_mode):
                    locked.chmod(0o700)
            except OSError:
                return
        try:
            if retry is os.unlink or retry is os.rmdir:
                retry(path)
            else:
                shutil.rmtree(path, ignore_errors=True)
        except OSError:
            return

    shutil.rmtree(folder, onerror=unlock)


def _locked(lock: Path, *, create: bool = True) -> int:
    """Open and lock the file without waiting; -1 when another process holds it or has just removed it."""
    try:
        fd = os.open(lock, os.O_RDWR | (os.O_CREAT if create else 0), 0o600)
    except FileNotFoundError:
        if create:
            raise
        return -1
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.fstat(fd).st_nlink:
            return fd
    except BlockingIOError:
        pass
    os.close(fd)
    return -1
