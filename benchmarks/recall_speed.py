"""CPU time of a whole recall, of learning one issue and finding it, and memory, by the number of demonstrations.

    python benchmarks/recall_speed.py DATASET [--sizes 1000 10000 100000] [--peer 10000] [--work DIR] [--generated]

Demonstrations are made of sentences of the dataset's issues and lines of its patches, with names that occur nowhere
else; every third answers a failure. Queries are whole problem statements, and the same with 300 lines of failed output. A
recall asks the store for its head and the five texts, and the index for the rest. With --generated the texts come from
memory instead of the store (a million are learned in minutes, not an hour). Each phase is a process of its own: the
resident memory is the recalling one's. The peer is rank_bm25 over plain words, kept in memory, and made anew for each query as
the paper's released code does it.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import resource
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from experepair.domain.issue import Issue
from experepair.domain.memory import Demonstration, Failure, Insight, Query
from experepair.domain.roles import Agent
from experepair.memory.config import RecallConfig
from experepair.memory.eligibility import Bounds
from experepair.memory.lesson import Lesson, Source
from experepair.memory.recall import Recaller
from experepair.memory.store import Change, State, Store, Stored

SCOPE = "speed"
QUERIES, PEER_QUERIES, ADDED = 15, 3, 10
AT = datetime(2020, 1, 1, tzinfo=UTC)


class Texts:
    """What demonstrations and queries are made of; the same each time."""

    def __init__(self, dataset: Path) -> None:
        rows = [json.loads(line) for line in dataset.read_text().splitlines()]
        self.issues = [row["problem_statement"] for row in rows]
        self.sentences = [
            each for issue in self.issues for each in re.split(r"(?<=[.\n]) +|\n+", issue) if each
        ]
        self.lines = [line for row in rows for line in row["patch"].splitlines() if line[:1] in "+- "]
        self.tests = [line for row in rows for line in row["test_patch"].splitlines() if line[:1] in "+- "]

    def demonstration(self, number: int) -> Demonstration:
        """One of about 120 words of issue and 70 of patch."""
        chance = random.Random(number)  # noqa: S311  (no secret)
        issue = _words(chance, self.sentences, 118) + f" alpha_{number}x beta{number}y"
        failure = None
        if number % 3 == 0:
            failure = Failure(_words(chance, self.lines, 60), "\n".join(chance.choices(self.tests, k=25)))
        paths = (f"package/module{chance.randrange(800)}.py",)
        success = "\n".join(chance.choices(self.lines, k=12))
        return Demonstration(
            f"d{number}", Agent.PATCH, f"i{number}", issue, success, failure, created_at=AT, paths=paths
        )

    def lesson(self, number: int) -> Lesson:
        """That teaches it."""
        known = self.demonstration(number)
        issue = Issue(known.issue_id, SCOPE, known.issue, created_at=AT)
        return Lesson(f"run:{number}", Source.RUN, issue, AT, demonstrations=(known,))

    def queries(self, lines: int) -> list[Query]:
        """Whole issues, and the same number of lines of failed output."""
        chance = random.Random(7)  # noqa: S311
        paths = tuple(f"package/module{number}.py" for number in range(20))
        return [
            Query(
                Agent.PATCH,
                "now",
                issue,
                Failure("", "\n".join(chance.choices(self.tests, k=lines))) if lines else None,
                paths,
            )
            for issue in chance.sample(self.issues, QUERIES)
        ]


def _words(chance: random.Random, pieces: Sequence[str], length: int) -> str:
    words: list[str] = []
    while len(words) < length:
        words += chance.choice(pieces).split()
    return " ".join(words[:length])


class Generated:
    """Stands in for a store: its texts are made when they are asked for."""

    identity = "generated"

    def __init__(self, texts: Texts, size: int) -> None:
        self._texts, self._size = texts, size

    def head(self, scope: str, agent: Agent) -> int:
        """One event a demonstration."""
        del scope, agent
        return self._size

    def changes(self, scope: str, agent: Agent, after: int, limit: int) -> list[Change]:
        """In order."""
        del scope, agent
        numbers = range(after, min(self._size, after + limit))
        return [Change(number + 1, f"d{number}", self._texts.demonstration(number)) for number in numbers]

    def demonstrations(self, ids: Sequence[str]) -> Mapping[str, Stored]:
        """By id."""
        known = [self._texts.demonstration(int(name[1:])) for name in ids]
        return {each.id: Stored(each, State.ACCEPTED, 1, SCOPE, "") for each in known}

    def present(self, scope: str, agent: Agent) -> tuple[Insight, ...]:
        """None."""
        del scope, agent
        return ()


@dataclass(frozen=True)
class Task:
    """One size, and where it is kept."""

    dataset: Path
    size: int
    folder: Path
    generated: bool


def opened(task: Task) -> tuple[Texts, Any]:
    """Texts, and the store."""
    texts = Texts(task.dataset)
    if task.generated:
        return texts, Generated(texts, task.size)
    return texts, Store.open(str(task.folder / "memory.sqlite"))


def build(task: Task) -> dict[str, float]:
    """Teach the store, and make the index by a first recall."""
    texts, store = opened(task)
    started = time.process_time()
    if not task.generated:
        store.learn_many(texts.lesson(number) for number in range(task.size))
    taught = time.process_time()
    reader(task, store).recall(texts.queries(0)[0])
    return {"learn_s": taught - started, "index_s": time.process_time() - taught} | resident()


def measure(task: Task) -> dict[str, float]:
    """Recall as a repair does."""
    texts, store = opened(task)
    found: dict[str, float] = {}
    recaller = reader(task, store)
    recaller.recall(texts.queries(0)[0])
    for name, lines in (("issue", 0), ("trace", 300)):
        times = [spent(partial(recaller.recall, query)) for query in texts.queries(lines)]
        found |= {f"{name}_ms": median(times), f"{name}_most_ms": max(times)}
    found |= resident()
    if not task.generated:
        found["add_ms"] = median(spent(step) for step in additions(task, texts, store, recaller))
    return found


def additions(task: Task, texts: Texts, store: Store, recaller: Recaller) -> Iterator[Callable[[], None]]:
    """Learning one issue and finding it, several times."""
    base = time.time_ns()
    for number in range(ADDED):
        lesson = texts.lesson(base + number)
        query = Query(Agent.PATCH, "now", lesson.issue.text)

        def step(lesson: Lesson = lesson, query: Query = query) -> None:
            store.learn(lesson)
            found = recaller.recall(query).demonstrations
            assert found[0].issue_id == lesson.issue.id, "what was learned isn't found"

        yield step


def peer(task: Task) -> dict[str, float]:
    """rank_bm25 over plain words: kept in memory, and made for each query."""
    from rank_bm25 import BM25Okapi  # type: ignore[import-untyped]

    texts = Texts(task.dataset)
    documents = []
    for number in range(task.size):
        known = texts.demonstration(number)
        failure = known.failure.feedback if known.failure else ""
        documents.append(f"{known.issue} {known.success} {failure}".lower().split())
    kept = BM25Okapi(documents)
    found: dict[str, float] = {}
    for name, lines in (("issue", 0), ("trace", 300)):
        asked = [
            f"{query.issue} {query.failure.feedback if query.failure else ''}".lower().split()
            for query in texts.queries(lines)[:PEER_QUERIES]
        ]
        found[f"{name}_ms"] = median(spent(partial(kept.get_scores, words)) for words in asked)
        anew = [spent(lambda words=words: BM25Okapi(documents).get_scores(words)) for words in asked]  # type: ignore[misc]
        found[f"{name}_anew_ms"] = median(anew)
    return found | resident()


def reader(task: Task, store: Any) -> Recaller:
    """As a repair has it."""
    return Recaller(store, SCOPE, Bounds("now"), RecallConfig(), task.folder)


def spent(step: Callable[[], object]) -> float:
    """CPU time in milliseconds."""
    started = time.process_time()
    step()
    return 1000 * (time.process_time() - started)


def resident() -> dict[str, float]:
    """The most memory that this process held."""
    return {"rss_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}


def apart(phase: Callable[[Task], dict[str, float]], task: Task) -> dict[str, float]:
    """Run a phase in a process of its own."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(phase, task).result()


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("dataset", type=Path)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1000, 10_000, 100_000])
    parser.add_argument("--peer", type=int, default=10_000, help="largest size for rank_bm25")
    parser.add_argument("--work", type=Path)
    parser.add_argument("--generated", action="store_true")
    options = parser.parse_args()
    with TemporaryDirectory() as temporary:
        for size in options.sizes:
            folder = (options.work or Path(temporary)) / f"{size}{'-generated' * options.generated}"
            made = folder.exists()
            folder.mkdir(parents=True, exist_ok=True)
            task = Task(options.dataset, size, folder, options.generated)
            phases = [] if made else [build]
            phases += [measure] + [peer] * (size <= options.peer)
            for phase in phases:
                found = apart(phase, task)
                shown = "  ".join(f"{name} {value:.1f}" for name, value in found.items())
                print(f"{size:>8} {phase.__name__:<8} {shown}", flush=True)


if __name__ == "__main__":
    main()
