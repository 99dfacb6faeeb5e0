"""Read a run's folder; what hasn't changed since is not read again."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from pathlib import Path

from experepair.errors import JournalError
from experepair.journal.entries import RunEnded
from experepair.journal.journal import lease_folder, read_journal
from experepair.journal.lease import Stage, machine, newest_token, seen
from experepair.session.out import JOURNAL
from experepair.steps.report import RESULT
from experepair.steps.result import Result
from experepair.web.run.assembling import assembled
from experepair.web.run.model import Repair

_KEPT = 8
"""Repairs that are kept in memory: a reader has few open at a time."""

Stamp = tuple[tuple[int, int], tuple[int, int], bool]


class Repairs:
    """Repairs by folder; threads may share it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[Path, tuple[Stamp, Repair]] = OrderedDict()

    def read(self, folder: Path) -> Repair:
        """The repair in a folder as it is now.

        Raises:
            JournalError: there is none, or its journal is damaged.
        """
        stamp = (_stamp(folder / JOURNAL), _stamp(folder / RESULT), _written(folder / JOURNAL))
        with self._lock:
            known = self._kept.get(folder)
            if known and known[0] == stamp:
                self._kept.move_to_end(folder)
                return known[1]
        journal = read_journal(folder / JOURNAL)
        if not journal:
            raise JournalError(f"the journal in {str(folder)!r} is empty; the run hasn't begun")
        over = isinstance(journal[-1], RunEnded) or any(isinstance(one, RunEnded) for one in journal)
        repair = assembled(journal, _result(folder) if over else None, live=stamp[2])
        with self._lock:
            self._kept[folder] = (stamp, repair)
            self._kept.move_to_end(folder)
            while len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
        return repair


def _stamp(path: Path) -> tuple[int, int]:
    try:
        found = path.stat()
    except OSError:
        return (0, 0)
    return (found.st_mtime_ns, found.st_size)


def _result(folder: Path) -> Result | None:
    """The published result; None when there is none that this version can read."""
    try:
        return Result.model_validate_json((folder / RESULT).read_bytes())
    except (OSError, ValueError):
        return None


def _written(journal: Path) -> bool:
    """Whether a process writes the journal; one of another machine does while it gives signs of life."""
    folder = lease_folder(journal)
    token = newest_token(folder)
    if not token:
        return held(journal)
    try:
        look, beaten = seen(folder, token), (folder / str(token)).stat().st_mtime
    except OSError:
        return False
    if look.stage is Stage.RELEASED:
        return False
    if look.machine == machine():
        return held(folder / str(token))
    return time.time() - beaten < look.length_s


def held(path: Path) -> bool:
    """Whether a process of this machine has locked a file, as the kernel tells (Linux); asking by a lock could stop a resume."""
    try:
        found = path.stat()
        locks = Path("/proc/locks").read_text(encoding="ascii")
    except OSError:
        return False
    ending = f":{found.st_ino}"
    for line in locks.splitlines():
        fields = line.split()
        if fields[1:2] == ["FLOCK"] and fields[5:6] and fields[5].endswith(ending):
            return True
    return False
