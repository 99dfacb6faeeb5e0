"""The store under many writers, under kill -9, and at size, on SQLite and on PostgreSQL.

    PYTHONPATH=tests python benchmarks/memory_store.py [--full] [--only writers,kills,size] [--database sqlite]

Small by default; `--full` runs 32 processes that learn 200 issues each, 200 kills, and a million demonstrations.
PostgreSQL is a throw-away server of Debian's package that waits for the disk; it is left out when it isn't there.
Exits with 1 when anything was lost, doubled or half there.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path

from clusters import postgres, postgres_programs
from experepair.domain.memory import Operation, Use
from experepair.domain.roles import Agent
from experepair.errors import ExpeRepairError
from experepair.memory.lesson import Lesson, Source
from experepair.memory.store import Filter, Store
from lessons import SCOPE, add, edit, run_lesson

CAP = 15
PER_LESSON = 3
"""Demonstrations that `run_lesson` makes."""


def main() -> None:
    """Run what was asked for, and print the figures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--only", default="writers,kills,size")
    parser.add_argument("--database", choices=["sqlite", "postgresql"], default=None)
    parser.add_argument("--folder", type=Path, default=None, help="where the SQLite files go")
    given = parser.parse_args()
    processes, each, kills, size = (32, 200, 200, 1_000_000) if given.full else (4, 25, 20, 20_000)
    wanted = given.only.split(",")
    good = True
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=given.folder)))
        for name, new_url in _databases(stack, folder, given.database):
            print(f"\n{name}")
            if "writers" in wanted:
                good &= writers(new_url("writers"), processes, each)
            if "kills" in wanted:
                good &= killed(new_url("kills"), kills)
            if "size" in wanted and (name == "sqlite" or given.database == name):
                at_size(new_url("size"), size)
    sys.exit(0 if good else 1)


def _databases(
    stack: ExitStack, folder: Path, only: str | None
) -> Iterator[tuple[str, Callable[[str], str]]]:
    if only != "postgresql":
        yield "sqlite", lambda name: str(folder / f"{name}.db")
    programs = postgres_programs()
    if only == "sqlite":
        return
    if programs is None:
        print("PostgreSQL isn't installed")
        return
    url = stack.enter_context(postgres(programs, durable=True))

    def make(name: str) -> str:
        import psycopg

        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(f'CREATE DATABASE "{name}"'.encode())
        return url.replace("/postgres?", f"/{name}?")

    yield "postgresql", make


def writers(url: str, processes: int, each: int) -> bool:
    """Many processes learn and recall at once."""
    Store.open(url).close()
    start = time.monotonic()
    children = [_forked(partial(_write, url, number, each)) for number in range(processes)]
    most = 0
    failed = 0
    with Store.open(url) as store:
        while children:
            most = max(most, *(len(store.present(SCOPE, agent)) for agent in Agent))
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid:
                children.remove(pid)
                failed += status != 0
            else:
                time.sleep(0.05)
        wall = time.monotonic() - start
        lessons = store.scopes().get(SCOPE, 0)
        demonstrations = store.listing(Filter(), limit=1).total
        problems = store.verify()
    wanted = processes * each
    print(
        f"  {processes} processes x {each} issues: {wall:.1f} s ({wanted / wall:.0f} a second); lessons {lessons} "
        f"of {wanted}, demonstrations {demonstrations} of {wanted * PER_LESSON}, most insights of an agent seen "
        f"{most}, processes with errors {failed}, differences from the events {len(problems)}"
    )
    return (lessons, demonstrations, failed, problems) == (wanted, wanted * PER_LESSON, 0, ()) and most <= CAP


def _write(url: str, number: int, each: int) -> None:
    chance = random.Random(number)  # noqa: S311
    with Store.open(url) as store:
        for turn in range(each):
            name = f"{number}-{turn}"
            asked: dict[Agent, list[Operation]] = add(f"Lesson of {name}", agent=Agent.TEST)
            present = store.present(SCOPE, Agent.PATCH)
            asked |= add(f"Lesson of {name}")
            if present:
                asked[Agent.PATCH].append(edit(chance.choice(present), f"Edit by {name}"))
            uses = [Use(one.id, named=chance.random() < 0.2) for one in present]
            lesson = run_lesson(name, operations=asked, uses=uses)
            learned = store.learn(lesson)
            assert learned.new
            assert not store.learn(lesson).new
            assert len(store.demonstrations(learned.demonstrations)) == PER_LESSON


def killed(url: str, kills: int) -> bool:
    """A process that learns is killed again and again; what it was told is on the disk must be there."""
    Store.open(url).close()
    chance = random.Random(1)  # noqa: S311
    acknowledged: set[str] = set()
    for number in range(kills):
        reading, writing = os.pipe()
        pid = _forked(partial(_acknowledge, url, number, writing))
        os.close(writing)
        with open(reading, "rb") as lines:  # noqa: PTH123
            first = lines.readline()
            time.sleep(chance.random() * 0.1)
            os.kill(pid, signal.SIGKILL)
            acknowledged |= {line.decode().strip() for line in (first, *lines) if line.endswith(b"\n")}
        os.waitpid(pid, 0)
    with Store.open(url) as store:
        known = store.knows(SCOPE, acknowledged)
        lessons = store.scopes().get(SCOPE, 0)
        demonstrations = store.listing(Filter(), limit=1).total
        insights = [len(store.present(SCOPE, agent)) for agent in Agent]
        problems = store.verify()
    lost = len(acknowledged - known)
    half = demonstrations - lessons * PER_LESSON
    print(
        f"  {kills} kill -9: {len(acknowledged)} acknowledged, {lost} lost; lessons {lessons}, demonstrations short "
        f"or over {half}, insights {insights}, differences from the events {len(problems)}"
    )
    return (lost, half, problems) == (0, 0, ()) and max(insights) <= CAP


def _acknowledge(url: str, number: int, writing: int) -> None:
    with Store.open(url) as store:
        for turn in range(100_000):
            name = f"{number}-{turn}"
            store.learn(run_lesson(name, operations=add(f"Lesson of {name}")))
            os.write(writing, f"run:{name}\n".encode())


def at_size(url: str, size: int) -> None:
    """Learning a long history, and reading from it by id."""
    with Store.open(url) as store:
        start, cpu = time.monotonic(), time.process_time()
        new = store.learn_many(_mined(size))
        wall, cpu = time.monotonic() - start, time.process_time() - cpu
        stats = store.stats()
        print(
            f"  learn_many of {new} demonstrations: {wall:.1f} s, {cpu:.1f} s CPU here ({new / wall:.0f} a second), "
            f"{stats.size / 1e6:.0f} MB"
        )
        chance = random.Random(2)  # noqa: S311
        for count in (5, 50):
            samples = []
            for _ in range(200):
                ids = [f"mined-{chance.randrange(size)}" for _ in range(count)]
                before = time.process_time()
                assert len(store.demonstrations(ids)) == len(set(ids))
                samples.append((time.process_time() - before) * 1000)
            print(f"  fetch of {count} of {size} by id: p50 {statistics.median(samples):.2f} ms CPU here")
        for what, act in (
            ("head", lambda: store.head(SCOPE, Agent.PATCH)),
            ("present insights", lambda: store.present(SCOPE, Agent.PATCH)),
            ("open", lambda: Store.open(url).close()),
        ):
            samples = []
            for _ in range(50):
                before = time.process_time()
                act()
                samples.append((time.process_time() - before) * 1000)
            print(f"  {what}: p50 {statistics.median(samples):.2f} ms CPU here")


def _mined(size: int) -> Iterator[Lesson]:
    base = run_lesson("mined")
    diff = base.patch + "".join(f" line {number} of the context of a change\n" for number in range(30))
    for number in range(size):
        issue = replace(
            base.issue, id=f"commit-{number}", text=f"Fix {number}\n\nWhat was wrong with {number}."
        )
        shown = replace(
            base.demonstrations[1], id=f"mined-{number}", issue_id=issue.id, issue=issue.text, success=diff
        )
        yield Lesson(f"commit:{number}", Source.HISTORY, issue, base.at, str(number), demonstrations=(shown,))


def _forked(work: Callable[[], None]) -> int:
    """Run in a child that has everything imported already; its exit status says whether it failed."""
    pid = os.fork()
    if pid:
        return pid
    status = 1
    try:
        work()
        status = 0
    except (ExpeRepairError, AssertionError) as error:
        print(f"  child: {error!r}", file=sys.stderr)
    finally:
        os._exit(status)


if __name__ == "__main__":
    main()
