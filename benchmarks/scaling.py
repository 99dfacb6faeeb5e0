"""Throughput against workers: real journals with their leases and fsyncs, one real store, a stub for models and executions.

    PYTHONPATH=tests python benchmarks/scaling.py [--workers 1,4,16,64,256] [--repairs 4] [--call-s 0.5] [--processes 2]
                                                  [--postgres] [--repositories 8]

Each worker repairs one issue after another: 16 calls in 8 rounds of `--call-s`, 24 executions that take nothing, entries as
large as those of recorded repairs (docs/scaling.md), then it learns three demonstrations and an insight. What is left of
an ideal line is what journals, leases, store and Python cost.
"""

from __future__ import annotations

import argparse
import asyncio
import multiprocessing
import statistics
import tempfile
import time
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from clusters import postgres, postgres_programs
from experepair.journal.entries import Executed, Intent, Replied, RunStarted, SentPart
from experepair.journal.journal import Journal
from experepair.memory.config import LearnConfig
from experepair.memory.store import Store
from lessons import add, run_lesson

ROUNDS = 8
CALLS = 16
EXECUTIONS = 24
PROMPT = "p" * 16_000
REPLY = "r" * 2_400
OUTPUT = "o" * 4_000
WAIT_S = 600.0


@dataclass(frozen=True, slots=True)
class Told:
    """What a simulation is told.

    Attributes:
        folder: for the journals.
        store: its address.
        workers: of all processes together.
        processes: that share them.
        repairs: of each worker.
        call_s: duration of a call.
        repositories: whose memory is learned.
    """

    folder: Path
    store: str
    workers: int
    processes: int
    repairs: int
    call_s: float
    repositories: int


@dataclass(frozen=True, slots=True)
class Spent:
    """What each repair took: in all, in its appends and in learning, in seconds."""

    repairs: list[float]
    appends: list[float]
    learning: list[float]


def main() -> None:
    """Run one simulation a number of workers."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--workers", default="1,4,16,64,256")
    parser.add_argument("--repairs", type=int, default=4)
    parser.add_argument("--call-s", type=float, default=0.5)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--repositories", type=int, default=8)
    parser.add_argument("--postgres", action="store_true")
    told = parser.parse_args()
    print("| workers | repairs an hour | of the ideal | appends a repair (p50) | learning (p50, most) |")
    print("|---|---|---|---|---|")
    with ExitStack() as stack:
        programs = postgres_programs()
        url = stack.enter_context(postgres(programs, durable=True)) if told.postgres and programs else ""
        for workers in map(int, told.workers.split(",")):
            with tempfile.TemporaryDirectory(prefix="scaling-") as folder:
                each = Told(
                    Path(folder), url or f"{folder}/memory.db", workers, min(told.processes, workers),
                    told.repairs, told.call_s, told.repositories,
                )  # fmt: skip
                report(each, *simulate(each))


def report(told: Told, spent: Spent, wall_s: float) -> None:
    """Print a row."""
    hour = len(spent.repairs) / wall_s * 3600
    ideal = told.workers / (ROUNDS * told.call_s) * 3600
    median = statistics.median
    print(
        f"| {told.workers} | {hour:,.0f} | {hour / ideal:.0%} | {median(spent.appends) * 1000:.0f} ms "
        f"| {median(spent.learning) * 1000:.0f} ms, {max(spent.learning) * 1000:.0f} ms |",
        flush=True,
    )


def simulate(told: Told) -> tuple[Spent, float]:
    """Run all workers.

    Returns:
        what the repairs took, and the wall time from the first start to the last end.
    """
    Store.open(told.store).close()
    context = multiprocessing.get_context("spawn")
    with context.Pool(told.processes) as pool:
        pool.map(_ready, range(told.processes))
        began = time.monotonic()
        parts = pool.starmap(_process, [(told, number) for number in range(told.processes)], chunksize=1)
        wall_s = time.monotonic() - began
    return (
        Spent(
            [value for part in parts for value in part.repairs],
            [value for part in parts for value in part.appends],
            [value for part in parts for value in part.learning],
        ),
        wall_s,
    )


def _ready(number: int) -> int:
    return number


def _process(told: Told, number: int) -> Spent:
    return asyncio.run(_workers(told, number))


async def _workers(told: Told, number: int) -> Spent:
    spent = Spent([], [], [])
    with Store.open(told.store, LearnConfig(lock_wait_s=WAIT_S)) as store:
        async with asyncio.TaskGroup() as group:
            for worker in range(number, told.workers, told.processes):
                group.create_task(_worker(told, worker, store, spent))
    return spent


async def _worker(told: Told, worker: int, store: Store, spent: Spent) -> None:
    for number in range(told.repairs):
        began = time.monotonic()
        await _repair(told, f"{told.workers}-{worker}-{number}", worker % told.repositories, store, spent)
        spent.repairs.append(time.monotonic() - began)


async def _repair(told: Told, name: str, repository: int, store: Store, spent: Spent) -> None:
    appending = 0.0
    with Journal.create(told.folder / f"{name}.jsonl") as journal:
        journal.append(
            RunStarted(
                run_id=name, experepair="0", repository="r", commit="c", issue_id=name, issue="i" * 2000
            )
        )
        part = SentPart(name="all", text=PROMPT, sha256="0" * 64)
        for turn in range(ROUNDS):
            calls = [f"{turn}.{call}" for call in range(CALLS // ROUNDS)]
            before = time.monotonic()
            for call in calls:
                journal.append(Intent(call=call, key=call, role="patch", model="stub", system=part, parts=()))
            appending += time.monotonic() - before
            await asyncio.sleep(told.call_s)
            before = time.monotonic()
            for call in calls:
                journal.append(Replied(call=call, text=REPLY))
            for number in range(EXECUTIONS // ROUNDS):
                journal.append(
                    Executed(key=f"{turn}.{number}", purpose="test", argv=("true",), stdout=OUTPUT)
                )
            appending += time.monotonic() - before
    lesson = replace(
        run_lesson(name, scope=f"example.org/{repository}", operations=add(f"Insight of {name}.")), fence=1
    )
    before = time.monotonic()
    await asyncio.to_thread(store.learn, lesson)
    spent.learning.append(time.monotonic() - before)
    spent.appends.append(appending)


if __name__ == "__main__":
    main()
