"""Repairs on a real Ray cluster of two machines' worth of processes: one killed, one stopped past the lease.

Ray is about 240 MB and takes half a minute to start here, so it isn't among what `make test` installs: `make soak`.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import pausing
import toy
import toy_bench
from clusters import postgres, postgres_programs
from experepair.bench.campaign.arms import Arm
from experepair.bench.campaign.progress import Progress
from experepair.bench.campaign.run import Asked, run
from experepair.bench.campaign.start import memory_of
from experepair.bench.campaign.work import Bench
from experepair.bench.cluster.config import ClusterConfig
from experepair.bench.cluster.engine import RayEngine
from experepair.domain.roles import Role
from experepair.errors import UsageError
from experepair.journal.entries import Intent, Learned, Replied, RunStarted
from experepair.journal.lease import LeaseConfig
from experepair.journal.reading import read_journal
from experepair.memory.store import Store

pytestmark = [
    pytest.mark.skipif(find_spec("ray") is None, reason="Ray isn't installed: make soak"),
    pytest.mark.filterwarnings("ignore"),  # Ray's own, of sockets and processes that it leaves
]  # Ray itself is imported by the fixture: it reads how to authenticate when it is imported
WORDS = (
    "while averaging the marks of a school class that nobody attends since the holidays began there",
    "by a colleague whose sensors sent not one measurement through all of last Tuesday's long outage",
    "in the nightly report about orders, on the rare days when the shop sells nothing to anyone at all",
)


class Machines:
    """Two nodes beside the head, each with room for one repair."""

    def __init__(self, cluster: Any) -> None:
        self._cluster = cluster
        self.address: str = cluster.address
        self.nodes = [self.add(), self.add()]

    def add(self) -> Any:
        return self._cluster.add_node(num_cpus=1, resources={"sandbox": 1}, object_store_memory=80 * 2**20)

    def of(self, worker: int) -> Any:
        """The node on which a worker runs."""
        raylet = int(Path(f"/proc/{worker}/stat").read_text().rpartition(")")[2].split()[1])
        return next(node for node in self.nodes if node.all_processes["raylet"][0].process.pid == raylet)

    def kill(self, node: Any) -> None:
        """As when its power is cut: the raylet and all its workers at once."""
        self.signal(node, signal.SIGKILL)
        self.nodes.remove(node)
        self._cluster.remove_node(node, allow_graceful=False)

    def signal(self, node: Any, number: signal.Signals) -> None:
        raylet = node.all_processes["raylet"][0].process.pid
        children = Path(f"/proc/{raylet}/task/{raylet}/children").read_text().split()
        for process in (raylet, *map(int, children)):
            with suppress(ProcessLookupError):
                os.kill(process, number)


@pytest.fixture(scope="module")
def machines() -> Iterator[Machines]:
    patch = pytest.MonkeyPatch()
    patch.setenv("RAY_AUTH_MODE", "token")
    patch.setenv("RAY_AUTH_TOKEN", "0123456789abcdef" * 4)
    here = Path(__file__).parent
    patch.setenv("PYTHONPATH", os.pathsep.join([*map(str, (here, here.parent)), *sys.path]))
    ray, utilities = import_module("ray"), import_module("ray.cluster_utils")

    head = {
        "num_cpus": 0,
        "include_dashboard": False,
        "object_store_memory": 80 * 2**20,
        "_system_config": {
            "health_check_initial_delay_ms": 0,
            "health_check_period_ms": 1000,
            "health_check_timeout_ms": 1000,
            "health_check_failure_threshold": 3,
        },
    }
    cluster = utilities.Cluster(initialize_head=True, head_node_args=head)
    try:
        yield Machines(cluster)
    finally:
        ray.shutdown()
        cluster.shutdown()
        patch.undo()


@pytest.fixture
def store() -> Iterator[str]:
    programs = postgres_programs()
    if programs is None:
        pytest.skip("PostgreSQL isn't installed")
    with postgres(programs) as url:
        yield url


@pytest.fixture
def asked(tmp_path: Path, store: str) -> Asked:
    base = toy.git(toy_bench.mirror(tmp_path / "mirrors"), "rev-parse", "HEAD").strip()
    rows = [
        toy_bench.row(
            base,
            instance_id=f"toys__toy-{number}",
            created_at=f"2024-05-0{number}T00:00:00Z",
            problem_statement=f"{toy.ISSUE}\nSeen {words}.\n",
        )
        for number, words in enumerate(WORDS, start=1)
    ]
    return Asked(
        str(toy_bench.write_rows(tmp_path / "rows.jsonl", *rows)),
        tmp_path / "campaign",
        arms=(Arm.FULL, Arm.NO_INSIGHTS),
        mirrors=tmp_path / "mirrors",
        settings={"python": sys.executable, "repair": {"existing_tests": 0}},
        at_once=4,
        store=store,
        lease=LeaseConfig(length_s=4),
        scripts=False,
    )


def campaign(asked: Asked, machines: Machines, folder: Path, role: Role | None) -> Progress:
    def engine(bench: Bench) -> RayEngine:
        return RayEngine(bench, asked.at_once, ClusterConfig(address=machines.address, tick_s=0.5))

    return run(asked, replay=partial(pausing.model, folder, role), engine=engine)


def meanwhile(folder: Path, act: Callable[[int], None]) -> threading.Thread:
    """Do something to the worker that waits, once one does."""

    def watch() -> None:
        deadline = time.monotonic() + 120
        while not (folder / pausing.REACHED).exists() and time.monotonic() < deadline:
            time.sleep(0.1)
        act(int((folder / pausing.REACHED).read_text()))

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    return thread


def check_whole(asked: Asked, progress: Progress) -> list[int]:
    """Nothing failed, no answer was paid twice, all was learned once.

    Returns:
        of each run, how many processes held it.
    """
    assert (progress.left, progress.failed, progress.stopped) == (0, [], "")
    held = []
    for run_folder in sorted(asked.out.glob("inference/*/runs/*")):
        entries = read_journal(run_folder / "journal.jsonl")
        held.append(sum(isinstance(entry, RunStarted) for entry in entries))
        answered = {entry.call for entry in entries if isinstance(entry, Replied)}
        paid = [
            (entry.key, entry.sample, entry.occurrence)
            for entry in entries
            if isinstance(entry, Intent) and entry.call in answered
        ]
        assert len(paid) == len(set(paid))
        assert sum(entry.new for entry in entries if isinstance(entry, Learned)) == 1
    for home in asked.out.glob("inference/*"):
        with Store.open(memory_of(home, asked.store)) as memory:
            assert sum(memory.scopes().values()) == len(WORDS)
            assert memory.verify() == ()
    return held


def test_a_killed_machine_s_repair_goes_on_elsewhere_from_its_journal(
    asked: Asked, machines: Machines, tmp_path: Path
) -> None:
    killer = meanwhile(tmp_path, lambda worker: machines.kill(machines.of(worker)))
    progress = campaign(asked, machines, tmp_path, Role.VALIDATE)
    killer.join()
    machines.nodes.append(machines.add())
    assert sorted(check_whole(asked, progress))[-1] >= 2
    assert not (tmp_path / pausing.WOKEN).exists()


def test_a_machine_that_is_stopped_past_its_lease_is_replaced_and_harmless_when_it_wakes(
    asked: Asked, machines: Machines, tmp_path: Path
) -> None:
    stopped: list[int] = []

    def stop(worker: int) -> None:
        stopped.append(worker)
        machines.signal(machines.of(worker), signal.SIGSTOP)

    stopper = meanwhile(tmp_path, stop)
    progress = campaign(asked, machines, tmp_path, Role.VALIDATE)
    stopper.join()
    held = check_whole(asked, progress)
    assert sorted(held)[-1] >= 2
    journals = {path: path.read_bytes() for path in asked.out.glob("inference/*/runs/*/*") if path.is_file()}
    node = machines.of(stopped[0])
    (tmp_path / pausing.GO).touch()
    os.kill(stopped[0], signal.SIGCONT)  # before its raylet, which would end it
    deadline = time.monotonic() + 30
    while Path(f"/proc/{stopped[0]}").exists() and not (tmp_path / pausing.WOKEN).exists():
        assert time.monotonic() < deadline
        time.sleep(0.1)
    assert (tmp_path / pausing.WOKEN).exists()
    machines.signal(node, signal.SIGCONT)
    time.sleep(2)  # in which its answer would be appended
    assert {path: path.read_bytes() for path in journals} == journals
    assert check_whole(asked, progress) == held


def test_a_cluster_without_a_token_or_a_server_for_memory_is_refused(
    asked: Asked, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def engine(bench: Bench) -> RayEngine:
        return RayEngine(bench, 1, ClusterConfig(address="127.0.0.1:1"))

    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    with pytest.raises(UsageError, match="without a token"):
        run(asked, replay=partial(pausing.model, tmp_path, None), engine=engine)
