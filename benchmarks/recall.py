"""How often recalled fixes touch what gold patches change, beside the paper's retriever; and what a foreign issue recalls.

    python benchmarks/recall.py DATASET --mirrors DIR [--work DIR] [--repo OWNER/NAME] [--set NAME=VALUE …]
        [--foreign 100] [--paper]

For each repository its history is learned (memory/learn/history.py), and each issue recalls what it may see: mined commits that are
ancestors of its base commit. The query is the problem statement, with the files that the ranking suspects. A hit: one of the
five recalled fixes changes a gold file (a definition of the name of a gold function, in a gold file). The peer is the
paper's retriever on the paper's pool: earlier instances of the dataset with their gold patches; with --paper also on our pool.
The floor: issues of other repositories, with the files that are suspected there, should recall nothing.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from experepair.domain.issue import Issue
from experepair.domain.memory import Demonstration, Origin, Query
from experepair.domain.roles import Agent
from experepair.localize import GitSource, History, Ranker, RankingConfig
from experepair.memory.config import RecallConfig
from experepair.memory.eligibility import Ancestors, Bounds
from experepair.memory.learn.history import mine
from experepair.memory.lesson import Lesson, Source
from experepair.memory.recall import Recaller
from experepair.memory.store import Store
from experepair.workspace.repository import Repository
from lite import Gold, Row, gold_of, read_rows

PAPER = RecallConfig.model_validate({"retriever": "paper", "affinity_weight": 0.0})
HISTORY, EARLIER = "history", "earlier instances"


@dataclass
class Found:
    """What one arm recalled for one issue."""

    file: bool
    function: bool | None
    precise: float
    recalled: int


@dataclass
class Results:
    """By arm."""

    arms: dict[str, list[Found]] = field(default_factory=dict)
    foreign: dict[str, list[int]] = field(default_factory=dict)

    def note(self, arm: str, recalled: Sequence[Demonstration], gold: Gold) -> None:
        """Judge what was recalled by what the gold patch changed."""
        names = {name.rpartition(".")[2] for _, name in gold.functions}
        right = [bool(gold.files & set(each.paths)) for each in recalled]
        same = [hit and bool(names & set(each.functions)) for each, hit in zip(recalled, right, strict=True)]
        found = Found(any(right), any(same) if names else None, sum(right) / 5, len(recalled))
        self.arms.setdefault(arm, []).append(found)

    def print(self) -> None:
        """One line an arm."""
        print(f"\n{'':<48}{'file':>7}{'function':>10}{'P@5':>7}{'recalled':>10}{'n':>6}{'n fn':>6}")
        for arm, found in self.arms.items():
            functions = [each.function for each in found if each.function is not None]
            shares = (
                share(each.file for each in found),
                share(functions),
                100 * sum(each.precise for each in found) / len(found),
                sum(each.recalled for each in found) / len(found),
            )
            print(
                f"{arm:<48}{shares[0]:7.1f}{shares[1]:10.1f}{shares[2]:7.1f}{shares[3]:10.1f}{len(found):6}"
                f"{len(functions):6}"
            )
        for arm, counts in self.foreign.items():
            print(
                f"{arm:<48}nothing recalled in {share(count == 0 for count in counts):.1f} % of {len(counts)}"
            )


def share(values: Iterable[bool]) -> float:
    """Of what is true, in percent."""
    listed = list(values)
    return 100 * sum(listed) / (len(listed) or 1)


def instances(dataset: Path) -> dict[str, datetime]:
    """When each issue of the dataset was written."""
    rows = map(json.loads, dataset.read_text().splitlines())
    return {row["instance_id"]: datetime.fromisoformat(row["created_at"]) for row in rows}


def taught(rows: Sequence[Row], when: dict[str, datetime]) -> Iterator[Lesson]:
    """The paper's pool: issues of the dataset with their gold patches."""
    for row in rows:
        gold = gold_of(row, GitSource(row.repository, row.commit))
        known = Demonstration(
            row.id,
            Agent.PATCH,
            row.id,
            row.issue,
            row.patch,
            origin=Origin.HUMAN,
            created_at=when[row.id],
            paths=tuple(sorted(gold.files)),
            functions=tuple(sorted({name.rpartition(".")[2] for _, name in gold.functions})),
        )
        issue = Issue(row.id, EARLIER, row.issue, created_at=when[row.id])
        yield Lesson(row.id, Source.HUMAN, issue, when[row.id], demonstrations=(known,))


def evaluate(
    rows: Sequence[Row],
    foreign: Sequence[Row],
    when: dict[str, datetime],
    options: argparse.Namespace,
    folder: Path,
    results: Results,
) -> None:
    """Teach one repository's history, and recall for its issues and for foreign ones."""
    config = RecallConfig.model_validate(dict(each.split("=", 1) for each in options.set))
    with Store.open(str(folder / "memory.sqlite")) as store:
        repository = Repository.open(rows[0].repository)
        mined = mine(repository, HISTORY, known=lambda keys: store.knows(HISTORY, keys))
        learned = store.learn_many(mined) + store.learn_many(taught(rows, when))
        print(f"{rows[0].repository.parent.name}: {len(rows)} issues, {learned} lessons", flush=True)
        for row in rows:
            gold = gold_of(row, GitSource(row.repository, row.commit))
            paths = suspected(row)
            bounds = Bounds(row.id, Ancestors(row.repository, row.commit), when[row.id])

            def asked(
                arm: str,
                scope: str,
                how: RecallConfig,
                paths: tuple[str, ...] = (),
                bounds: Bounds = bounds,
                row: Row = row,
                gold: Gold = gold,
            ) -> None:
                reader = Recaller(store, scope, bounds, how, folder)
                query = Query(Agent.PATCH, row.id, row.issue, paths=paths)
                results.note(arm, reader.recall(query).demonstrations, gold)

            asked("ours", HISTORY, config, paths)
            asked("ours, without the relevance floor", HISTORY, unbounded(config), paths)
            asked("ours, without suspected files", HISTORY, config)
            asked("paper's retriever on the paper's pool", EARLIER, PAPER)
            asked("ours on the paper's pool", EARLIER, config, paths)
            if options.paper:
                asked("paper's retriever on our pool", HISTORY, PAPER)
        newest = max(rows, key=lambda row: when[row.id])
        bounds = Bounds("", Ancestors(newest.repository, newest.commit))
        reader = Recaller(store, HISTORY, bounds, config, folder)
        for row in foreign:
            for arm, paths in (("foreign issues, text alone", ()), ("foreign issues", suspected(row))):
                found = reader.recall(Query(Agent.PATCH, row.id, row.issue, paths=paths))
                results.foreign.setdefault(arm, []).append(len(found.demonstrations))


@cache
def suspected(row: Row) -> tuple[str, ...]:
    """The files that the ranking suspects in the issue's own repository."""
    history = History(row.repository, row.commit)
    ranker = Ranker(GitSource(row.repository, row.commit), history, RankingConfig(top_files=20))
    return tuple(file.path for file in ranker.rank(row.issue).files)


def unbounded(config: RecallConfig) -> RecallConfig:
    """The same without a floor."""
    return config.model_copy(update={"issue_floor": 0.0, "failure_floor": 0.0, "touching_floor": 0.0})


def main() -> None:
    """Evaluate and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("dataset", type=Path)
    parser.add_argument("--mirrors", type=Path, required=True)
    parser.add_argument("--work", type=Path, help="keeps stores and indexes for the next time")
    parser.add_argument("--repo", default="")
    parser.add_argument("--set", nargs="*", default=[], help="settings of RecallConfig")
    parser.add_argument("--foreign", type=int, default=100, help="issues of other repositories")
    parser.add_argument("--paper", action="store_true", help="the paper's retriever on our pool too: slow")
    options = parser.parse_args()
    when = instances(options.dataset)
    every: dict[Path, list[Row]] = {}
    for row in read_rows(options.dataset, options.mirrors):
        every.setdefault(row.repository, []).append(row)
    results = Results()
    with TemporaryDirectory() as temporary:
        for repository, rows in every.items():
            if options.repo.replace("/", "__") in str(repository).replace("+", "__"):
                others = [row for other, found in every.items() if other != repository for row in found]
                step = max(1, len(others) * len(every) // (options.foreign or 1))
                folder = (options.work or Path(temporary)) / repository.parent.name
                folder.mkdir(parents=True, exist_ok=True)
                foreign = others[::step] if options.foreign else []
                evaluate(rows, foreign, when, options, folder, results)
    results.print()


if __name__ == "__main__":
    main()
