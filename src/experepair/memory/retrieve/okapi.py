"""BM25 as the paper's released code has it: Okapi's, with a floor below the rarity of frequent words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from math import log


class Okapi:
    """Scores like the BM25Okapi of the package rank_bm25, a word of the query counting as often as it is there.

    Args:
        documents: each as its words.
        k1: how soon repetitions of a word stop to count.
        b: how much longer documents are held back, 0 to 1.
        epsilon: of the mean rarity, what words in more than half of the documents get.
    """

    def __init__(
        self, documents: Sequence[Sequence[str]], k1: float = 1.5, b: float = 0.75, epsilon: float = 0.25
    ) -> None:
        self._size, self._k1 = len(documents), k1
        mean = sum(map(len, documents)) / (self._size or 1) or 1.0
        self._held = [k1 * (1 - b + b * len(words) / mean) for words in documents]
        self._postings: dict[str, list[tuple[int, int]]] = {}
        for number, words in enumerate(documents):
            for word, times in Counter(words).items():
                self._postings.setdefault(word, []).append((number, times))
        self._rarity = {
            word: log(self._size - len(found) + 0.5) - log(len(found) + 0.5)
            for word, found in self._postings.items()
        }
        mean_rarity = sum(self._rarity.values()) / (len(self._rarity) or 1)
        for word, rarity in self._rarity.items():
            if rarity < 0:
                self._rarity[word] = epsilon * mean_rarity

    def scores(self, query: Iterable[str]) -> list[float]:
        """One for each document, in their order; they can be negative where most words are frequent."""
        scores = [0.0] * self._size
        for word, count in Counter(query).items():
            for number, times in self._postings.get(word, ()):
                gained = times * (self._k1 + 1) / (times + self._held[number])
                scores[number] += count * self._rarity[word] * gained
        return scores
