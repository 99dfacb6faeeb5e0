"""The embedding retriever: cosine of vectors, each demonstration looked at."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from experepair.domain.memory import Demonstration, Failure, Query
from experepair.domain.roles import Agent
from experepair.errors import UsageError
from experepair.memory.config import RecallConfig
from experepair.memory.retrieve.embedder import Embedder
from experepair.memory.retrieve.retriever import Affinity, Changes, Entry, Hit
from experepair.memory.retrieve.roll import Roll
from experepair.memory.retrieve.vectors import VectorCache, digest_of

if TYPE_CHECKING:
    from numpy import float32
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class _Texts:
    issue: str
    failure: str


class Embedding:
    """Issues compete by issue; when there is a failure, what answers one competes by failure instead.

    Args:
        source: the store.
        scope: the repository.
        agent: whose demonstrations.
        config: floor, weights and length of texts.
        embedder: makes the vectors that `cache` doesn't hold.
        cache: of vectors.
    """

    def __init__(
        self,
        source: Changes,
        scope: str,
        agent: Agent,
        config: RecallConfig,
        embedder: Embedder,
        cache: VectorCache,
    ) -> None:
        self._config, self._embedder, self._cache = config, embedder, cache
        self._roll = Roll(source, scope, agent, self._texts_of)

    def ranked(self, query: Query) -> Iterator[Hit]:
        """By cosine as a share of the best, plus affinity to the suspected files."""
        known = self._roll.read()
        failure = query.failure if self._config.failure_weight else None
        if failure is None:
            hits = self._scored(
                [(entry, texts.issue) for entry, texts in known], self._cut(query.issue), 1.0, query
            )
        else:
            pairs = [(entry, texts.issue) for entry, texts in known if not entry.answers]
            answers = [(entry, texts.failure) for entry, texts in known if entry.answers]
            asked = self._cut(_text(failure))
            hits = [
                *self._scored(pairs, self._cut(query.issue), 1.0, query),
                *self._scored(answers, asked, self._config.failure_weight, query),
            ]
        yield from sorted(hits, key=lambda hit: (-round(hit.score, 6), hit.entry.answers, hit.entry.id))

    def size(self) -> int:
        """Demonstrations that compete."""
        return len(self._roll.read())

    @property
    def notes(self) -> tuple[str, ...]:
        """Nothing: what isn't in the cache is made."""
        return ()

    def _scored(
        self, known: Sequence[tuple[Entry, str]], asked: str, weight: float, query: Query
    ) -> list[Hit]:
        if not known or not asked.strip():
            return []
        vectors = self._vectors([*(text for _, text in known), asked])
        cosines = [float(each) for each in vectors[:-1] @ vectors[-1]]
        best = max(cosines)
        affinity = Affinity(query.paths, self._config.affinity_weight, self._config.affinity_files)
        return [
            Hit(
                entry,
                weight * cosine / best + affinity.of(entry.paths),
                min(cosine, 1.0),
                relevant=cosine >= self._config.cosine_floor,
            )
            for (entry, _), cosine in zip(known, cosines, strict=True)
            if cosine > 0
        ]

    def _vectors(self, texts: Sequence[str]) -> NDArray[float32]:
        """One row of length 1 for each text."""
        numpy = load_numpy()
        digests = [digest_of(text) for text in texts]
        found: dict[str, Any] = dict(self._cache.read(list(dict.fromkeys(digests))))
        missing = {digest: text for digest, text in zip(digests, texts, strict=True) if digest not in found}
        if missing:
            made = dict(zip(missing, self._embedder.embed(list(missing.values())), strict=True))
            self._cache.keep(made)
            found |= made
        length = len(found[digests[-1]])
        rows = [found[digest] if len(found[digest]) == length else [0.0] * length for digest in digests]
        matrix: NDArray[float32] = numpy.array(rows, dtype=numpy.float32)
        lengths = numpy.linalg.norm(matrix, axis=1, keepdims=True)
        scaled: NDArray[float32] = matrix / numpy.where(lengths == 0, 1, lengths)
        return scaled

    def _texts_of(self, demonstration: Demonstration) -> _Texts:
        touched = " ".join((*demonstration.paths, *demonstration.functions))
        failure = demonstration.failure
        return _Texts(
            self._cut(f"{self._cut(demonstration.issue)}\n{touched}"),
            self._cut(_text(failure)) if failure else "",
        )

    def _cut(self, text: str) -> str:
        return text[: self._config.embedding_chars]


def _text(failure: Failure) -> str:
    return f"{failure.feedback}\n{failure.output}"


def load_numpy() -> Any:  # the extra may be missing, and then its types too
    """The package that compares vectors.

    Raises:
        UsageError: it isn't installed.
    """
    try:
        import numpy
    except ImportError as error:
        raise UsageError(
            "the retrievers embedding and hybrid need numpy; pip install 'experepair[embeddings]' brings it"
        ) from error
    return numpy
