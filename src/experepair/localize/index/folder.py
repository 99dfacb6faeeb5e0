"""A folder of segments: what several processes may read and add to at the same time."""

from __future__ import annotations

import hashlib
import os
import shutil
import time
import weakref
from array import array
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import mkdtemp

from experepair.errors import UsageError
from experepair.localize.index.segment import WRITING, Segment, SegmentDamaged, write_segment

_ABANDONED_S = 3600.0


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
        self._temporary = False
        self.path = base / digest / kind
        try:
            self.path.mkdir(parents=True, exist_ok=True, mode=0o700)
            writable = os.access(self.path, os.W_OK | os.X_OK)
        except OSError:
            writable = False
        if not writable:
            self._use_temporary()
        self._sweep()
        self.segments = self._open()

    def _use_temporary(self) -> None:
        self.note = f"nothing is kept for the next time: {str(self.path)!r} can't be written"
        try:
            self.path = Path(mkdtemp(prefix="experepair-"))
        except OSError as error:
            raise UsageError(f"no temporary folder can be made: {error.strerror}; set TMPDIR") from error
        self._temporary = True
        weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)

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

    def _sweep(self) -> None:
        """Remove what killed processes left half written."""
        for path in self.path.glob(f"{WRITING}*"):
            with suppress(OSError):
                if time.time() - path.stat().st_mtime > _ABANDONED_S:
                    path.unlink()

    def add(self, batch: Batch) -> Path:
        """Write a batch as a new segment, and return its path.

        Raises:
            UsageError: there is no room for it, neither in the cache nor in the temporary folder.
        """
        try:
            written = write_segment(self.path, batch.numbers, batch.texts, batch.postings)
        except OSError as error:
            if self._temporary:
                raise UsageError(
                    f"the index can't be written to {str(self.path)!r}: {error.strerror}; make room there"
                ) from error
            self._use_temporary()
            return self.add(batch)
        try:
            self.segments.append(Segment(written))
        except OSError:  # another process has already merged it into a new one
            self.segments[:] = self._open()
        return written

    def replace(self, old: Sequence[Segment], batch: Batch) -> None:
        """Write a batch that holds all that `old` held and is wanted, and remove those."""
        replaced = list(old)
        added = self.add(batch)
        for segment in replaced:
            if segment.path != added:
                with suppress(OSError):
                    segment.path.unlink()
        self.segments[:] = [each for each in self.segments if each.path == added or each not in replaced]
