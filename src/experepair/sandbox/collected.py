"""Takes in the files that a command was to bring back, through a named pipe: it can't fill a disk."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from experepair.sandbox.launcher import COLLECT_LIMIT, read_collected

_CHUNK = 1 << 16


class Collector:
    """Reads the pipe while the command runs; use it in a `with` block, inside an event loop.

    Args:
        pipe: where to make the pipe.
        wanted: paths as the launcher has them.
    """

    def __init__(self, pipe: Path, wanted: Sequence[str]) -> None:
        self.pipe = pipe
        self._wanted = tuple(wanted)
        self._stream = bytearray()
        self._room = len(wanted) * (COLLECT_LIMIT + 64) + 64

    def __enter__(self) -> Self:
        os.mkfifo(self.pipe, 0o600)
        self._fd = os.open(self.pipe, os.O_RDONLY | os.O_NONBLOCK)
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self._fd, self._read)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._loop.remove_reader(self._fd)
        os.close(self._fd)
        self.pipe.unlink(missing_ok=True)

    def files(self) -> dict[str, bytes]:
        """What was collected, once the command is over."""
        while self._read():
            pass
        return read_collected(bytes(self._stream), self._wanted)

    def _read(self) -> bool:
        """Take the next chunk; False at the end, or when nothing is there."""
        try:
            chunk = os.read(self._fd, _CHUNK)
        except BlockingIOError:
            return False
        if not chunk:
            self._loop.remove_reader(self._fd)  # or the end would be reported over and over
            return False
        self._stream += chunk[: max(0, self._room - len(self._stream))]
        return True
