"""Everything that speaks for files and functions, each by itself, unscaled."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import log

from experepair.domain.issue import Issue
from experepair.domain.memory import PastRepair
from experepair.domain.place import Evidence
from experepair.localize.config import RankingConfig
from experepair.localize.executed import Executed, Observed, executed_units
from experepair.localize.history import History, PastCommits
from experepair.localize.index.view import Index
from experepair.localize.lexical import Lexical, LexicalScorer
from experepair.localize.literals import Literals, shared_literals
from experepair.localize.mention import MentionFinder, Mentions
from experepair.localize.phrases import Phrases, shared_phrases
from experepair.localize.source import Source
from experepair.localize.terms import count_terms, words_behind

_LONG_FUNCTION = 200
"""Lines from which on a function counts as long as can be."""


@dataclass
class Signals:
    """What each signal says of an issue; `words` are those behind its terms, for people."""

    lexical: Lexical
    mentions: Mentions
    history: PastCommits = field(default_factory=PastCommits)
    history_title: PastCommits = field(default_factory=PastCommits)
    repairs: PastCommits = field(default_factory=PastCommits)
    phrases: Phrases = field(default_factory=Phrases)
    literals: Literals = field(default_factory=Literals)
    executed: Executed = field(default_factory=Executed)
    words: Mapping[str, str] = field(default_factory=dict)

    def of_files(self) -> dict[str, Mapping[int, float]]:
        """Scores of files (by position), under the names of `Weights`."""
        return {
            "code": self.lexical.code,
            "title": self.lexical.title,
            "mention": self.mentions.files,
            "history": self.history.files,
            "history_title": self.history_title.files,
            "best": self.lexical.best,
            "best_title": self.lexical.best_title,
            "phrase": self.phrases.files,
            "literal": self.literals.files,
            "repairs": self.repairs.files,
            "executed": self.executed.files,
        }

    def of_units(self, index: Index, owners: Mapping[int, int]) -> dict[str, dict[int, float]]:
        """Scores of some functions (by id, with their files), under the names of `FunctionWeights`."""
        lengths, history, history_title = {}, {}, {}
        for unit, file in owners.items():
            known = index.unit(file, unit)
            key = file, known.name.rpartition(".")[2]
            lengths[unit] = min(log(1 + known.end - known.start + 1) / log(_LONG_FUNCTION), 1.0)
            history[unit] = self.history.functions.get(key, 0.0)
            history_title[unit] = self.history_title.functions.get(key, 0.0)

        def only(scores: Mapping[int, float]) -> dict[int, float]:
            return {unit: scores[unit] for unit in owners if unit in scores}

        return {
            "code": only(self.lexical.unit_code),
            "title": only(self.lexical.unit_title),
            "mention": only(self.mentions.units),
            "history": history,
            "history_title": history_title,
            "literal": only(self.literals.units),
            "length": lengths,
            "executed": only(self.executed.units),
        }

    def reasons(self, index: Index, file: int, shares: Mapping[str, float]) -> Iterator[Evidence]:
        """The evidence for a file: the share of each signal, split among what it saw."""
        lexical = self.lexical
        for name, share in shares.items():
            if name == "mention":
                yield from _split(share, self.mentions.evidence.get(file, ()))
            elif name in ("history", "history_title", "repairs"):
                yield from _split(share, getattr(self, name).evidence.get(file, ()))
            elif name == "phrase":
                yield Evidence(name, f"“{self.phrases.best.get(file, '')}”", share)
            elif name == "literal":
                yield Evidence(name, f"“{self.literals.best.get(file, '')}”", share)
            elif name in ("code", "title"):
                terms = lexical.terms if name == "code" else lexical.title_terms
                yield Evidence(name, self.said(terms.get(file, ())), share)
            elif name == "executed":
                yield Evidence(name, "by the failing run", share)
            else:
                best_of = lexical.best_unit if name == "best" else lexical.best_title_unit
                yield Evidence(name, index.unit(file, best_of[file]).name, share)

    def said(self, terms: Iterable[tuple[float, str]]) -> str:
        """The words of the issue behind the terms that gave most."""
        best = sorted(terms, reverse=True)[:8]
        return ", ".join(list(dict.fromkeys(self.words.get(term, term) for _, term in best))[:5])


def _split(share: float, pieces: Sequence[Evidence], most: int = 4) -> Iterator[Evidence]:
    """A share of the score among what was seen, by weight; the least is left out when it is much."""
    whole = sum(piece.weight for piece in pieces) or 1.0
    for piece in sorted(pieces, key=lambda piece: (-piece.weight, piece.detail))[:most]:
        yield Evidence(piece.kind, piece.detail, share * piece.weight / whole)


class SignalFinder:
    """Finds the signals of any number of issues in one commit; what no issue changes is kept."""

    def __init__(self, source: Source, history: History | None, config: RankingConfig) -> None:
        self.index = Index(source, config)
        self._source = source
        self._config = config
        self._history = history
        self._lexical = LexicalScorer(self.index, config.include_tests)
        self._mentions = MentionFinder(self.index, config.include_tests)

    @property
    def notes(self) -> tuple[str, ...]:
        """What had to be done without."""
        return (*self.index.notes, *(self._history.notes if self._history else ("no history was given",)))

    def find(self, issue_text: str, past_repairs: Sequence[PastRepair], observed: Observed) -> Signals:
        """Everything but phrases, which need a first ranking."""
        text = issue_text[: self._config.max_issue_characters or None]
        query = self._rarest(count_terms(text))
        title = dict.fromkeys(count_terms(Issue("", "", text).title), 1)
        signals = Signals(
            self._lexical.score(query, title),
            self._mentions.find(f"{text}\n{observed.output[-self._config.max_issue_characters :]}"),
            repairs=self._recalled(past_repairs),
            executed=executed_units(observed, self.index, self._config.include_tests),
            words=words_behind(text),
        )
        if self._history is not None:
            signals.history = self._history.similar(query, self.index)
            signals.history_title = self._history.similar(title, self.index)
        return signals

    def phrases(self, issue_text: str, files: Sequence[int]) -> Phrases:
        """Phrases that the issue shares with some files."""
        text = issue_text[: self._config.max_issue_characters or None]
        return shared_phrases(text, self._source, self.index, files)

    def literals(self, issue_text: str, files: Sequence[int]) -> Literals:
        """String literals that the issue shares with some files."""
        return shared_literals(issue_text, self._source, self.index, files)

    def _rarest(self, query: dict[str, int]) -> dict[str, int]:
        most = self._config.max_query_terms
        if not most or len(query) <= most:
            return query
        found = ((self.index.frequency(term), term) for term in query)
        kept = sorted((times, term) for times, term in found if times)[:most]
        return {term: query[term] for _, term in kept}

    def _recalled(self, past_repairs: Sequence[PastRepair]) -> PastCommits:
        found = PastCommits()
        for repair in past_repairs:
            for path in repair.paths:
                file = self.index.position.get(path)
                if file is not None:
                    found.add(
                        "repair", file, repair.similarity / len(repair.paths), repair.detail, repair.functions
                    )
        return found
