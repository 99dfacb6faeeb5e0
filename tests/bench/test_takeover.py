"""A repair whose worker hangs goes on elsewhere, and the worker can do no harm when it wakes."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import pausing
import toy
import toy_bench
from experepair.bench.campaign.state import Phase, State
from experepair.bench.campaign.work import Bench, Work, do
from experepair.bench.dataset import load
from experepair.bench.mirrors import Mirrors
from experepair.domain.roles import Role
from experepair.journal.entries import Learned, Replied, RunStarted
from experepair.journal.lease import LeaseConfig
from experepair.journal.reading import read_journal
from experepair.memory.store import Store

LEASE = LeaseConfig(length_s=1.5, take_over=True)
SCOPE = "github.com/toys/toy"
WORKER = """
import asyncio, sys
from pathlib import Path
import pausing, test_takeover
from experepair.domain.roles import Role
from experepair.memory.repository import RepositoryMemory

folder, before_learning = Path(sys.argv[1]), sys.argv[2] == "learn"
if before_learning:
    learn = RepositoryMemory.learn

    async def paused(self, trajectory, operations):
        await pausing.pause(folder)
        try:
            return await learn(self, trajectory, operations)
        except Exception as error:
            print("learn:", type(error).__name__, flush=True)
            raise

    RepositoryMemory.learn = paused
role = Role.VALIDATE if not before_learning else None
try:
    print(asyncio.run(test_takeover.done(folder, role)))
except Exception as error:
    print("repair:", type(error).__name__, flush=True)
"""


async def done(folder: Path, role: Role | None, **more: Any) -> str:
    """The whole repair of the toy, as a worker does it."""
    base = toy.git(folder / "mirrors/toys+toy/repo", "rev-parse", "HEAD").strip()
    dataset = load(str(toy_bench.write_rows(folder / "rows.jsonl", toy_bench.row(base))))
    settings = {"python": sys.executable, "repair": {"existing_tests": 0}, **more}
    home = folder / "line"
    work = Work(dataset.instances[0], Phase.INFERENCE, "full", home, home / "runs/1", settings)
    replay = partial(pausing.model, folder, role)
    outcome = await do(
        work, Bench(Mirrors(folder / "clones", folder / "mirrors"), None, lease=LEASE, replay=replay)
    )
    assert outcome is not None
    return outcome.state


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    toy_bench.mirror(tmp_path / "mirrors")
    return tmp_path


@contextmanager
def hanging(folder: Path, where: str) -> Iterator[subprocess.Popen[str]]:
    """A worker that is stopped in a call to a model, or just before it learns."""
    tests = str(Path(__file__).parent)
    environment = {"PYTHONPATH": ":".join([tests, str(Path(tests).parent), str(Path(toy.__file__).parent)])}
    process = subprocess.Popen(
        [sys.executable, "-c", WORKER, str(folder), where],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, **environment},
    )
    with process:
        try:
            wait_for(folder / pausing.REACHED)
            process.send_signal(signal.SIGSTOP)
            yield process
        finally:
            process.kill()


def wait_for(path: Path, most_s: float = 60) -> None:
    deadline = time.monotonic() + most_s
    while not path.exists():
        assert time.monotonic() < deadline, f"{path.name} didn't come"
        time.sleep(0.05)


def content(run: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in run.iterdir() if path.is_file()}


def lessons(folder: Path) -> int:
    with Store.open(str(folder / "line/memory.db")) as store:
        assert store.verify() == ()
        return store.scopes().get(SCOPE, 0)


def woken(folder: Path, worker: subprocess.Popen[str]) -> list[str]:
    """What a worker says at its end."""
    (folder / pausing.GO).touch()
    worker.send_signal(signal.SIGCONT)
    return worker.communicate(timeout=60)[0].splitlines()


def test_a_worker_stopped_past_its_lease_cannot_append_when_it_wakes(folder: Path) -> None:
    run = folder / "line/runs/1"
    with hanging(folder, "model") as worker:
        assert asyncio.run(done(folder, Role.VALIDATE)) == State.DONE
        files = content(run)
        assert woken(folder, worker) == ["repair: LeaseLost"]
    assert content(run) == files
    entries = read_journal(run / "journal.jsonl")
    assert [entry.fence for entry in entries if isinstance(entry, RunStarted)] == [1, 2]
    assert [entry.new for entry in entries if isinstance(entry, Learned)] == [True]
    replies = [entry.call for entry in entries if isinstance(entry, Replied)]
    assert len(replies) == len(set(replies))
    assert lessons(folder) == 1


def test_a_worker_stopped_past_its_lease_cannot_learn_even_before_its_successor_has(folder: Path) -> None:
    with hanging(folder, "learn") as worker:
        assert asyncio.run(done(folder, Role.VALIDATE, no_learn=True)) == State.DONE
        files = content(folder / "line/runs/1")
        assert woken(folder, worker) == ["learn: LeaseLost", "repair: LeaseLost"]
    assert content(folder / "line/runs/1") == files
    assert lessons(folder) == 0
