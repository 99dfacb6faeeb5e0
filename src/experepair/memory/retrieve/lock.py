"""One writer at a time among processes, waited for with a deadline."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_PAUSE_S = 0.02


@contextmanager
def locked(path: Path, wait_s: float) -> Iterator[bool]:
    """Hold a lock file; False when another process held it to the deadline. The kernel frees it when a process dies.

    Raises:
        OSError: the file can't be made.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        deadline = time.monotonic() + wait_s
        while not (held := _taken(descriptor)) and time.monotonic() < deadline:
            time.sleep(_PAUSE_S)
        yield held
    finally:
        os.close(descriptor)


def _taken(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
