"""Whether a derived index holds what the store does: it notices by itself when it is missing or behind, not flipped bits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from experepair.domain.memory import Demonstration
from experepair.domain.roles import Agent
from experepair.memory.config import RecallConfig
from experepair.memory.retrieve.document import entry_in
from experepair.memory.retrieve.folder import agent_folder
from experepair.memory.retrieve.index import FORMAT, IndexDamaged, View, damage, view_of
from experepair.memory.retrieve.retriever import Change, Changes, Entry, entry_of
from experepair.memory.retrieve.terms import failure_terms, issue_terms

if TYPE_CHECKING:
    import tantivy

_BATCH = 1000
_TOLD = 20
"""Differences of one index that are named."""


class Identified(Changes, Protocol):
    """The store, and its name."""

    @property
    def identity(self) -> str:
        """Names this store among all."""
        ...


def verify_index(
    store: Identified, scope: str, agent: Agent, config: RecallConfig, root: Path | None = None
) -> tuple[str, ...]:
    """What differs between an index and the store, in words; nothing when all is well, or when there is no index yet.

    The index is read as it lies there: it is neither caught up nor mended. What the store changed since counts as no
    difference.
    """
    folder = agent_folder(store.identity, scope, agent, root) / f"{FORMAT}-{config.diff_weight:g}" / "index"
    if not (folder / "meta.json").is_file():
        return ()
    where = f"the index of the {agent} agent of {scope!r}"
    try:
        with damage():
            found = list(_differences(_opened(folder), _changes(store, scope, agent), config))
    except IndexDamaged as error:
        return (f"{where} can't be read ({error}); the next recall makes it again",)
    more = [f"and {len(found) - _TOLD} more differences"] if len(found) > _TOLD else []
    mend = [f"remove {str(folder.parent)!r}: the next recall makes it again"] if found else []
    return tuple(f"{where}: {each}" for each in (*found[:_TOLD], *more, *mend))


def _opened(folder: Path) -> View:
    import tantivy

    return view_of(tantivy.Index.open(str(folder)))


def _changes(store: Changes, scope: str, agent: Agent) -> Iterator[Change]:
    after = 0
    while changes := store.changes(scope, agent, after, _BATCH):
        yield from changes
        after = changes[-1].event


def _differences(view: View, changes: Iterator[Change], config: RecallConfig) -> Iterator[str]:
    held = {entry.id: entry for entry in _entries(view)}
    having: dict[str, Counter[str]] = {"issue": Counter(), "failure": Counter()}
    for change in changes:
        entry = held.pop(change.id, None)
        if change.event > view.event:
            continue
        known = change.demonstration
        if known is None and entry is not None:
            yield f"it holds {change.id}, which is not to be recalled"
        elif known is not None and entry is None:
            yield f"it lacks {change.id}"
        elif known is not None and entry != entry_of(known):
            yield f"it says other things of {change.id} than the store"
        if known is not None:
            _count(known, having, config)
    for name in held:
        yield f"it holds {name}, which the store doesn't know"
    for bag, terms in having.items():
        if lacking := [term for term, times in terms.items() if view.searcher.doc_freq(bag, term) < times]:
            yield f"{len(lacking)} of {len(terms)} terms of {bag}s don't lead to all that have them"


def _count(known: Demonstration, having: dict[str, Counter[str]], config: RecallConfig) -> None:
    having["issue"].update(issue_terms(known, config.diff_weight).keys())
    if known.failure is not None:
        having["failure"].update(failure_terms(known.failure, config.diff_weight).keys())


def _entries(view: View) -> Iterator[Entry]:
    from tantivy import Query

    searcher: tantivy.Searcher = view.searcher
    everything = searcher.search(Query.all_query(), max(1, searcher.num_docs), count=False).hits
    for _, address in everything:
        found = searcher.doc(address)
        if found.get_first("entry"):
            yield entry_in(found)
