"""The memory that every variant begins with: recorded once, and given to each as its own."""

from __future__ import annotations

import json
from pathlib import Path

from experepair.bench.campaign.state import INDEXES, MEMORY, digest
from experepair.errors import OutputError, UsageError
from experepair.memory.store import Store
from experepair.steps.report import write_all

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


def fork(start: Path | None, wanted: str, home: Path) -> None:
    """Give a line its own memory, with what the start state holds; one that it has already stays.

    Imported into a new store rather than copied: that has an identity of its own, so nothing that is derived from one
    memory can be taken for another's.

    Args:
        start: what `record` wrote; None means an empty memory.
        wanted: its digest.
        home: folder of the line.

    Raises:
        UsageError: the start state isn't what was recorded.
        OutputError: the memory can't be made.
    """
    memory = home / MEMORY
    if memory.exists():
        return
    try:
        (home / INDEXES).mkdir(parents=True, exist_ok=True)
        making = home / _FORKING  # a killed process leaves this, not half a memory
        for name in (_FORKING, f"{_FORKING}-wal", f"{_FORKING}-shm"):
            (home / name).unlink(missing_ok=True)
        with Store.open(str(making)) as store:
            if start is not None:
                content = start.read_bytes()
                if digest(content) != wanted:
                    raise UsageError(f"the start state {str(start)!r} is not the one that was recorded")
                store.import_(content.decode().splitlines(), trusted=True)
        making.rename(memory)
    except OSError as error:
        raise OutputError(f"can't make a memory in {str(home)!r}: {error}") from error
