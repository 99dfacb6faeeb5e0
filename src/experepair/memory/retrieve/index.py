"""The derived index: what tantivy holds of one agent's demonstrations, made from the store and mended by itself."""

from __future__ import annotations

import shutil
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkdtemp
from threading import RLock
from typing import TYPE_CHECKING

from experepair.domain.roles import Agent
from experepair.errors import UsageError
from experepair.memory.config import RecallConfig
from experepair.memory.retrieve.document import MARK, document, marker, schema
from experepair.memory.retrieve.lock import locked
from experepair.memory.retrieve.retriever import Changes

if TYPE_CHECKING:
    import tantivy

FORMAT = "bm25-1"
"""Names the folder: a change of what documents hold is a new one."""
_BATCH = 500
"""Changes that are read from the store at once."""
_COMMIT = 50_000
"""Changes after which a long build is made durable."""
_HEAP_BYTES = 15_000_000
"""Of the writer: the least that tantivy takes."""


class IndexDamaged(Exception):
    """Files of the index are missing, truncated or unreadable; it is to be made again."""


@dataclass(frozen=True, slots=True)
class View:
    """The index as it was at an event of the store; later changes don't show in it."""

    index: tantivy.Index
    searcher: tantivy.Searcher
    event: int

    @property
    def size(self) -> int:
        """Demonstrations in it; the marker is not one."""
        return max(0, self.searcher.num_docs - 1)


class DerivedIndex:
    """One folder in the cache: read by any number of processes, written by one at a time.

    Deleted, truncated, unreadable or behind the store, it is made again or caught up before it is read. It
    doesn't notice flipped bits: readers take ids from it, and texts from the store.

    Args:
        folder: of this agent in this repository.
        source: the store.
        scope: the repository.
        agent: whose demonstrations.
        config: `diff_weight` and `lock_wait_s` concern it.
    """

    def __init__(self, folder: Path, source: Changes, scope: str, agent: Agent, config: RecallConfig) -> None:
        self._folder = folder / f"{FORMAT}-{config.diff_weight:g}"
        self._source, self._scope, self._agent, self._config = source, scope, agent, config
        self._view: View | None = None
        self._guard = RLock()
        self._temporary = False
        self.notes: dict[str, None] = {}

    def renew(self, error: IndexDamaged, *, last: bool = False) -> None:
        """Make the index again, since reading it showed that it is damaged.

        Raises:
            UsageError: there is no room for it, or this is the last attempt.
        """
        if last:
            raise UsageError(
                f"the index in {str(self._folder)!r} can't be read: {error}; remove it, or set XDG_CACHE_HOME"
            ) from error
        with self._guard:
            self._view = None
            self._catch_up(renew=True)

    def view(self) -> View:
        """The index, caught up with the store; an older one if another process keeps it locked."""
        with self._guard:
            if self._view is None:
                self._view = self._opened()
            if self._view is None or self._view.event != self._source.head(self._scope, self._agent):
                self._catch_up()
            return self._view or _empty()

    @property
    def _path(self) -> Path:
        return self._folder / "index"

    def _opened(self) -> View | None:
        """The index on the disk; None when there is none that can be read."""
        import tantivy

        if not (self._path / "meta.json").is_file():
            return None
        try:
            with damage():
                return view_of(tantivy.Index.open(str(self._path)))
        except IndexDamaged:
            return None

    def _catch_up(self, *, renew: bool = False) -> None:
        try:
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            with locked(self._folder / "lock", self._config.lock_wait_s) as held:
                if held:
                    self._write(renew=renew)
                else:
                    waited = f"{self._config.lock_wait_s:g} s"
                    self._note(f"the index is behind: another process kept it locked for {waited}")
        except OSError as error:
            if self._temporary:
                raise UsageError(
                    f"the index can't be written to {str(self._folder)!r}: {error.strerror or error}; "
                    "make room there, or set XDG_CACHE_HOME"
                ) from error
            self._use_temporary(error)
            self._catch_up(renew=True)

    def _write(self, *, renew: bool) -> None:
        """Bring the index up to date; its lock is held."""
        import tantivy

        view = None if renew else self._opened()
        head = self._source.head(self._scope, self._agent)
        if view is not None and view.event > head:
            view = None  # the store is an older one than this was made from
        if view is None:
            if self._path.exists():
                self._note("the index was made again")
                shutil.rmtree(self._path)
            self._path.mkdir()
            index = tantivy.Index(schema(), str(self._path))
        else:
            index = view.index
        if view is None or view.event < head:
            with _damage_is_no_room():
                self._add(index, view.event if view else 0, head, fresh=view is None)
            view = view_of(index)
        self._view = view

    def _add(self, index: tantivy.Index, after: int, head: int, *, fresh: bool) -> None:
        """Write all changes after an event, in order, and how far they go, in one step or a few."""
        writer = index.writer(_HEAP_BYTES, 1)
        known: set[str] = set()
        pending = 0
        while changes := self._source.changes(self._scope, self._agent, after, _BATCH):
            for change in changes:
                if not fresh or change.id in known:
                    writer.delete_documents_by_term("id", change.id)
                known.add(change.id)
                if change.demonstration is not None:
                    writer.add_document(document(change.demonstration, self._config.diff_weight))
            after = changes[-1].event
            pending += len(changes)
            if pending >= _COMMIT:
                _commit(writer, after)
                pending = 0
        _commit(writer, max(after, head))
        writer.wait_merging_threads()

    def _use_temporary(self, error: OSError) -> None:
        self._note(f"no index is kept: {str(self._folder)!r} can't be written ({error.strerror or error})")
        try:
            self._folder = Path(mkdtemp(prefix="experepair-"))
        except OSError as second:
            raise UsageError(f"no temporary folder can be made: {second.strerror}; set TMPDIR") from second
        self._temporary = True
        weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)

    def _note(self, text: str) -> None:
        self.notes[text] = None


def _commit(writer: tantivy.IndexWriter, event: int) -> None:
    writer.delete_documents_by_term("mark", MARK)
    writer.add_document(marker(event))
    writer.commit()


def view_of(index: tantivy.Index) -> View:
    """The index as it is now."""
    import tantivy

    index.config_reader("manual")  # otherwise a thread watches the folder
    index.reload()
    searcher = index.searcher()
    found = searcher.search(tantivy.Query.term_query(index.schema, "mark", MARK), 1, count=False).hits
    event = searcher.doc(found[0][1]).get_first("event") if found else 0
    return View(index, searcher, int(event or 0))


def _empty() -> View:
    import tantivy

    return view_of(tantivy.Index(schema()))


@contextmanager
def damage() -> Iterator[None]:
    """Whatever tantivy says about files that it can't read, panics of its Rust code included, as one error."""
    try:
        yield
    except BaseException as error:
        if isinstance(error, ValueError | OSError) or type(error).__name__ == "PanicException":
            raise IndexDamaged(str(error)) from error
        raise


@contextmanager
def _damage_is_no_room() -> Iterator[None]:
    """A full disk, and a busy lock of tantivy's own, come as a ValueError; here as an OSError."""
    try:
        yield
    except ValueError as error:
        raise OSError(str(error)) from error
