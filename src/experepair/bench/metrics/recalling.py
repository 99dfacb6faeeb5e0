"""How often recalled fixes touch what the maintainers' fixes change, beside the paper's retriever; and what a foreign issue recalls.

Each repository's history is learned, and each issue recalls what it may see: mined commits that are ancestors of its base
commit. The query is the statement, with the files that the ranking suspects. A hit: one of the five recalled fixes changes a file of
the maintainers' fix (a definition of the name of one that it changes, in such a file). The peer is the paper's retriever on the
paper's pool: earlier issues of the dataset with their fixes. Issues of other repositories should recall nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from experepair.bench.instance import Answer, Instance
from experepair.bench.metrics.gold import Gold, gold_of
from experepair.bench.mirrors import Mirrors
from experepair.bench.report.tables import Table
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

PAPER = RecallConfig.model_validate({"retriever": "paper", "affinity_weight": 0.0})
HISTORY, EARLIER = "history", "earlier instances"
_TOP_FILES = 20
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Found:
    """What one arm recalled for one issue."""

    file: bool
    function: bool | None
    precise: float
    recalled: int


@dataclass
class Results:
    """By arm: what issues recalled, and how much foreign issues did."""

    arms: dict[str, list[Found]] = field(default_factory=dict)
    foreign: dict[str, list[int]] = field(default_factory=dict)

    def note(self, arm: str, recalled: Sequence[Demonstration], gold: Gold) -> None:
        """Judge what was recalled by what the fix changed."""
        names = {name.rpartition(".")[2] for _, name in gold.functions}
        right = [bool(gold.files & set(each.paths)) for each in recalled]
        same = [hit and bool(names & set(each.functions)) for each, hit in zip(recalled, right, strict=True)]
        found = Found(any(right), any(same) if names else None, sum(right) / 5, len(recalled))
        self.arms.setdefault(arm, []).append(found)

    def table(self) -> Table:
        """A row an arm."""
        rows = []
        for arm, found in self.arms.items():
            functions = [each.function for each in found if each.function is not None]
            rows.append(
                (
                    arm,
                    f"{share(each.file for each in found):.1f}",
                    f"{share(functions):.1f}",
                    f"{100 * sum(each.precise for each in found) / len(found):.1f}",
                    f"{sum(each.recalled for each in found) / len(found):.1f}",
                    str(len(found)),
                    str(len(functions)),
                )
            )
        notes = tuple(
            f"{arm}: nothing recalled in {share(count == 0 for count in counts):.1f} % of {len(counts)}."
            for arm, counts in self.foreign.items()
        )
        header = ("", "file (%)", "function (%)", "P@5 (%)", "recalled", "n", "n functions")
        return Table("recall", "Recalled fixes that touch what the fix touches", header, tuple(rows), notes)


@dataclass(frozen=True)
class Recalling:
    """What is compared.

    Attributes:
        mirrors: where the repositories are.
        work: folder of stores and indexes; what is there is used again.
        config: of our retriever.
        foreign: issues of other repositories that each repository is asked with.
        paper_on_history: also the paper's retriever on our pool, which is slow.
        tell: is called with what was learned.
    """

    mirrors: Mirrors
    work: Path
    config: RecallConfig = field(default_factory=RecallConfig)
    foreign: int = 100
    paper_on_history: bool = False
    tell: Callable[[str], None] = lambda note: None


def evaluate(
    instances: Sequence[Instance], answers: Mapping[str, Answer], asked: Recalling, only: str = ""
) -> Results:
    """Recall for every issue.

    Args:
        instances: whose issues ask; those of other repositories are the foreign ones.
        answers: what their fixes changed.
        asked: how.
        only: OWNER/NAME of the one repository that is evaluated; "" means all.

    Raises:
        UsageError: a repository or commit can't be had.
    """
    every: dict[str, list[Instance]] = {}
    for one in instances:
        every.setdefault(one.repo, []).append(one)
    results = Results()
    for repo, own in every.items():
        if only in ("", repo):
            others = [
                one.problem_statement for other, found in every.items() if other != repo for one in found
            ]
            step = max(1, len(others) * len(every) // (asked.foreign or 1))
            _evaluate(own, answers, others[::step] if asked.foreign else [], asked, results)
    return results


def _evaluate(
    own: Sequence[Instance],
    answers: Mapping[str, Answer],
    foreign: Sequence[str],
    asked: Recalling,
    results: Results,
) -> None:
    """Teach one repository's history, and recall for its issues and for foreign ones."""
    folder = asked.work / own[0].repo.replace("/", "+")
    folder.mkdir(parents=True, exist_ok=True)
    with Store.open(str(folder / "memory.sqlite")) as store:
        newest = max(own, key=lambda one: one.created_at or _EPOCH)
        repository = asked.mirrors.open(newest)
        mined = mine(repository, HISTORY, known=lambda keys: store.knows(HISTORY, keys))
        learned = store.learn_many(mined) + store.learn_many(_taught(own, answers, asked.mirrors))
        asked.tell(f"{own[0].repo}: {len(own)} issues, {learned} lessons")
        for one in own:
            _ask(one, answers[one.id], store, folder, asked, results)
        _ask_foreign(foreign, repository, newest, store, folder, asked, results)


def _ask(
    one: Instance, answer: Answer, store: Store, folder: Path, asked: Recalling, results: Results
) -> None:
    repository = asked.mirrors.open(one)
    gold = gold_of(answer.patch, GitSource(repository.root, one.base_commit))
    paths = _suspects(_ranker(repository, one), one.problem_statement)
    bounds = Bounds(one.id, Ancestors(repository.root, one.base_commit), one.created_at)
    config = asked.config
    arms = [
        ("ours", HISTORY, config, paths),
        ("ours, without the relevance floor", HISTORY, unbounded(config), paths),
        ("ours, without suspected files", HISTORY, config, ()),
        ("paper's retriever on the paper's pool", EARLIER, PAPER, ()),
        ("ours on the paper's pool", EARLIER, config, paths),
    ]
    if asked.paper_on_history:
        arms.append(("paper's retriever on our pool", HISTORY, PAPER, ()))
    for arm, scope, how, suspected in arms:
        query = Query(Agent.PATCH, one.id, one.problem_statement, paths=suspected)
        results.note(arm, Recaller(store, scope, bounds, how, folder).recall(query).demonstrations, gold)


def _ask_foreign(
    texts: Sequence[str],
    repository: Repository,
    newest: Instance,
    store: Store,
    folder: Path,
    asked: Recalling,
    results: Results,
) -> None:
    ranker = _ranker(repository, newest)
    bounds = Bounds("", Ancestors(repository.root, newest.base_commit))
    reader = Recaller(store, HISTORY, bounds, asked.config, folder)
    for text in texts:
        for arm, suspected in (
            ("foreign issues", ()),
            ("foreign issues, suspected files of ours", _suspects(ranker, text)),
        ):
            found = reader.recall(Query(Agent.PATCH, "foreign", text, paths=suspected))
            results.foreign.setdefault(arm, []).append(len(found.demonstrations))


def _taught(own: Sequence[Instance], answers: Mapping[str, Answer], mirrors: Mirrors) -> Iterator[Lesson]:
    """The paper's pool: issues of the dataset with their fixes."""
    for one in own:
        patch, at = answers[one.id].patch, one.created_at or _EPOCH
        gold = gold_of(patch, GitSource(mirrors.open(one).root, one.base_commit))
        known = Demonstration(
            one.id,
            Agent.PATCH,
            one.id,
            one.problem_statement,
            patch,
            origin=Origin.HUMAN,
            created_at=one.created_at,
            paths=tuple(sorted(gold.files)),
            functions=tuple(sorted({name.rpartition(".")[2] for _, name in gold.functions})),
        )
        issue = Issue(one.id, EARLIER, one.problem_statement, created_at=one.created_at)
        yield Lesson(one.id, Source.HUMAN, issue, at, demonstrations=(known,))


def _ranker(repository: Repository, one: Instance) -> Ranker:
    return Ranker(
        GitSource(repository.root, one.base_commit),
        History(repository.root, one.base_commit),
        RankingConfig(top_files=_TOP_FILES),
    )


def _suspects(ranker: Ranker, text: str) -> tuple[str, ...]:
    return tuple(file.path for file in ranker.rank(text).files)


def unbounded(config: RecallConfig) -> RecallConfig:
    """The same without a floor."""
    return config.model_copy(update={"issue_floor": 0.0, "failure_floor": 0.0, "touching_floor": 0.0})


def share(values: Iterable[bool]) -> float:
    """Of what is true, in percent."""
    listed = list(values)
    return 100 * sum(listed) / (len(listed) or 1)
