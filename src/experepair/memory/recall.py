"""Recall: all insights of an agent, and those demonstrations like its query that a repair may see."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from threading import RLock
from typing import Protocol

from experepair.domain.issue import Issue
from experepair.domain.memory import Demonstration, Insight, Origin, PastRepair, Query, Recalled
from experepair.domain.roles import Agent
from experepair.memory.config import RecallConfig, RetrieverKind
from experepair.memory.eligibility import Bounds, Shingles
from experepair.memory.retrieve.bm25 import Bm25
from experepair.memory.retrieve.embedder import Embedder, OpenAIEmbedder
from experepair.memory.retrieve.embedding import Embedding, load_numpy
from experepair.memory.retrieve.folder import agent_folder, scope_folder
from experepair.memory.retrieve.hybrid import Hybrid
from experepair.memory.retrieve.index import DerivedIndex
from experepair.memory.retrieve.paper import Paper
from experepair.memory.retrieve.retriever import Changes, Retriever
from experepair.memory.retrieve.vectors import VectorCache
from experepair.memory.selection import Selection, Stored

_LOOKED_AT = 20_000
"""Relevant hits that are looked at before recall gives up on finding more that may be seen."""


class RecallStore(Changes, Protocol):
    """What recall reads of the store."""

    @property
    def identity(self) -> str:
        """Names this store, and no copy of its schema elsewhere."""
        ...

    def present(
        self, scope: str, agent: Agent, counts: Callable[[Issue], bool] | None = None
    ) -> tuple[Insight, ...]:
        """All present insights, numbered; those that the lessons of some issues alone make."""
        ...

    def demonstrations(self, ids: Sequence[str]) -> Mapping[str, Stored]:
        """Those of some demonstrations that are in the store."""
        ...


class Recaller:
    """Reads the two memories of one repository for one repair. It never writes to the store, only to its index.

    Safe to use from several threads; opening one costs nothing until the first recall.

    Args:
        store: of record.
        scope: the repository.
        bounds: what the repair must not see.
        config: how it is found.
        index_root: where derived indexes are; None means the user's cache.
        embedder: for the retrievers that need one; made from the settings when None.
    """

    def __init__(
        self,
        store: RecallStore,
        scope: str,
        bounds: Bounds,
        config: RecallConfig,
        index_root: Path | None = None,
        embedder: Embedder | None = None,
    ) -> None:
        self._store, self._scope, self._bounds, self._config = store, scope, bounds, config
        self._root, self._embedder = index_root, embedder
        self._bm25: dict[Agent, Bm25] = {}
        self._chosen: dict[Agent, Retriever] = {}
        self._guard = RLock()

    def recall(self, query: Query) -> Recalled:
        """All insights of the agent, the demonstrations nearest to the query, and how they were found."""
        config = self._config
        insights = self.insights(query.agent, query.issue) if config.insights else ()
        if not config.demonstrations or not config.top_k:
            return Recalled(insights)
        retriever = self._retriever(query.agent)
        bounds = replace(self._bounds, issue_id=self._bounds.issue_id or query.issue_id)
        selection = Selection(self._store, query, bounds, config)
        selection.fill(islice(retriever.ranked(query), _LOOKED_AT))
        size = retriever.size()
        audit = {"retriever": config.retriever.value, "indexed": size, **selection.audit()}
        if notes := [*retriever.notes]:
            audit["notes"] = notes
        return Recalled(insights, selection.taken, size, audit)

    def insights(self, agent: Agent, issue: str = "") -> tuple[Insight, ...]:
        """All present insights; in a bench those that lessons of earlier issues alone make, near-duplicates left out.

        Args:
            agent: whose insights.
            issue: text that is repaired, of which near-duplicates are looked for.
        """
        bounds = self._bounds
        if bounds.before is None and not bounds.bar_near_duplicates:
            return self._store.present(self._scope, agent)
        shingles = Shingles(issue if bounds.bar_near_duplicates else "")

        def counts(known: Issue) -> bool:
            refused = bounds.refusal(known.id, Origin.VALIDATED, "", known.created_at)
            return not refused and shingles.similarity(known.text) < self._config.near_duplicate

        return self._store.present(self._scope, agent, counts)

    def past_repairs(self, issue: Issue) -> tuple[PastRepair, ...]:
        """Repairs and human fixes of issues like this one, most similar first, for localization.

        Mined fixes are not among them: the ranking reads the history itself.
        """
        config = self._config
        if not config.demonstrations or not config.past_repairs:
            return ()
        query = Query(Agent.PATCH, issue.id, issue.text)
        wanted = config.model_copy(
            update={"top_k": config.past_repairs, "most_untrusted": config.past_repairs}
        )
        bounds = replace(self._bounds, issue_id=self._bounds.issue_id or issue.id)
        selection = Selection(self._store, query, bounds, wanted)
        hits = self._index(Agent.PATCH).ranked_of(query, (Origin.VALIDATED, Origin.HUMAN))
        selection.fill(islice((hit for hit in hits if hit.entry.paths), _LOOKED_AT))
        return tuple(
            PastRepair(known.paths, _detail(known), round(min(hit.likeness, 1.0), 4), known.functions)
            for known, hit in selection.hits
        )

    def _retriever(self, agent: Agent) -> Retriever:
        with self._guard:
            if agent not in self._chosen:
                self._chosen[agent] = self._made(agent)
            return self._chosen[agent]

    def _made(self, agent: Agent) -> Retriever:
        match self._config.retriever:
            case RetrieverKind.BM25:
                return self._index(agent)
            case RetrieverKind.PAPER:
                return Paper(self._store, self._scope, agent, self._config)
            case RetrieverKind.EMBEDDING:
                return self._embedding(agent)
            case RetrieverKind.HYBRID:
                return Hybrid(self._index(agent), self._embedding(agent), self._config.rank_constant)

    def _index(self, agent: Agent) -> Bm25:
        with self._guard:
            if agent not in self._bm25:
                folder = agent_folder(self._store.identity, self._scope, agent, self._root)
                index = DerivedIndex(folder, self._store, self._scope, agent, self._config)
                self._bm25[agent] = Bm25(index, self._config)
            return self._bm25[agent]

    def _embedding(self, agent: Agent) -> Embedding:
        config = self._config
        embedder = self._embedder or OpenAIEmbedder(config.embedding_model, config.embedding_base_url)
        cache = VectorCache(
            scope_folder(self._store.identity, self._scope, self._root) / "vectors.sqlite", embedder.name
        )
        return Embedding(self._store, self._scope, agent, config, embedder, cache)


def check(config: RecallConfig) -> None:
    """Refuse a retriever that can't work, before anything is paid.

    Raises:
        UsageError: a package, the embedding model, or the key for it is missing.
    """
    embeds = config.retriever in {RetrieverKind.EMBEDDING, RetrieverKind.HYBRID}
    if embeds and config.demonstrations and config.top_k:
        load_numpy()
        OpenAIEmbedder(config.embedding_model, config.embedding_base_url)


def _detail(known: Demonstration) -> str:
    return f"{known.issue_id} {Issue(known.issue_id, '', known.issue).title}".strip()
