"""The memory that every variant begins with: recorded once, and given to each as its own."""

from __future__ import annotations

import json
from pathlib import Path
from uuid import uuid4

from experepair.bench.campaign.state import INDEXES, MEMORY, digest
from experepair.errors import OutputError, UsageError
from experepair.memory.store import Store
from experepair.memory.store.database import make_schema
from experepair.steps.report import write_all

SCHEMA = "memory.schema"
"""Holds the name of the schema of a line whose memory is on a server."""
_FORKING = "memory.forking"


def record(source: str, path: Path) -> str:
    """Write all that a memory holds into a file.

    Args:
        source: address of the memory; "" means an empty one.
        path: of the file.

    Returns:
        Digest of the file; "" when there is nothing in it.

    Raises:
        UsageError: there is no such memory.
        OutputError: the file can't be written.
    """
    if not source:
        return ""
    plain = source.removeprefix("sqlite:///")
    if "://" not in plain and not Path(plain).is_file():
        raise UsageError(f"there is no memory {source!r} to start with")
    with Store.open(source) as store:
        lines = "".join(json.dumps(value) + "\n" for value in store.export())
    write_all(path.parent, {path.name: lines})
    return digest(path.read_bytes())


def memory_of(home: Path, store: str) -> str:
    """Address of the memory of a line.

    Args:
        home: folder of the line.
        store: address of the server that keeps the memories, each in a schema of its own; "" means a file.

    Raises:
        UsageError: the server has no memory for this line.
    """
    if not store:
        return str(home / MEMORY)
    try:
        schema = (home / SCHEMA).read_text(encoding="ascii").strip()
    except OSError as error:
        raise UsageError(
            f"the memory of {str(home)!r} isn't on a server; go on with the campaign without one"
        ) from error
    return _in_schema(store, schema)


def fork(start: Path | None, wanted: str, home: Path, store: str = "") -> None:
    """Give a line its own memory, with what the start state holds; one that it has already stays.

    Imported into a new store rather than copied: that has an identity of its own, so nothing that is derived from one
    memory can be taken for another's.

    Args:
        start: what `record` wrote; None means an empty memory.
        wanted: its digest.
        home: folder of the line.
        store: address of the server that keeps the memories; "" means a file.

    Raises:
        UsageError: the start state isn't what was recorded, or the line's memory is kept in the other way.
        MemoryUnavailable: the server can't be reached.
        OutputError: the memory can't be made.
    """
    memory, other = (home / SCHEMA, home / MEMORY) if store else (home / MEMORY, home / SCHEMA)
    if memory.exists():
        return
    if other.exists():
        raise UsageError(
            f"the campaign began with its memory in {str(other)!r}; go on with it in the same way"
        )
    try:
        (home / INDEXES).mkdir(parents=True, exist_ok=True)
        if store:
            name = f"experepair_{uuid4().hex}"  # that of a killed process is used by nobody
            make_schema(store, name)
            with Store.open(_in_schema(store, name)) as made:
                _fill(made, start, wanted)
            write_all(home, {SCHEMA: name + "\n"})
            return
        making = home / _FORKING  # a killed process leaves this, not half a memory
        for name in (_FORKING, f"{_FORKING}-wal", f"{_FORKING}-shm"):
            (home / name).unlink(missing_ok=True)
        with Store.open(str(making)) as made:
            _fill(made, start, wanted)
        making.rename(memory)
    except OSError as error:
        raise OutputError(f"can't make a memory in {str(home)!r}: {error}") from error


def _fill(store: Store, start: Path | None, wanted: str) -> None:
    if start is None:
        return
    content = start.read_bytes()
    if digest(content) != wanted:
        raise UsageError(f"the start state {str(start)!r} is not the one that was recorded")
    store.import_(content.decode().splitlines(), trusted=True)


def _in_schema(store: str, schema: str) -> str:
    return f"{store}{'&' if '?' in store else '?'}options=-csearch_path%3D{schema}"
