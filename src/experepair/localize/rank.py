"""The ranking: every signal scaled to 0..1, weighted and added."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from experepair.domain.issue import Issue
from experepair.domain.place import Evidence, RankedFile, RankedFunction, Ranking
from experepair.localize.config import RankingConfig
from experepair.localize.history import History, PastCommits
from experepair.localize.index.view import Index
from experepair.localize.languages import Kind
from experepair.localize.lexical import Lexical, LexicalScorer
from experepair.localize.mention import MentionFinder, Mentions
from experepair.localize.source import Source
from experepair.localize.terms import count_terms

DEFAULT = RankingConfig()


def rank(
    issue_text: str,
    source: Source,
    *,
    history: History | None = None,
    config: RankingConfig = DEFAULT,
    past_repairs: Sequence[PastRepair] = (),
) -> Ranking:
    """Rank the files of a commit, and the functions of the best, by how likely they hold the fault.

    Args:
        issue_text: title and body.
        source: the commit under repair.
        history: its ancestors; None does without them.
        config: weights and limits.
        past_repairs: what memory recalls of similar issues.

    Raises:
        UsageError: git can't read the repository.
    """
    return Ranker(source, history, config).rank(issue_text, past_repairs)


@dataclass(frozen=True, slots=True)
class PastRepair:
    """A repair that memory recalls.

    Attributes:
        paths: files that it changed.
        detail: names it in reports.
        similarity: how much its issue is like this one, 0..1.
    """

    paths: tuple[str, ...]
    detail: str
    similarity: float = 1.0


@dataclass(frozen=True, slots=True)
class Signals:
    """What each signal says of each file, unscaled."""

    lexical: Lexical
    mentions: Mentions
    past: PastCommits
    repairs: PastCommits

    def by_name(self) -> dict[str, Mapping[int, float]]:
        """Scores of files by the names that `Weights` gives the signals."""
        return {
            "code": self.lexical.code,
            "title": self.lexical.title,
            "mention": self.mentions.files,
            "history": self.past.files,
            "best": self.lexical.best,
            "plain": self.lexical.plain,
            "repairs": self.repairs.files,
        }


class Ranker:
    """Ranks the files of one commit for any number of issues; what doesn't depend on the issue is kept."""

    def __init__(self, source: Source, history: History | None, config: RankingConfig) -> None:
        self.index = Index(source, config)
        self._config = config
        self._history = history
        self._lexical = LexicalScorer(self.index, config.include_tests)
        self._mentions = MentionFinder(self.index, config.include_tests)

    def signals(self, issue_text: str, past_repairs: Sequence[PastRepair] = ()) -> Signals:
        """What each signal says."""
        text = issue_text[: self._config.max_issue_characters or None]
        title = Issue("", "", text).title
        query = count_terms(text)
        lexical = self._lexical.score(query, dict.fromkeys(count_terms(title), 1))
        past = PastCommits()
        if self._history is not None:
            past = self._history.similar(query, self.index)
        return Signals(lexical, self._mentions.find(text), past, self._recalled(past_repairs))

    def _recalled(self, past_repairs: Sequence[PastRepair]) -> PastCommits:
        found = PastCommits()
        for repair in past_repairs:
            for path in repair.paths:
                file = self.index.position.get(path)
                if file is not None:
                    weight = repair.similarity / len(repair.paths)
                    found.files[file] = found.files.get(file, 0.0) + weight
                    found.evidence.setdefault(file, []).append(Evidence("repair", repair.detail, weight))
        return found

    def rank(self, issue_text: str, past_repairs: Sequence[PastRepair] = ()) -> Ranking:
        """Rank for one issue."""
        return self.fuse(self.signals(issue_text, past_repairs))

    def fuse(self, signals: Signals) -> Ranking:
        """Put the signals together."""
        config = self._config
        weights = config.weights.model_dump()
        scaled = {name: _scaled(scores) for name, scores in signals.by_name().items() if weights[name]}
        total: dict[int, float] = {}
        for name, scores in scaled.items():
            for file, score in scores.items():
                total[file] = total.get(file, 0.0) + weights[name] * score
        best = sorted(total, key=lambda file: (-total[file], self.index.files[file].path))
        kept = best[: config.top_files or None]
        functions = self._functions(kept[: config.function_files], total, signals)
        files = tuple(
            RankedFile(
                self.index.files[file].path,
                round(total[file], 6),
                self._evidence(file, signals, scaled, weights),
                functions.get(file, ()),
            )
            for file in kept
        )
        confidence = files[0].score - files[1].score if len(files) > 1 else 0.0
        return Ranking(files, round(confidence, 6), tuple(self.index.notes) + self._history_notes())

    def _history_notes(self) -> tuple[str, ...]:
        return tuple(self._history.notes) if self._history is not None else ()

    def _evidence(
        self,
        file: int,
        signals: Signals,
        scaled: Mapping[str, Mapping[int, float]],
        weights: Mapping[str, float],
    ) -> tuple[Evidence, ...]:
        found = []
        for name, scores in scaled.items():
            if share := weights[name] * scores.get(file, 0.0):
                detail = ""
                if name == "code":
                    terms = sorted(signals.lexical.terms.get(file, ()), reverse=True)[:6]
                    detail = ", ".join(term for _, term in terms)
                found.append(Evidence(name, detail, round(share, 4)))
        found += signals.mentions.evidence.get(file, ())
        found += signals.past.evidence.get(file, ())
        found += signals.repairs.evidence.get(file, ())
        return tuple(found)

    def _functions(
        self, files: Sequence[int], total: Mapping[int, float], signals: Signals
    ) -> dict[int, tuple[RankedFunction, ...]]:
        weights = self._config.function_weights
        kinds = self.index.unit_kinds
        owners = {
            unit: file
            for file in reversed(files)
            for unit in self.index.units(file)
            if kinds[unit] == Kind.FUNCTION
        }
        parts = (
            (weights.code, _scaled(_only(signals.lexical.unit_code, owners))),
            (weights.title, _scaled(_only(signals.lexical.unit_title, owners))),
            (weights.mention, _scaled(_only(signals.mentions.units, owners))),
        )
        top = max((total[file] for file in files), default=1.0) or 1.0
        scores = {
            unit: weights.file * total[file] / top
            + sum(weight * part.get(unit, 0.0) for weight, part in parts)
            for unit, file in owners.items()
        }
        best = sorted(scores, key=lambda unit: (-scores[unit], unit))[: self._config.top_functions]
        found: dict[int, list[RankedFunction]] = {}
        for unit in best:
            file = owners[unit]
            span = self.index.unit(file, unit).span(self.index.files[file].path)
            evidence = tuple(signals.mentions.unit_evidence.get(unit, ()))
            found.setdefault(file, []).append(RankedFunction(span, round(scores[unit], 6), evidence))
        return {file: tuple(functions) for file, functions in found.items()}


def _only(scores: Mapping[int, float], wanted: Mapping[int, int]) -> dict[int, float]:
    return {unit: scores[unit] for unit in wanted if unit in scores}


def _scaled(scores: Mapping[int, float]) -> dict[int, float]:
    """Scores between 0 (what has none) and 1 (the best)."""
    top = max(scores.values(), default=0.0)
    return {key: score / top for key, score in scores.items()} if top > 0 else {}
