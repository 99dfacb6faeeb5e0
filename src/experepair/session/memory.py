"""Which memory a repair has: opened before anything is paid, and closed at its end."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from experepair.domain.issue import Issue
from experepair.domain.memory import PastRepair
from experepair.errors import UsageError
from experepair.folders import data_folder
from experepair.memory.eligibility import Ancestors, Bounds
from experepair.memory.memory import Memory, NoMemory
from experepair.memory.recall import Recaller, check
from experepair.memory.repository import RepositoryMemory
from experepair.session.settings import Settings
from experepair.workspace.repository import Repository

if TYPE_CHECKING:
    from experepair.memory.store import Store

NONE = "none"
"""In the place of an address: no memory at all."""
_FILE = "memory.db"
_UNBOUND = Bounds()


@dataclass(frozen=True, slots=True)
class OpenMemory:
    """The memory of a repair.

    Attributes:
        memory: itself.
        place: where it is kept, without password; "" for none.
        remembers: whether it is recalled.
        learns: whether it is told of the repair.
    """

    memory: Memory
    place: str
    remembers: bool
    learns: bool


def default_url() -> str:
    """Where memory is kept unless something else is said: a file in the user's data folder.

    Raises:
        UsageError: the user has no home.
    """
    return str(data_folder() / _FILE)


@contextmanager
def open_store(settings: Settings, *, make: bool = True) -> Iterator[Store]:
    """The store that the settings name, for commands about it.

    Args:
        settings: of the user.
        make: whether a store that isn't there yet is made.

    Raises:
        UsageError: memory is switched off, or there is nothing to look at.
        MemoryUnavailable: the store can't be opened.
    """
    if settings.memory == NONE:
        raise UsageError("there is no memory: the settings say memory = 'none'; give one with --memory")
    url = settings.memory or default_url()
    if not make and (missing := _missing(url)):
        raise UsageError(
            f"there is no memory in {missing!r} yet; `experepair fix` and `experepair memory learn` make one"
        )
    from experepair.memory.store import Store

    if not settings.memory:
        data_folder().mkdir(parents=True, exist_ok=True)
    with Store.open(url, settings.learn) as store:
        yield store


def _missing(url: str) -> str:
    """The file of a SQLite store, if it isn't there; "" else."""
    path = url.removeprefix("sqlite:///")
    return path if "://" not in path and not Path(path).exists() else ""


@contextmanager
def open_memory(
    given: Memory | str | None,
    settings: Settings,
    repository: Repository,
    commit: str,
    *,
    bounds: Bounds = _UNBOUND,
    indexes: Path | None = None,
) -> Iterator[OpenMemory]:
    """Open what is recalled and learned.

    Args:
        given: a memory, or the address of one; None leaves it to the settings.
        settings: of the repair.
        repository: whose memory it is.
        commit: under repair; only its ancestors are recalled of what was mined.
        bounds: what must not be recalled beside that.
        indexes: folder for what is derived from the store; None means the user's cache.

    Raises:
        UsageError: the retriever can't work.
        MemoryUnavailable: the store can't be opened.
    """
    recalls, learns = not settings.no_recall, not settings.no_learn
    if given is not None and not isinstance(given, str):
        nothing = type(given) is NoMemory
        yield OpenMemory(given, type(given).__name__, recalls and not nothing, learns and not nothing)
        return
    url = given or settings.memory
    if url == NONE or not (recalls or learns):
        yield OpenMemory(NoMemory(), "", remembers=False, learns=False)
        return
    if recalls:
        check(settings.recall)
    with open_store(settings.model_copy(update={"memory": url})) as store:
        within = bounds
        if settings.recall.mined:
            within = replace(bounds, ancestors=Ancestors(repository.root, commit))
        memory = RepositoryMemory(store, repository.scope, within, settings.recall, repository.root, indexes)
        yield OpenMemory(memory, store.url, recalls, learns)


def past_repairs(
    url: str | None, settings: Settings, repository: Repository, issue: Issue
) -> tuple[PastRepair, ...]:
    """What memory knows of issues like this one; a default memory that isn't there yet is not made for that.

    Raises:
        MemoryUnavailable: the store can't be opened.
    """
    chosen = settings.model_copy(update={"memory": url}) if url else settings
    if chosen.memory == NONE or settings.no_recall or (not chosen.memory and _missing(default_url())):
        return ()
    with open_store(chosen) as store:
        return Recaller(store, repository.scope, Bounds(), settings.recall).past_repairs(issue)
