"""How many repairs an hour a campaign makes, what experepair itself takes of a repair, and what kill -9 does to a campaign.

    python benchmarks/campaign.py throughput DATASET --mirrors DIR --environments FILE [--limit 40] [--at-once 1,2,4,8] [--small]
    python benchmarks/campaign.py resume DATASET --mirrors DIR --environments FILE [--kills 20] [--small]

A stub on this machine answers after --call-s seconds, and always so that a repair takes its whole way: the reproduction wants a file that
the patches make. Sandboxes and tests are real. Overhead of a repair: its wall time less the union of all intervals in which a call or
an execution ran, both from its journal. The first campaign is cold (checkouts, indexes, set-ups) and reported apart.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

from experepair.bench.metrics.spans import busy_s, span_s
from experepair.journal.entries import Entry, Intent, Learned, Replied
from experepair.journal.reading import read_journal
from experepair.llm.stub import Answer, Asked, StubProvider

REPOSITORIES = ("pytest-dev/pytest", "pallets/flask", "sympy/sympy", "django/django")
MARKER = "experepair_stub_marker.py"
SCRIPT = f"""The file is missing.
```python
import pathlib


def test_the_file_is_there():
    assert pathlib.Path({MARKER!r}).exists(), "no file"
```
"""
PATCH = "A file is missing.\n<file>{file}</file>\n<original>\n</original>\n<patched>\nNUMBER = {number}\n</patched>\n"
ANSWERS = {
    "write a minimal Python script that reproduces": SCRIPT,
    "decide whether the failure that its output shows": "It is missing.\n<verdict>yes</verdict>",
    "choose the files that must be changed": "<files>\n{path}\n</files>",
    "name the places in these files": "<places>\n{path}\n</places>",
    "write a validation test": SCRIPT,
    "choose the patch that resolves the issue best": "The first.\n<choice>{choice}</choice>",
    "bring their insights up to date": "Nothing new.\n```json\n```",
}


def answer(asked: Asked, call_s: float, *, same: bool) -> Answer:
    """What lets every repair go its whole way; with `same` equal requests get equal answers."""
    text = asked.text
    for task, reply in ANSWERS.items():
        if task in text:
            path = text.partition('<code path="')[2].partition('"')[0]
            choice = text.rpartition('<candidate name="')[2].partition('"')[0] or "P1.1"
            return Answer(reply.replace("{path}", path).replace("{choice}", choice), delay_s=call_s)
    digest = int(sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12], 16)
    number = digest if same else random.randrange(10**9)  # noqa: S311 - candidates that differ
    return Answer(PATCH.format(file=MARKER, number=number), delay_s=call_s)


@dataclass(frozen=True)
class Options:
    """What every campaign here is given."""

    dataset: Path
    mirrors: Path
    environments: Path
    instances: tuple[str, ...]
    url: str
    work: Path


def command(options: Options, out: Path, at_once: int, *more: str) -> list[str]:
    """A campaign's command line."""
    return [
        sys.executable, "-m", "experepair", "bench", "run", str(options.dataset),
        "--mirrors", str(options.mirrors), "--environments", str(options.environments),
        "--instances", ",".join(options.instances), "--out", str(out), "--jobs", str(at_once),
        "--model", "openai:stub", "--base-url", f"{options.url}/v1", "--price", "1/1", "--no-scripts", *more,
    ]  # fmt: skip


def chosen(dataset: Path, survey: Path | None, limit: int) -> tuple[str, ...]:
    """Instances of the four repositories in turn, those that run here if that is known."""
    rows = [json.loads(line) for line in dataset.read_text().splitlines()]
    known = json.loads(survey.read_text()) if survey else {}
    by_repository = {
        repo: [
            row["instance_id"]
            for row in rows
            if row["repo"] == repo
            and known.get(row["instance_id"], {"status": "RUNNABLE"})["status"] == "RUNNABLE"
        ]
        for repo in REPOSITORIES
    }
    turns: list[str] = []
    for place in range(max(map(len, by_repository.values()))):
        turns += [ids[place] for ids in by_repository.values() if place < len(ids)]
    return tuple(turns[:limit])


def journals(out: Path) -> dict[str, tuple[Entry, ...]]:
    """By instance."""
    return {
        path.parent.name: read_journal(path) for path in sorted(out.glob("inference/*/runs/*/journal.jsonl"))
    }


def shares(entries: Iterable[Sequence[Entry]]) -> list[float]:
    """Overhead of repairs, as shares of their wall time."""
    return sorted(1 - busy_s(each) / span_s(each) for each in entries)


def throughput(options: Options, levels: Sequence[int], *, cold: bool) -> None:
    """Print repairs an hour at each level, and overheads."""
    print(f"{len(options.instances)} instances", flush=True)
    print(
        f"{'':<10}{'wall s':>9}{'an hour':>9}{'times':>7}{'a repair s':>12}{'overhead':>10}{'most':>7}{'done':>6}"
    )
    alone = 0.0
    first = [("cold, 1", levels[0])] if cold else []
    for label, at_once in [*first, *((str(level), level) for level in levels)]:
        out = options.work / f"campaign-{label.replace(', ', '-')}"
        started = time.monotonic()
        done = subprocess.run(command(options, out, at_once), capture_output=True, text=True, check=False)
        wall = time.monotonic() - started
        runs = journals(out)
        if not runs:
            sys.exit(done.stderr)
        hourly = 3600 * len(runs) / wall
        alone = hourly if label == str(levels[0]) else alone
        overheads = shares(runs.values())
        repair = sum(span_s(each) for each in runs.values()) / len(runs)
        ended = sum(path.exists() for path in out.glob("inference/*/runs/*/patch.diff"))
        times = f"{hourly / alone:.2f}" if alone else ""
        print(
            f"{label:<10}{wall:9.0f}{hourly:9.1f}{times:>7}{repair:12.1f}"
            f"{100 * overheads[len(overheads) // 2]:9.1f}%{100 * overheads[-1]:6.1f}%{ended:6}",
            flush=True,
        )
        if done.returncode:
            print(done.stderr[-2000:])


def resume(options: Options, kills: int, at_once: int) -> None:
    """Kill a campaign at random times, go on each time, and compare it with an undisturbed one."""
    calm, shaken = options.work / "calm", options.work / "shaken"
    started = time.monotonic()
    subprocess.run(command(options, calm, at_once), capture_output=True, check=False)
    wall = time.monotonic() - started
    print(f"undisturbed: {wall:.0f} s", flush=True)
    more: tuple[str, ...] = ()
    killed = 0
    while True:
        child = subprocess.Popen(
            command(options, shaken, at_once, *more), stderr=subprocess.PIPE, start_new_session=True
        )
        try:
            child.communicate(timeout=random.uniform(1, 1.5 * wall / kills) if killed < kills else None)  # noqa: S311
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            child.communicate()
            killed += 1
        else:
            break
        more = ("--resume",) if (shaken / "campaign.json").exists() else ()
    print(f"killed {killed} times, then it came to its end", flush=True)
    compare(journals(calm), journals(shaken))
    ends = [
        {path.parent.name: ending(path) for path in out.glob("inference/*/runs/*/result.json")}
        for out in (calm, shaken)
    ]
    print(f"same endings, places, scripts, candidates and patches: {ends[0] == ends[1]}")


def ending(path: Path) -> str:
    """What a result says, but for what names the run and what it took, and which existing tests came to their end in time."""
    result = json.loads(path.read_text())
    for varying in ("run_id", "spending", "elapsed_s", "memory", "table", "notes", "existing_tests"):
        result.pop(varying)
    return json.dumps(result, sort_keys=True)


def compare(calm: dict[str, tuple[Entry, ...]], shaken: dict[str, tuple[Entry, ...]]) -> None:
    """What must be equal, and what must not be there twice."""
    print(f"same instances: {calm.keys() == shaken.keys()}")
    twice = ended = 0
    for entries in shaken.values():
        intents = {entry.call: entry for entry in entries if isinstance(entry, Intent)}
        replied = [intents[entry.call] for entry in entries if isinstance(entry, Replied)]
        paid = [(one.key, one.sample, one.occurrence) for one in replied]
        twice += len(paid) - len(set(paid))
        ended += sum(isinstance(entry, Learned) and entry.new for entry in entries) == 1
    print(f"journalled replies that were paid twice: {twice}; learned exactly once: {ended} of {len(shaken)}")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("throughput", "resume"))
    parser.add_argument("dataset", type=Path)
    parser.add_argument("--mirrors", type=Path, required=True)
    parser.add_argument("--environments", type=Path, required=True)
    parser.add_argument("--survey", type=Path, help="JSON by instance: status RUNNABLE or not")
    parser.add_argument("--limit", type=int, default=40)
    parser.add_argument("--at-once", default="1,2,4,8")
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--call-s", type=float, default=2.0)
    parser.add_argument(
        "--small", action="store_true", help="8 instances at 1 and 4; 4 instances and 5 kills"
    )
    parser.add_argument("--warm", action="store_true", help="leave out the cold campaign: the cache is warm")
    parser.add_argument(
        "--existing-tests-s", type=float, default=60.0, help="wall time for existing tests on one candidate"
    )
    parser.add_argument("--work", type=Path, help="keeps campaigns for a look")
    given = parser.parse_args()
    os.environ["EXPEREPAIR_REPAIR__EXISTING_TESTS_TIME_S"] = str(given.existing_tests_s)
    throughput_wanted = given.what == "throughput"
    limit = (8 if throughput_wanted else 4) if given.small else given.limit
    levels = [1, 4] if given.small else [int(level) for level in given.at_once.split(",")]
    with (
        TemporaryDirectory() as temporary,
        StubProvider(partial(answer, call_s=given.call_s, same=not throughput_wanted)) as stub,
    ):
        work = given.work or Path(temporary)
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir(parents=True)
        options = Options(
            given.dataset, given.mirrors, given.environments, chosen(given.dataset, given.survey, limit),
            stub.url, work,
        )  # fmt: skip
        if throughput_wanted:
            throughput(options, levels, cold=not given.warm)
        else:
            resume(options, 5 if given.small else given.kills, 4)


if __name__ == "__main__":
    main()
