"""The memory of a whole sandbox is held, by a control group or by a watchdog, for each sandbox by itself."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from boxes import Box
from experepair.domain.command import Command, Completed, Ended
from experepair.sandbox import fence
from experepair.sandbox.bubblewrap import BubblewrapSandbox
from experepair.sandbox.cgroup import Group, Parents, find_parents, sweep_groups
from experepair.sandbox.fence import CgroupFence, WatchdogFence, find_fence
from experepair.sandbox.sandbox import Limits
from experepair.sandbox.watchdog import descendants, memory_exceeded, proportional, resident

MANY = """
import os, sys, time
for _ in range({processes}):
    if os.fork() == 0:
        held = bytearray({mb} << 20)
        for page in range(0, len(held), 4096):
            held[page] = 1
        time.sleep(20)
        os._exit(0)
print("started", flush=True)
lost = 0
for _ in range({processes}):
    lost += os.WIFSIGNALED(os.wait()[1])
    if lost:
        print("lost one", flush=True)
        sys.exit(3)
"""
LIMITS = Limits(time_s=15, total_memory_mb=96, disk_mb=32)


@pytest.fixture(scope="module")
def parents() -> Parents:
    found = find_parents()
    if found is None:
        pytest.skip("this user can make no control group here")
    return found


@pytest.fixture(params=["cgroup", "watchdog"])
def fenced_box(box: Box, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Box:
    if request.param == "watchdog":
        monkeypatch.setattr(fence, "_parents", lambda: None)
    else:
        request.getfixturevalue("parents")
    return box


def hog(processes: int, mb: int) -> Command:
    return Command(("{python}", "-c", MANY.format(processes=processes, mb=mb)))


def ended_for_memory(done: Completed) -> bool:
    """The watchdog ends all of it, a control group one process at a time."""
    lost = (done.stdout, done.exit_code) == ("started\nlost one\n", 3)
    return "the whole sandbox" in done.stderr and (lost or done.ended is Ended.KILLED)


@pytest.mark.parametrize(("processes", "mb"), [(1, 300), (20, 15)])
def test_processes_together_can_not_take_more_than_the_limit(
    fenced_box: Box, processes: int, mb: int
) -> None:
    before = time.monotonic()
    done = fenced_box.run(hog(processes, mb), limits=LIMITS)
    assert ended_for_memory(done), done
    assert time.monotonic() - before < 12


def test_each_sandbox_has_its_own_limit(fenced_box: Box) -> None:
    async def scenario(sandbox: BubblewrapSandbox) -> None:
        modest = Command(("{python}", "-c", "x = bytearray(b'x') * (50 << 20); import time; time.sleep(1)"))
        runs = [sandbox.run(command, limits=LIMITS) for command in (hog(20, 15), modest, modest, modest)]
        bomb, *others = await asyncio.gather(*runs)
        assert ended_for_memory(bomb), bomb
        assert [(done.exit_code, done.stderr) for done in others] == [(0, "")] * 3

    fenced_box.use(scenario)


def test_no_limit_is_none(fenced_box: Box) -> None:
    limits = LIMITS.model_copy(update={"total_memory_mb": 0})
    done = fenced_box.python("x = bytearray(b'x') * (200 << 20); print(len(x))", limits=limits)
    assert (done.stdout, done.stderr) == (f"{200 << 20}\n", "")


def test_what_is_shared_counts_once(fenced_box: Box) -> None:
    script = (
        "import os, time\nheld = bytearray(b'x') * (60 << 20)\n"
        "for _ in range(4):\n    if os.fork() == 0:\n        time.sleep(1)\n        os._exit(0)\n"
        "print([os.wait()[1] for _ in range(4)])"
    )
    assert fenced_box.python(script, limits=LIMITS).stdout == "[0, 0, 0, 0]\n"


def test_the_isolation_says_what_holds_the_memory(fenced_box: Box) -> None:
    async def scenario(sandbox: BubblewrapSandbox) -> None:
        name = find_fence().name
        assert sandbox.isolation.memory == name
        assert sandbox.isolation.summary == f"bubblewrap (overlay; memory by {name})"
        assert any("no cgroup" in note for note in sandbox.isolation.notes) == (name == "watchdog")

    fenced_box.use(scenario)


def groups(parents: Parents) -> list[Path]:
    return [group for group in parents.groups if f"-{os.getpid()}-" in group.name]


def test_no_group_is_left_when_a_sandbox_ends_in_any_way(parents: Parents, box: Box) -> None:
    async def scenario(sandbox: BubblewrapSandbox) -> None:
        await sandbox.run(Command(("true",)))
        await sandbox.run(Command(("sleep", "20")), limits=Limits(time_s=0.2))
        task = asyncio.create_task(sandbox.run(Command(("sleep", "20"))))
        await asyncio.sleep(0.1)
        assert groups(parents)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert groups(parents) == []

    box.use(scenario)


@pytest.fixture
def dead_group(parents: Parents, monkeypatch: pytest.MonkeyPatch) -> Iterator[Group]:
    with subprocess.Popen(["true"]) as ended:
        pass
    monkeypatch.setattr("experepair.sandbox.cgroup.os.getpid", lambda: ended.pid)
    group = Group(parents, Limits(), memory_mb=64, processes=8)
    monkeypatch.undo()
    yield group
    group.remove_empty()


def test_the_next_start_removes_empty_groups_of_dead_processes_only(
    parents: Parents, dead_group: Group
) -> None:
    own = Group(parents, Limits(), memory_mb=64, processes=8)
    try:
        with subprocess.Popen([*dead_group.prefix, "sleep", "30"]) as inside:
            time.sleep(0.1)
            kept = len(list(parents.groups))
            assert sweep_groups(parents) == []
            assert len(list(parents.groups)) == kept
            inside.kill()
        removed = sweep_groups(parents)
        assert removed
        assert all(f"-{os.getpid()}-" not in group.name for group in removed)
        assert groups(parents)
    finally:
        own.remove_empty()
    assert groups(parents) == []


def test_removing_a_group_kills_what_is_in_it(parents: Parents) -> None:
    group = Group(parents, Limits(cpus=0.5), memory_mb=64, processes=8)
    with subprocess.Popen([*group.prefix, "sleep", "30"]) as inside:
        time.sleep(0.1)
        asyncio.run(group.remove())
        assert inside.wait(5) == -9
    assert groups(parents) == []


def test_where_no_group_can_be_made_none_is_found(tmp_path: Path) -> None:
    own, mounts = tmp_path / "cgroup", tmp_path / "mountinfo"
    assert find_parents(own, mounts) is None
    own.write_text("4:memory:/\n8:pids:/\n0::/x\n")
    mounts.write_text(
        f"1 2 0:3 / {tmp_path}/memory rw - cgroup cgroup rw,memory\n"
        f"1 2 0:3 / {tmp_path}/pids rw - cgroup cgroup rw,pids\n"
        f"1 2 0:3 / {tmp_path}/unified rw - cgroup2 cgroup2 rw\nshort line\n"
    )
    assert find_parents(own, mounts) is None


def test_with_version_2_groups_are_made_below_the_nearest_folder_that_gives_its_controllers(
    tmp_path: Path,
) -> None:
    """Plain folders in the place of the kernel's, for a version that this machine may not have."""
    own, mounts, top = tmp_path / "cgroup", tmp_path / "mountinfo", tmp_path / "top"
    own.write_text("0::/user/session\n")
    mounts.write_text(f"1 2 0:3 / {top} rw - cgroup2 cgroup2 rw\n")
    for folder, given in (
        (top, "memory pids"),
        (top / "user", "memory pids cpu"),
        (top / "user/session", ""),
    ):
        folder.mkdir()
        (folder / "cgroup.controllers").write_text("cpu memory pids\n" if given else "cpu\n")
        (folder / "cgroup.subtree_control").write_text(given)
        (folder / "cgroup.procs").touch()
    found = find_parents(own, mounts)
    assert found == Parents(2, dict.fromkeys(("memory", "pids", "cpu"), top / "user"))
    made = next(found.groups)
    controls = {path.name: path.read_text() for path in made.iterdir() if path.name != "cgroup.procs"}
    assert controls == {"memory.max": str(64 << 20), "pids.max": "8"}


def test_the_watchdog_sees_grandchildren_and_counts_their_memory() -> None:
    script = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'x=bytearray(b\"x\")*(40<<20); print(1, flush=True); input()'])"
    with subprocess.Popen([sys.executable, "-c", script], stdin=-1, stdout=-1) as process:
        assert process.stdout is not None
        process.stdout.readline()
        found = descendants(process.pid)
        assert len(found) == 2
        assert sum(map(resident, found)) > 40 << 20
        assert 40 << 20 < proportional(found[1]) <= resident(found[1])
        assert "over 30 MiB" in asyncio.run(asyncio.wait_for(memory_exceeded(process.pid, 30), 5))
        process.communicate(b"\n")
    assert sum(map(proportional, found)) == 0


def test_the_best_fence_is_taken(parents: Parents, monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(find_fence(), CgroupFence)
    monkeypatch.setattr(fence, "_parents", lambda: None)
    assert isinstance(find_fence(), WatchdogFence)
    assert find_fence().notes
