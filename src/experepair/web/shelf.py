"""What the viewer shows: the runs and campaigns that the user named, and the memory."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from experepair.bench.campaign.state import INDEXES, RUNS
from experepair.errors import ExpeRepairError, UsageError
from experepair.session.out import JOURNAL
from experepair.web.campaign.reading import is_campaign
from experepair.web.run.model import Repair
from experepair.web.run.reading import Repairs

if TYPE_CHECKING:
    from experepair.memory.store import Store

_DEEP = 6
"""How far below a given folder runs and campaigns are looked for."""


class NotThere(ExpeRepairError, LookupError):
    """A page was asked for of something that isn't there."""


@dataclass(frozen=True, slots=True)
class Run:
    """A run's folder, and the name that it has in addresses."""

    name: str
    folder: Path


@dataclass(frozen=True, slots=True)
class Glance:
    """What a list shows of a run without reading its whole journal.

    Attributes:
        run: which.
        title: of the issue.
        status: how it ended; "" while nothing is published.
        usd: its cost, if known.
        at: when its journal was last written, seconds since the epoch.
    """

    run: Run
    title: str
    status: str
    usd: float | None
    calls: int
    at: float


@dataclass
class Shelf:
    """Everything that can be looked at.

    Attributes:
        folders: that the user named.
        open_memory: opens the store; raises when there is none.
        read_only: whether pages offer no changes.
    """

    folders: tuple[Path, ...]
    open_memory: Callable[[], AbstractContextManager[Store]]
    read_only: bool = False
    repairs: Repairs = field(default_factory=Repairs)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _stack: ExitStack = field(default_factory=ExitStack)

    def runs(self) -> tuple[Run, ...]:
        """All runs, each with a name of its own; found anew each time, since new ones begin."""
        named: dict[str, Run] = {}
        for root in self.folders:
            for folder in _below(root, _is_run):
                steps = [step for step in folder.relative_to(root).parts if step != RUNS] or [folder.name]
                stem = "~".join(steps)
                name = _unique(_plain(stem), named)
                named[name] = Run(name, folder)
        return tuple(named.values())

    def campaigns(self) -> dict[str, Path]:
        """Folders of campaigns, each by a name of its own."""
        named: dict[str, Path] = {}
        for root in self.folders:
            for folder in _below(root, is_campaign):
                named[_unique(_plain(folder.name), named)] = folder
        return named

    def campaign(self, name: str) -> Path:
        """The folder of the campaign with that name.

        Raises:
            NotThere: there is none.
        """
        found = self.campaigns().get(name)
        if found is None:
            raise NotThere(f"there is no campaign {name!r} here")
        return found

    def names_of(self, folders: Sequence[Path]) -> dict[Path, str]:
        """The names of the runs in these folders; those without a journal are left out."""
        wanted = set(folders)
        return {run.folder: run.name for run in self.runs() if run.folder in wanted}

    def run(self, name: str) -> Run:
        """The run with that name.

        Raises:
            NotThere: there is none.
        """
        for run in self.runs():
            if run.name == name:
                return run
        raise NotThere(f"there is no run {name!r} here")

    def repair(self, name: str) -> Repair:
        """What the run with that name did until now.

        Raises:
            NotThere: there is none.
            JournalError: it can't be read.
        """
        return self.repairs.read(self.run(name).folder)

    def run_with_id(self, run_id: str) -> str:
        """The name of the run that has this id; "" when it isn't here."""
        return next((run.name for run in self.runs() if _id_of(run.folder / JOURNAL) == run_id), "")

    @cached_property
    def _store(self) -> Store:
        return self._stack.enter_context(self.open_memory())

    def memory(self) -> Store:
        """The store, opened once.

        Raises:
            UsageError: there is none.
            MemoryUnavailable: it can't be opened.
        """
        with self._lock:
            return self._store

    def close(self) -> None:
        """Let go of the store."""
        self._stack.close()


def glance(run: Run) -> Glance:
    """What a list shows of a run."""
    title, status, usd, calls = run.folder.name, "", None, 0
    try:
        at = (run.folder / JOURNAL).stat().st_mtime
    except OSError:
        at = 0.0
    try:
        found = json.loads((run.folder / "result.json").read_bytes())
        title, status = str(found["issue"]["title"]), str(found["status"])
        usd, calls = found["spending"]["total"]["usd"], found["spending"]["total"]["calls"]
    except (OSError, ValueError, KeyError, TypeError):
        title = _title_of(run.folder / JOURNAL) or title
    return Glance(run, title, status, usd, calls, at)


def checked(folders: list[Path]) -> tuple[Path, ...]:
    """Folders that the user named.

    Raises:
        UsageError: one isn't there.
    """
    for folder in folders:
        if not folder.is_dir():
            raise UsageError(
                f"there is no folder {str(folder)!r}; give a run's folder, a campaign's, or one above them"
            )
    return tuple(dict.fromkeys(folder.resolve() for folder in folders))


def _title_of(journal: Path) -> str:
    try:
        with journal.open("rb") as file:
            first = json.loads(file.readline(4_000_000))
        return str(first["issue"]).strip().splitlines()[0]
    except (OSError, ValueError, KeyError, TypeError, IndexError):
        return ""


@lru_cache(maxsize=10_000)
def _id_of(journal: Path) -> str:
    """The id of a run, which never changes."""
    try:
        with journal.open("rb") as file:
            return str(json.loads(file.readline(4_000_000))["run_id"])
    except (OSError, ValueError, KeyError, TypeError):
        return ""


def _below(root: Path, holds: Callable[[Path], bool], deep: int = _DEEP) -> Iterator[Path]:
    """Folders that hold what is looked for; what lies below one isn't looked at any more."""
    if holds(root):
        yield root
        return
    if deep == 0:
        return
    try:
        below = sorted(entry.name for entry in os.scandir(root) if entry.is_dir(follow_symlinks=False))
    except OSError:
        return
    for name in below:
        if not name.startswith(".") and name != INDEXES and not name.endswith(".lease"):
            yield from _below(root / name, holds, deep - 1)


def _is_run(folder: Path) -> bool:
    return (folder / JOURNAL).is_file()


def _plain(text: str) -> str:
    kept = "".join(mark if mark.isascii() and (mark.isalnum() or mark in "-_~.") else "-" for mark in text)
    return kept.strip(".") or "run"


def _unique(stem: str, taken: Mapping[str, object]) -> str:
    name, number = stem, 2
    while name in taken:
        name, number = f"{stem}-{number}", number + 1
    return name
