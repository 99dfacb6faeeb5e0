"""The ranking: every signal scaled to 0..1, weighted and added."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from experepair.domain.memory import PastRepair
from experepair.domain.place import Evidence, RankedFile, RankedFunction, Ranking, Span
from experepair.localize.config import RankingConfig
from experepair.localize.executed import NOTHING, Observed
from experepair.localize.history import History
from experepair.localize.languages import Kind
from experepair.localize.signals import SignalFinder, Signals
from experepair.localize.source import Source

DEFAULT = RankingConfig()


def rank(
    issue_text: str,
    source: Source,
    *,
    history: History | None = None,
    config: RankingConfig = DEFAULT,
    past_repairs: Sequence[PastRepair] = (),
    observed: Observed = NOTHING,
) -> Ranking:
    """Rank the files of a commit, and the functions of the best, by how likely they hold the fault.

    Args:
        issue_text: title and body.
        source: the commit under repair.
        history: its ancestors; None does without them.
        config: weights and limits.
        past_repairs: what memory recalls of similar issues.
        observed: what a reproduction executed and printed, once there is one.

    Raises:
        UsageError: git can't read the repository.
    """
    return Ranker(source, history, config).rank(issue_text, past_repairs, observed)


class Ranker:
    """Ranks the files of one commit for any number of issues; what doesn't depend on the issue is kept."""

    def __init__(self, source: Source, history: History | None, config: RankingConfig) -> None:
        self.finder = SignalFinder(source, history, config)
        self._index = self.finder.index
        self._config = config

    def rank(
        self, issue_text: str, past_repairs: Sequence[PastRepair] = (), observed: Observed = NOTHING
    ) -> Ranking:
        """Rank for one issue."""
        return self.fuse(self.signals(issue_text, past_repairs, observed))

    def signals(
        self, issue_text: str, past_repairs: Sequence[PastRepair] = (), observed: Observed = NOTHING
    ) -> Signals:
        """What each signal says; phrases and literals are looked for in the files that the others put first."""
        signals = self.finder.find(issue_text, past_repairs, observed)
        if self._config.phrase_files:
            best = self._best(_totals(self._shares(signals)))[: self._config.phrase_files]
            signals.phrases = self.finder.phrases(issue_text, best)
            signals.literals = self.finder.literals(issue_text, best)
        return signals

    def fuse(self, signals: Signals, config: RankingConfig | None = None) -> Ranking:
        """Put the signals together; `config` can weigh them otherwise."""
        config = config or self._config
        shares = self._shares(signals, config)
        total = _totals(shares)
        kept = self._best(total)[: config.top_files or None]
        functions = self._functions(kept[: config.function_files], total, signals, config)
        files = tuple(
            RankedFile(
                self._index.files[file].path,
                round(total[file], 6),
                self._reasons(file, signals, shares),
                functions.get(file, ()),
            )
            for file in kept
        )
        confidence = files[0].score - files[1].score if len(files) > 1 else 0.0
        return Ranking(files, round(confidence, 6), self.finder.notes)

    def _shares(self, signals: Signals, config: RankingConfig | None = None) -> dict[str, dict[int, float]]:
        """What each signal adds to the score of each file."""
        weights = (config or self._config).weights.model_dump()
        return {
            name: _scaled(scores, weights[name])
            for name, scores in signals.of_files().items()
            if weights[name]
        }

    def _reasons(
        self, file: int, signals: Signals, shares: Mapping[str, Mapping[int, float]]
    ) -> tuple[Evidence, ...]:
        """Why a file is suspected; what several signals saw alike is one reason."""
        own = {name: scores[file] for name, scores in shares.items() if scores.get(file)}
        return _ordered(signals.reasons(self._index, file, own))

    def _best(self, total: Mapping[int, float]) -> list[int]:
        return sorted(total, key=lambda file: (-round(total[file], 6), self._index.files[file].path))

    def _functions(
        self, files: Sequence[int], total: Mapping[int, float], signals: Signals, config: RankingConfig
    ) -> dict[int, tuple[RankedFunction, ...]]:
        weights = config.function_weights.model_dump()
        kinds, index = self._index.unit_kinds, self._index
        owners = {
            unit: file
            for file in reversed(files)
            for unit in index.units(file)
            if kinds[unit] == Kind.FUNCTION
        }
        shares = {
            name: _scaled(scores, weights[name]) for name, scores in signals.of_units(index, owners).items()
        }
        top = max((total[file] for file in files), default=0.0) or 1.0
        shares["file"] = {unit: weights["file"] * total[file] / top for unit, file in owners.items()}
        scores = {unit: round(score, 6) for unit, score in _totals(shares).items()}
        best = sorted(scores, key=lambda unit: (-scores[unit], index.files[owners[unit]].path, unit))
        found: dict[int, list[RankedFunction]] = {}
        for unit in best[: config.top_functions]:
            file = owners[unit]
            span = index.unit(file, unit).span(index.files[file].path)
            own = {name: share[unit] for name, share in shares.items() if unit in share}
            found.setdefault(file, []).append(
                RankedFunction(span, scores[unit], _function_reasons(unit, span, signals, own))
            )
        return {file: tuple(functions) for file, functions in found.items()}


def _function_reasons(
    unit: int, span: Span, signals: Signals, shares: Mapping[str, float]
) -> tuple[Evidence, ...]:
    """Why a function is suspected: what names it, then what each signal gives it."""
    seen = signals.mentions.unit_evidence.get(unit, ())
    whole = sum(each.weight for each in seen) or 1.0
    named = [
        Evidence(each.kind, each.detail, shares.get("mention", 0.0) * each.weight / whole) for each in seen
    ]
    details = _FUNCTION_DETAILS | {
        "length": f"{span.end - span.start + 1} lines",
        "literal": f"“{signals.literals.unit_best.get(unit, '')}”",
    }
    others = [
        Evidence(_FUNCTION_KINDS.get(name, name), details[name], share)
        for name, share in shares.items()
        if name in details
    ]
    return _ordered([*named, *others])


_FUNCTION_KINDS = {"history": "function_history", "history_title": "function_history"}
_FUNCTION_DETAILS = {
    "file": "the score of its file",
    "code": "",
    "title": "",
    "history": "commits that changed it",
    "history_title": "commits that changed it",
    "executed": "by the failing run",
}


def _ordered(evidence: Iterable[Evidence]) -> tuple[Evidence, ...]:
    """Evidence by weight, each once."""
    weights: dict[tuple[str, str], float] = {}
    for each in evidence:
        key = each.kind, each.detail
        weights[key] = weights.get(key, 0.0) + each.weight
    found = [Evidence(kind, detail, round(weight, 4)) for (kind, detail), weight in weights.items()]
    return tuple(sorted(found, key=lambda each: (-each.weight, each.kind, each.detail)))


def _totals(shares: Mapping[str, Mapping[int, float]]) -> dict[int, float]:
    total: dict[int, float] = {}
    for scores in shares.values():
        for key, share in scores.items():
            total[key] = total.get(key, 0.0) + share
    return total


def _scaled(scores: Mapping[int, float], weight: float) -> dict[int, float]:
    """Scores between 0 (what has none) and the weight (the best)."""
    top = max(scores.values(), default=0.0)
    return {key: weight * score / top for key, score in scores.items() if score} if top > 0 else {}
