"""Limits hold, and nothing is left behind, however a command ends."""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import experepair
from boxes import Box
from experepair.domain.command import Command, Ended
from experepair.sandbox.bubblewrap import BubblewrapSandbox
from experepair.sandbox.bwrap_command import Copy
from experepair.sandbox.launcher import launcher
from experepair.sandbox.run_folder import sweep
from experepair.sandbox.sandbox import Limits

FORK = """
import os, time
count = 0
try:
    while count < 200:
        if os.fork() == 0:
            time.sleep(30)
            os._exit(0)
        count += 1
except OSError as error:
    print(error.strerror)
print(count)
"""


def running(mark: str) -> list[str]:
    """Command lines of all processes, anywhere, that hold `mark`."""
    found = []
    for process in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            line = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            if mark in line:
                found.append(line)
    return found


def mounts(folder: Path) -> list[str]:
    """What is mounted outside that may come from a sandbox; other programs mount things, too."""
    lines = Path("/proc/self/mountinfo").read_text().splitlines()
    return [line for line in lines if any(word in line for word in ("/stage", " scratch ", str(folder)))]


def eventually(condition: Callable[[], bool], within_s: float = 5.0) -> bool:
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.05)
    return condition()


@pytest.fixture
def mark() -> str:
    """A number of seconds that no other sleep has."""
    return f"31.{secrets.randbelow(10**9):09}"


@pytest.fixture(autouse=True)
def nothing_left(box: Box, mark: str) -> Iterator[None]:
    yield
    assert eventually(lambda: not running(mark)), running(mark)
    assert mounts(box.tree.parent) == []
    assert not list(box.run_root.glob("*"))


def test_a_fork_bomb_is_stopped(any_box: Box) -> None:
    done = any_box.python(FORK, limits=Limits(time_s=20, processes=40))
    reason, count = done.stdout.split("\n")[:2]
    assert reason == "Resource temporarily unavailable"
    assert 30 <= int(count) < 40


def test_each_execution_has_its_own_process_limit(box: Box) -> None:
    async def scenario(sandbox: BubblewrapSandbox) -> None:
        limits = Limits(time_s=20, processes=40)
        command = Command(("{python}", "-c", FORK + "time.sleep(0.3)"))
        results = await asyncio.gather(*(sandbox.run(command, limits=limits) for _ in range(3)))
        assert all(30 <= int(done.stdout.split("\n")[1]) < 40 for done in results), results

    box.use(scenario)


@pytest.mark.parametrize("copy", [Copy.OVERLAY, Copy.COPIED])
def test_the_disk_can_not_be_filled(box: Box, copy: Copy) -> None:
    box.copies = (copy,)
    text = "for place in . /tmp ~ /dev/shm; do head -c 30000000 /dev/zero >$place/f; wc -c <$place/f; rm $place/f; done"
    done = box.sh(text, limits=Limits(disk_mb=8))
    sizes = [int(line) for line in done.stdout.split()]
    assert len(sizes) == 4
    assert all(7 << 20 < size <= 9 << 20 for size in sizes), sizes
    assert done.stderr.count("No space left on device") == 4


def test_with_an_upper_layer_on_disk_a_file_can_not_fill_it(box: Box) -> None:
    box.copies = (Copy.OVERLAY_ON_DISK,)
    done = box.sh("trap '' XFSZ; head -c 30000000 /dev/zero >f; wc -c <f", limits=Limits(disk_mb=8))
    assert int(done.stdout) == 8 << 20


def test_files_without_content_can_not_fill_the_memory_either(box: Box) -> None:
    script = "for n in range(10000): open(f'/tmp/{n}', 'w').close()"
    assert "No space left" in box.python(script, limits=Limits(disk_mb=8)).stderr


def test_one_process_can_not_take_more_memory_than_allowed(box: Box) -> None:
    done = box.python("x = bytearray(1 << 30)", limits=Limits(memory_mb=512))
    assert "MemoryError" in done.stderr


def test_of_endless_output_head_and_tail_are_kept_in_bounded_memory(box: Box) -> None:
    text = "echo first; yes | head -c 1000000000; echo last; echo one >&2; yes | head -c 500000 >&2; echo two >&2"
    before = resident()
    done = box.sh(text, limits=Limits(time_s=60, output_kb=16))
    assert resident() - before < 30 << 20
    assert done.stdout.startswith("first\ny\n")
    assert done.stdout.endswith("y\nlast\n")
    assert "bytes left out ...]\n" in done.stdout
    assert len(done.stdout) < 17 << 10
    assert done.stderr.startswith("one\ny\n")
    assert done.stderr.endswith("y\ntwo\n")


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_a_time_limit_kills_grandchildren_and_daemons_and_keeps_the_output(any_box: Box, mark: str) -> None:
    text = f"echo out; echo err >&2; sleep {mark} & setsid sh -c 'sleep {mark} & sleep {mark}' & nohup sleep {mark}"
    before = time.monotonic()
    done = any_box.sh(text, limits=Limits(time_s=0.5))
    assert time.monotonic() - before < 20
    assert (done.exit_code, done.ended) == (None, Ended.TIMED_OUT)
    assert (done.stdout, done.stderr) == ("out\n", "err\n")
    assert 0.5 <= done.duration_s < 10


def test_a_daemon_does_not_outlive_its_command(any_box: Box, mark: str) -> None:
    before = time.monotonic()
    done = any_box.sh(f"setsid nohup sleep {mark} >/dev/null 2>&1 & setsid sleep {mark} & echo done")
    assert (done.exit_code, done.stdout) == (0, "done\n")
    assert time.monotonic() - before < 20


def test_signals_that_are_ignored_do_not_help_against_the_time_limit(box: Box, mark: str) -> None:
    done = box.sh(f"trap '' TERM INT HUP; while :; do sleep {mark}; done", limits=Limits(time_s=0.3))
    assert done.ended is Ended.TIMED_OUT


def test_cancelling_ends_the_command(any_box: Box, mark: str) -> None:
    async def scenario(sandbox: BubblewrapSandbox) -> None:
        task = asyncio.create_task(sandbox.run(Command(("sh", "-c", f"sleep {mark} & sleep {mark}"))))
        started = await asyncio.to_thread(eventually, lambda: len(running(mark)) > 2, 20)
        assert started
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    any_box.use(scenario)


def test_cancelling_while_the_sandbox_sets_up_ends_it_at_once_and_leaves_nothing(box: Box, mark: str) -> None:
    async def scenario(sandbox: BubblewrapSandbox) -> None:
        for number in range(24):  # from before the process is there to about where the command begins
            task = asyncio.create_task(sandbox.run(Command(("sh", "-c", f"sleep {mark} & sleep {mark}"))))
            await asyncio.sleep(number * 0.0015)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asyncio.wait_for(task, 20)

    box.use(scenario)


PARENT = """
import asyncio, sys
from pathlib import Path
from experepair.domain.command import Command
from experepair.sandbox.bubblewrap import BubblewrapSandbox
from experepair.sandbox.bwrap_command import Copy
from experepair.sandbox.interpreter import Interpreter
tree, run_root, copy, mark = sys.argv[1:]

async def main():
    box = BubblewrapSandbox(Path(tree), Path("/home/x/y"), Interpreter("/usr/bin/env"), run_root=Path(run_root), copies=[Copy(copy)])
    async with box as sandbox:
        command = Command(("sh", "-c", f"setsid sleep {mark} & sleep {mark}"))
        await asyncio.gather(*(sandbox.run(command, {"new": b""}) for _ in range(3)))

asyncio.run(main())
"""


def test_nothing_outlives_a_kill_9_and_the_next_start_sweeps(every_box: Box, mark: str) -> None:
    source = str(Path(experepair.__file__).parents[1])
    parent = subprocess.Popen(
        [
            sys.executable,
            "-c",
            PARENT,
            str(every_box.tree),
            str(every_box.run_root),
            every_box.copies[0],
            mark,
        ],
        env={**os.environ, "PYTHONPATH": source},
    )
    try:
        assert eventually(lambda: sum(line.startswith("sleep") for line in running(mark)) == 6, 20)
        assert sweep(every_box.run_root) == []
    finally:
        parent.kill()
        parent.wait()
    assert eventually(lambda: not running(mark), 5)
    assert len(sweep(every_box.run_root)) == 1


def test_ctrl_c_leaves_nothing(any_box: Box, mark: str) -> None:
    source = str(Path(experepair.__file__).parents[1])
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, str(any_box.tree), str(any_box.run_root), any_box.copies[0], mark],
        env={**os.environ, "PYTHONPATH": source},
        stderr=subprocess.PIPE,
    )
    with parent:
        assert eventually(lambda: sum(line.startswith("sleep") for line in running(mark)) == 6, 20)
        parent.send_signal(signal.SIGINT)
        assert parent.wait(10) != 0
    assert not running(mark)


def test_a_command_does_not_begin_when_experepair_is_gone(box: Box, tmp_path: Path) -> None:
    """The end of stdin before the hand-over means that nobody is there."""
    text = launcher("token", Limits(), cwd="/", processes=False)
    began = tmp_path / "began"
    done = subprocess.run(
        ["sh", "-c", text, "sh", "touch", str(began)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (125, b"token\n")
    assert not began.exists()


def test_eight_at_once_leave_nothing(every_box: Box, mark: str) -> None:
    async def scenario(sandbox: BubblewrapSandbox) -> None:
        text = f"mkdir -p d/e; chmod 0 d/e; chmod 0 d; setsid sleep {mark} & echo x >f"
        command = Command(("sh", "-c", text))
        results = await asyncio.gather(*(sandbox.run(command, {"pkg/x.py": b"x"}) for _ in range(8)))
        assert [done.exit_code for done in results] == [0] * 8

    every_box.use(scenario)
