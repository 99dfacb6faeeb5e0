"""How well the model-free ranking finds what gold patches changed, beside BM25 over whitespace tokens.

    python benchmarks/localization.py DATASET --mirrors DIR [--limit N] [--repo OWNER/NAME] [--ids PART] [--jobs 2]
        [--ablation] [--with-reproduction OBSERVED] [--cache DIR] [--misses]

Strictly before each base commit: the index is of the base commit, the history its ancestors, the query the
problem statement alone. Strict counts: every gold file (every gold function) within the first k. Gold functions are the outermost
functions with a changed line; instances that change none are left out of that table. Gold lines held: the
share of the lines a gold patch removes or adds after that are in the spans grown from the best functions of the top files.
"""

from __future__ import annotations

import argparse
import json
import resource
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import islice
from math import log
from pathlib import Path

from experepair.bench.metrics.gold import gold_of
from experepair.bench.metrics.localizing import (
    FUSED,
    LEVELS,
    SPAN_FILES,
    SPAN_FUNCTIONS,
    SPAN_TOKENS,
    Outcome,
    best_spans,
    gathered,
    held,
    note,
    ranked,
    shares,
    worst,
)
from experepair.domain.place import Ranking
from experepair.localize import GitSource, History, Observed, Ranker, RankingConfig
from experepair.localize.executed import NOTHING
from experepair.localize.languages import language_of
from lite import Row, read_rows


def evaluate(row: Row, cache: Path | None, observed: Observed, *, ablation: bool, floor: bool) -> Outcome:
    """Rank one instance by every method."""
    config = RankingConfig(cache=cache, top_files=0, top_functions=1000)
    source = GitSource(row.repository, row.commit)
    gold = gold_of(row.patch, source)
    history = History(row.repository, row.commit, cache=cache)
    outcome, ranker = ranked(row.id, row.repository.parent.name, row.issue, source, history, config)
    ranking, outcome.ranking = outcome.ranking, Ranking(())
    note(outcome, FUSED, ranking, gold)
    outcome.held, outcome.sent = held(best_spans(ranking), gold, source)
    if floor:
        outcome.files["floor: BM25, whitespace"] = worst(whitespace(row.issue, source), gold.files)
    if observed.failing:
        executed = Observed(observed.failing, observed.passing)
        for name, seen in (
            ("perfect reproduction: its output", Observed(output=observed.output)),
            ("perfect reproduction: what it executed", executed),
            ("perfect reproduction: without passing runs", Observed(observed.failing)),
            ("perfect reproduction: all", observed),
        ):
            note(outcome, name, ranker.rank(row.issue, observed=seen), gold)
    if ablation:
        signals = ranker.signals(row.issue)
        for name, weight in config.weights.model_dump().items():
            if weight and name not in ("repairs", "executed"):
                without = config.weights.model_copy(update={name: 0.0})
                note(outcome, f"without {name}", fused(ranker, signals, config, weights=without), gold)
                alone = config.weights.model_copy(
                    update=dict.fromkeys(type(config.weights).model_fields, 0.0)
                )
                alone = alone.model_copy(update={name: 1.0})
                ranks = [file.path for file in fused(ranker, signals, config, weights=alone).files]
                outcome.files[f"only {name}"] = worst(ranks, gold.files)
        for name, weight in config.function_weights.model_dump().items():
            if weight and name != "executed":
                without_one = config.function_weights.model_copy(update={name: 0.0})
                changed = fused(ranker, signals, config, function_weights=without_one)
                note(outcome, f"functions without {name}", changed, gold)
    return outcome


def fused(ranker: Ranker, signals: object, config: RankingConfig, **update: object) -> Ranking:
    """The ranking of the same signals under other weights."""
    return ranker.fuse(signals, config.model_copy(update=update))  # type: ignore[arg-type]


def whitespace(issue: str, source: GitSource) -> list[str]:
    """The floor: BM25 (k1 1.5, b 0.75) over lower-cased whitespace tokens of the same candidate files."""
    query = Counter(issue.lower().split())
    blobs: dict[str, list[str]] = {}
    for entry in source.entries():
        language = language_of(entry.path)
        if language is not None and not language.is_test(entry.path):
            blobs.setdefault(entry.blob, []).append(entry.path)
    documents: dict[str, tuple[dict[str, int], int]] = {}
    for blob, content in source.contents(blobs):
        tokens = content.decode("utf-8", "replace").lower().split()
        counts = Counter(tokens)
        for path in blobs[blob]:
            documents[path] = ({term: counts[term] for term in query.keys() & counts.keys()}, len(tokens))
    mean = sum(size for _, size in documents.values()) / (len(documents) or 1)
    having = Counter(term for counts, _ in documents.values() for term in counts)

    def score(path: str) -> float:
        counts, size = documents[path]
        return sum(
            query[term]
            * log(1 + (len(documents) - having[term] + 0.5) / (having[term] + 0.5))
            * tf
            * 2.5
            / (tf + 1.5 * (0.25 + 0.75 * size / mean))
            for term, tf in sorted(counts.items())
        )

    return sorted(documents, key=lambda path: (-score(path), path))


def table(title: str, ranks: Mapping[str, Sequence[int]]) -> None:
    """Print recall at each level, and the mean reciprocal rank, by method."""
    print(f"\n{title:<42}" + "".join(f"{f'R@{level}':>7}" for level in LEVELS) + "    MRR     n")
    for method, values in ranks.items():
        recalls, mrr = shares(values)
        print(
            f"{method:<42}"
            + "".join(f"{recall:7.1f}" for recall in recalls)
            + f"  {mrr:.3f}  {len(values):4}"
        )


def read_observed(path: Path | None) -> dict[str, Observed]:
    """What reproductions executed, by instance (written by reproduction.py)."""
    if path is None:
        return {}
    found = {}
    for line in path.read_text().splitlines():
        row = json.loads(line)
        runs = [
            {name: set(lines) for name, lines in run.items()} for run in (row["failing"], *row["passing"])
        ]
        found[row["id"]] = Observed(runs[0], tuple(runs[1:]), row.get("output", ""))
    return found


def main() -> None:
    """Evaluate and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("dataset", type=Path)
    parser.add_argument("--mirrors", type=Path, required=True)
    parser.add_argument("--limit", type=int)
    parser.add_argument("--repo", default="")
    parser.add_argument("--ids", default="")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--ablation", action="store_true")
    parser.add_argument("--no-floor", action="store_true")
    parser.add_argument("--misses", action="store_true", help="list the instances beyond rank 1")
    parser.add_argument("--with-reproduction", type=Path, metavar="OBSERVED")
    parser.add_argument("--cache", type=Path, help="folder of the cache; the user's own by default")
    given = parser.parse_args()
    rows = list(islice(read_rows(given.dataset, given.mirrors, given.repo, given.ids), given.limit))
    observed = read_observed(given.with_reproduction)
    if given.with_reproduction:
        rows = [row for row in rows if row.id in observed]
    with ProcessPoolExecutor(given.jobs) as pool:
        asked = [
            pool.submit(
                evaluate,
                row,
                given.cache,
                observed.get(row.id, NOTHING),
                ablation=given.ablation,
                floor=not given.no_floor,
            )
            for row in rows
        ]
        outcomes = [each.result() for each in asked]
    report(outcomes, misses=given.misses)


def report(outcomes: Sequence[Outcome], *, misses: bool) -> None:
    """Print the tables."""
    table("files (strict)", gathered(outcomes, "files"))
    table("functions (strict, outermost)", gathered(outcomes, "functions"))
    by_repository: dict[str, list[int]] = {}
    for outcome in outcomes:
        by_repository.setdefault(outcome.repository, []).append(outcome.files["fused"])
    table("files, fused, by repository", by_repository)
    n = len(outcomes) or 1
    print(
        f"\ngold lines held by spans of the {SPAN_FUNCTIONS} best functions of the top {SPAN_FILES} files: "
        f"{100 * sum(each.held for each in outcomes) / n:.1f} % of lines, all lines in "
        f"{100 * sum(each.held == 1 for each in outcomes) / n:.1f} % of instances, "
        f"{sum(each.sent for each in outcomes) / n:.0f} tokens (budget {SPAN_TOKENS})"
    )
    cpu = sorted(each.cpu_s for each in outcomes)
    print(
        f"a warm ranking: median {cpu[len(cpu) // 2]:.2f}, most {cpu[-1]:.2f} CPU s; "
        f"{sum(each.candidates for each in outcomes) / n:.0f} files; "
        f"peak RSS of a worker {resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10} MB"
    )
    if misses:
        for outcome in outcomes:
            if outcome.files["fused"] > 1:
                print(f"{outcome.id:32} rank {outcome.files['fused']:>7}  first: {outcome.first}")


if __name__ == "__main__":
    main()
