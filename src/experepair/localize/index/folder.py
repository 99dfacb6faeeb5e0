"""A folder of segments: what several processes may read and add to at the same time."""

from __future__ import annotations

import hashlib
import os
from array import array
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from experepair.localize.index.segment import Segment, SegmentDamaged, write_segment


def cache_folder() -> Path:
    """Where this user's programs keep what can be made again."""
    given = os.environ.get("XDG_CACHE_HOME", "")
    base = Path(given) if given.startswith("/") else Path.home() / ".cache"
    return base / "experepair" / "localize"


@dataclass
class Batch:
    """Documents on their way into a segment."""

    numbers: dict[str, array[int]]
    texts: dict[str, list[str]]
    postings: dict[str, array[int]] = field(default_factory=dict)

    def note(self, term: str, value: int) -> None:
        """Note a value under a term; values of a term stay in the order of noting."""
        found = self.postings.get(term)
        if found is None:
            found = self.postings[term] = array("Q")
        found.append(value)


class SegmentFolder:
    """The segments of one kind, of one repository.

    Nobody locks: a segment is never changed, two processes that index the same documents each add
    their own, and the reader takes either. If the folder can't be written, a temporary one serves.

    Args:
        base: the cache's folder.
        scope: whose documents they are.
        kind: what they are; a change of their meaning is a new kind.
    """

    def __init__(self, base: Path, scope: str, kind: str) -> None:
        digest = hashlib.sha256(scope.encode("utf-8", "surrogateescape")).hexdigest()[:24]
        self.note = ""
        self._temporary: TemporaryDirectory[str] | None = None
        self.path = base / digest / kind
        try:
            self.path.mkdir(parents=True, exist_ok=True, mode=0o700)
            writable = os.access(self.path, os.W_OK | os.X_OK)
        except OSError:
            writable = False
        if not writable:
            self._use_temporary()
        self.segments = self._open()

    def _use_temporary(self) -> None:
        self.note = f"nothing is kept for the next time: {str(self.path)!r} can't be written"
        self._temporary = TemporaryDirectory(prefix="experepair-")
        self.path = Path(self._temporary.name)

    def _open(self) -> list[Segment]:
        found = []
        for path in sorted(self.path.glob("*.segment")):
            try:
                found.append(Segment(path))
            except SegmentDamaged:
                with suppress(OSError):
                    path.unlink()
            except OSError:
                continue  # another process has just merged it into a new one
        return found

    def add(self, batch: Batch) -> None:
        """Write a batch as a new segment."""
        try:
            written = write_segment(self.path, batch.numbers, batch.texts, batch.postings)
        except OSError:
            if self._temporary is not None:
                raise
            self._use_temporary()
            written = write_segment(self.path, batch.numbers, batch.texts, batch.postings)
        self.segments.append(Segment(written))

    def replace(self, old: Sequence[Segment], batch: Batch) -> None:
        """Write a batch that holds all that `old` held and is wanted, and remove those."""
        self.add(batch)
        added = self.segments[-1].path
        for segment in old:
            if segment.path != added:
                with suppress(OSError):
                    segment.path.unlink()
            self.segments.remove(segment)
