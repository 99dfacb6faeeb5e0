"""A journal small and clean enough to be committed, from which a run can still be replayed."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

from experepair.errors import OutputError
from experepair.journal.entries import (
    Applied,
    Consulted,
    Decided,
    Entry,
    Executed,
    Intent,
    Learned,
    PastRepairs,
    Recalled,
    RunStarted,
    SentPart,
    Tried,
)
from experepair.journal.reading import encode

_LEFT_OUT = Executed | Decided | Tried | Recalled | Applied | PastRepairs | Consulted | Learned
"""What a replay makes again by itself."""


def distil(entries: Iterable[Entry]) -> tuple[Entry, ...]:
    """A copy that keeps replies, usage and hashes.

    Prompts are reduced to role, key and digests; executions, decisions, trials and what concerns memory are left
    out; of the start only what doesn't tell about the machine is kept.
    """
    kept = (_bare(entry) for entry in entries if not isinstance(entry, _LEFT_OUT))
    return tuple(entry.model_copy(update={"seq": seq}) for seq, entry in enumerate(kept))


def write_journal(path: Path, entries: Iterable[Entry]) -> None:
    """Write entries as they are, all or nothing; an existing file is replaced.

    Raises:
        OutputError: the file can't be written; what was there before is unchanged.
    """
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with beside.open("wb") as file:
            file.writelines(encode(entry) for entry in entries)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise OutputError(f"can't write {str(path)!r}: {error.strerror or error}") from error


def _bare(entry: Entry) -> Entry:
    if isinstance(entry, RunStarted):
        return entry.model_copy(update={"repository": PurePosixPath(entry.repository).name, "settings": {}})
    if isinstance(entry, Intent):
        return entry.model_copy(
            update={"system": _digest(entry.system), "parts": tuple(_digest(part) for part in entry.parts)}
        )
    return entry


def _digest(part: SentPart) -> SentPart:
    return part.model_copy(update={"text": None})
