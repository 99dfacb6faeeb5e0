"""How well the ranking without a model finds what the maintainers' fixes changed.

Strictly before each base commit: the index is of that commit, the history its ancestors, the query the statement alone. Counts are
strict: every file of the fix (every function) within the first k. Functions are the outermost ones with a changed line; issues
whose fix changes none are left out of that table.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from experepair.bench.instance import Answer, Instance
from experepair.bench.metrics.gold import Gold, gold_of
from experepair.bench.mirrors import Mirrors
from experepair.bench.report.tables import Table
from experepair.domain.place import Ranking, Span
from experepair.localize import GitSource, History, Ranker, RankingConfig, render, spans, tokens_of

MISSED = 10**6
LEVELS = (1, 3, 5, 10, 20)
SPAN_FILES, SPAN_FUNCTIONS, SPAN_TOKENS = 10, 30, 12_000


@dataclass
class Outcome:
    """Ranks of one instance by method: of the worst-placed gold file, and of the worst-placed gold function."""

    id: str
    repository: str
    candidates: int
    files: dict[str, int] = field(default_factory=dict)
    functions: dict[str, int] = field(default_factory=dict)
    held: float = 0.0
    sent: int = 0
    cpu_s: float = 0.0
    first: str = ""
    ranking: Ranking = field(default_factory=lambda: Ranking(()), repr=False)


FUSED = "fused"
"""The ranking as repairs use it, among the methods of an outcome."""


def evaluate(instance: Instance, answer: Answer, mirrors: Mirrors, cache: Path | None = None) -> Outcome:
    """Rank one instance.

    Args:
        instance: what is ranked for.
        answer: what the fix changed; it is looked at when the ranking is there.
        mirrors: where the repository is.
        cache: folder of indexes; None means the user's.
    """
    repository = mirrors.open(instance)
    source = GitSource(repository.root, repository.resolve(instance.base_commit))
    config = RankingConfig(cache=cache, top_files=0, top_functions=1000)
    history = History(repository.root, repository.resolve(instance.base_commit), cache=cache)
    outcome, _ = ranked(instance.id, instance.repo, instance.problem_statement, source, history, config)
    ranking = outcome.ranking
    gold = gold_of(answer.patch, source)
    note(outcome, FUSED, ranking, gold)
    outcome.held, outcome.sent = held(best_spans(ranking), gold, source)
    outcome.ranking = Ranking(())  # it is large, and has been looked at
    return outcome


def ranked(
    name: str, repository: str, issue: str, source: GitSource, history: History, config: RankingConfig
) -> tuple[Outcome, Ranker]:
    """Rank for a text, with the index warm: how long that takes is another benchmark's to say."""
    ranker = Ranker(source, history, config)
    ranker.rank("warm")
    started = time.process_time()
    ranking = ranker.rank(issue)
    spent = time.process_time() - started
    first = ranking.files[0].path if ranking.files else ""
    return Outcome(name, repository, len(ranking.files), cpu_s=spent, first=first, ranking=ranking), ranker


def evaluate_all(
    instances: Sequence[Instance], answers: dict[str, Answer], mirrors: Mirrors, jobs: int
) -> list[Outcome]:
    """Rank all instances, several at once.

    Raises:
        UsageError: a repository or commit can't be had.
    """
    with ProcessPoolExecutor(jobs) as pool:
        asked = [pool.submit(evaluate, one, answers[one.id], mirrors) for one in instances]
        return [each.result() for each in asked]


def tables(outcomes: Sequence[Outcome]) -> list[Table]:
    """Files, functions, and files by repository."""
    by_repository: dict[str, list[int]] = {}
    for outcome in outcomes:
        by_repository.setdefault(outcome.repository, []).append(outcome.files[FUSED])
    n = len(outcomes) or 1
    lines = (
        f"Lines of the fix within the spans of the {SPAN_FUNCTIONS} best functions of the first {SPAN_FILES} files: "
        f"{100 * sum(each.held for each in outcomes) / n:.1f} %, for {sum(each.sent for each in outcomes) / n:.0f} tokens."
    )
    return [
        _table("files", "Files (strict)", gathered(outcomes, "files")),
        _table("functions", "Functions (strict, outermost)", gathered(outcomes, "functions")),
        _table("files-by-repository", "Files by repository", by_repository, (lines,)),
    ]


def shares(ranks: Sequence[int]) -> tuple[list[float], float]:
    """Recall at each level in percent, and the mean reciprocal rank."""
    recalls = [100 * sum(rank <= level for rank in ranks) / len(ranks) for level in LEVELS]
    return recalls, sum(1 / rank for rank in ranks if rank < MISSED) / len(ranks)


def _table(name: str, title: str, ranks: dict[str, list[int]], notes: tuple[str, ...] = ()) -> Table:
    rows = []
    for method, values in sorted(ranks.items()):
        recalls, mrr = shares(values)
        rows.append((method, *(f"{recall:.1f}" for recall in recalls), f"{mrr:.3f}", str(len(values))))
    header = ("", *(f"R@{level}" for level in LEVELS), "MRR", "n")
    return Table(name, title, header, tuple(rows), notes)


def note(outcome: Outcome, method: str, ranking: Ranking, gold: Gold) -> None:
    """Keep the ranks that a method gives to what the gold patch changed."""
    outcome.files[method] = worst([file.path for file in ranking.files], gold.files)
    if gold.functions:
        scored = [
            (-function.score, file.path, function.span.name)
            for file in ranking.files
            for function in file.functions
        ]
        outcome.functions[method] = worst([(path, name) for _, path, name in sorted(scored)], gold.functions)


def worst(ranked: Sequence[object], gold: Iterable[object]) -> int:
    """Rank of the last of the gold, from 1."""
    place = {each: number for number, each in reversed(list(enumerate(ranked, 1)))}
    return max((place.get(each, MISSED) for each in gold), default=MISSED)


def best_spans(ranking: Ranking) -> list[Span]:
    """The best functions of the top files, best first."""
    functions = [each for file in ranking.files[:SPAN_FILES] for each in file.functions]
    return [each.span for each in sorted(functions, key=lambda each: -each.score)[:SPAN_FUNCTIONS]]


def held(chosen: Sequence[Span], gold: Gold, source: GitSource) -> tuple[float, int]:
    """Share of the gold lines within grown spans, and what these cost in tokens."""
    grown = spans(chosen, source.read, max_tokens=SPAN_TOKENS)
    found = sum(
        any(span.path == path and span.start <= line <= span.end for span in grown)
        for path, line in gold.lines
    )
    return found / (len(gold.lines) or 1), tokens_of(render(grown, source.read))


def gathered(outcomes: Iterable[Outcome], what: str) -> dict[str, list[int]]:
    """Ranks of all instances by method."""
    found: dict[str, list[int]] = {}
    for outcome in outcomes:
        for method, rank in getattr(outcome, what).items():
            found.setdefault(method, []).append(rank)
    return found
