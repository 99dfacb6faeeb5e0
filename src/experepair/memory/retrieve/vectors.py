"""Vectors that were paid for once, kept by model and digest of the text."""

from __future__ import annotations

import hashlib
import sqlite3
from array import array
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path

_SCHEMA = (
    "create table if not exists vectors (model text, digest text, vector blob, primary key (model, digest))"
)
_WAIT_S = 30.0
_TOGETHER = 500


def digest_of(text: str) -> str:
    """Names a text in the cache."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


class VectorCache:
    """A file of float32 vectors; what can't be read is dropped, what can't be written is made again next time.

    Args:
        path: of the file; its folder is made.
        model: whose vectors.
    """

    def __init__(self, path: Path, model: str) -> None:
        self._path, self._model = path, model

    def read(self, digests: Sequence[str]) -> dict[str, array[float]]:
        """Those of some vectors that are kept."""
        found: dict[str, array[float]] = {}
        try:
            with closing(self._open()) as file:
                for start in range(0, len(digests), _TOGETHER):
                    asked = digests[start : start + _TOGETHER]
                    marks = ",".join("?" * len(asked))
                    query = f"select digest, vector from vectors where model = ? and digest in ({marks})"  # noqa: S608  (marks only)
                    for digest, blob in file.execute(query, (self._model, *asked)):
                        found[digest] = array("f", blob)
        except (sqlite3.DatabaseError, ValueError, TypeError):
            with suppress(OSError):
                self._path.unlink()
        except OSError:
            pass
        return found

    def keep(self, vectors: Mapping[str, Iterable[float]]) -> None:
        """Add vectors by digest."""
        rows = [(self._model, digest, array("f", vector).tobytes()) for digest, vector in vectors.items()]
        with suppress(OSError, sqlite3.DatabaseError), closing(self._open()) as file, file:
            file.executemany("insert or replace into vectors values (?, ?, ?)", rows)

    def _open(self) -> sqlite3.Connection:
        self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        file = sqlite3.connect(self._path, timeout=_WAIT_S)
        try:
            file.execute(_SCHEMA)
        except sqlite3.DatabaseError:
            file.close()
            raise
        return file
