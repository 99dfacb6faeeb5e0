"""What is kept of a stream of any length: its head and its tail."""

from __future__ import annotations

from collections import deque


class HeadTail:
    """Takes a stream in chunks and keeps its two ends, in memory that doesn't grow with the stream.

    Args:
        size: bytes that are kept in all; one half head, one half tail.
    """

    def __init__(self, size: int) -> None:
        self._head_size = size // 2
        self._tail_size = size - self._head_size
        self._head = bytearray()
        self._tail: deque[bytes] = deque()
        self._tail_length = 0
        self._dropped = 0

    def feed(self, chunk: bytes) -> None:
        """Take the next chunk."""
        room = self._head_size - len(self._head)
        if room > 0:
            self._head += chunk[:room]
            chunk = chunk[room:]
        if not chunk:
            return
        self._tail.append(chunk)
        self._tail_length += len(chunk)
        while self._tail_length - len(self._tail[0]) >= self._tail_size:
            gone = self._tail.popleft()
            self._tail_length -= len(gone)
            self._dropped += len(gone)

    def text(self) -> str:
        """The stream as text; where something was left out, a line of its own says how much."""
        tail = b"".join(self._tail)
        excess = max(0, len(tail) - self._tail_size)
        dropped = self._dropped + excess
        if not dropped:
            return (bytes(self._head) + tail).decode(errors="replace")
        head = bytes(self._head).decode(errors="replace")
        return f"{head}\n[... {dropped} bytes left out ...]\n{tail[excess:].decode(errors='replace')}"
