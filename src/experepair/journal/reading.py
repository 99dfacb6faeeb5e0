"""Read a journal: lines to entries, and every kind of damage named."""

from __future__ import annotations

import json
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from experepair.errors import JournalError
from experepair.journal.entries import FORMAT, Entry

_ENTRY: TypeAdapter[Entry] = TypeAdapter(Entry)


def read_journal(path: Path) -> tuple[Entry, ...]:
    """All entries of a journal, without a lock: another process may be writing it.

    A last line without its end is left out: it is being written, or its writer was killed.

    Raises:
        JournalError: there is none, it is damaged, or it was written by a newer experepair.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise JournalError(f"can't read the journal {str(path)!r}: {error.strerror or error}") from error
    return decode(content, path)[0]


def decode(content: bytes, path: Path) -> tuple[tuple[Entry, ...], int]:
    """Entries of a journal's content, and how many of its bytes are whole lines.

    Raises:
        JournalError: as `read_journal`; `path` only names the journal.
    """
    whole = content.rfind(b"\n") + 1
    lines = content[:whole].split(b"\n")[:-1]
    return tuple(_entry(line, number, path) for number, line in enumerate(lines)), whole


def encode(entry: Entry) -> bytes:
    """One line. Pure ASCII, so that nothing a model wrote can act on a terminal that shows it."""
    return json.dumps(entry.model_dump(mode="json"), separators=(",", ":")).encode("ascii") + b"\n"


def _entry(line: bytes, number: int, path: Path) -> Entry:
    where = f"line {number + 1} of the journal {str(path)!r}"
    try:
        data = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise JournalError(f"{where} is damaged: {error}; restore the file or start a new run") from error
    if number == 0:
        _check_version(data, path)
    try:
        entry = _ENTRY.validate_python(data)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(str(step) for step in first["loc"]) or "entry"
        raise JournalError(f"{where} is no journal entry: {place}: {first['msg']}") from error
    if entry.seq != number:
        raise JournalError(f"{where} has number {entry.seq} instead of {number}: lines were lost or moved")
    return entry


def _check_version(data: object, path: Path) -> None:
    version = data.get("version") if isinstance(data, dict) else None
    if isinstance(version, int) and version > FORMAT:
        raise JournalError(
            f"the journal {str(path)!r} has format {version}, this experepair reads up to {FORMAT}; "
            "install a newer experepair"
        )
