"""What isolating one execution costs: (isolated `true`) minus (plain `true`), beside git worktree and cp -a.

    python benchmarks/isolation.py REPOSITORY [--commit REV] [--repeat 15] [--image IMAGE]

REPOSITORY is any git repository, bare ones included; it is only read. All ways are measured in turn in each round, so
that a busy machine hurts them alike; times are medians of the wall, set-up and removal included, that of a control
group too where this user can make one. After each way there is a private, writable tree; only bubblewrap's ways and
containers isolate as well. With an image, which must have a Python, docker and podman are measured where they answer.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path

from experepair.domain.command import Command
from experepair.errors import SandboxUnavailable
from experepair.sandbox.bubblewrap import BubblewrapSandbox
from experepair.sandbox.bwrap_command import Copy
from experepair.sandbox.container import ContainerSandbox
from experepair.sandbox.engine import ENGINES
from experepair.sandbox.fence import find_fence
from experepair.sandbox.image import ImageChoice
from experepair.sandbox.interpreter import Interpreter

TRUE = Command(("true",))
LIMIT_MS = 80
MOUNTS = Path("/proc/self/mountinfo")


def git(*words: str) -> None:
    """Run git; its failure is ours."""
    subprocess.run(["git", *words], check=True, capture_output=True)


async def run(*words: str) -> None:
    """Run a command without isolation."""
    process = await asyncio.create_subprocess_exec(*words, stdout=-3, stderr=-3)
    assert await process.wait() == 0, words


async def measure(ways: dict[str, Callable[[], Awaitable[object]]], repeat: int) -> dict[str, float]:
    """Median wall time by way, in milliseconds."""
    times: dict[str, list[float]] = {name: [] for name in ways}
    for round_ in range(repeat + 1):
        for name, way in ways.items():
            started = time.perf_counter()
            await way()
            if round_:  # the first one warms the caches
                times[name].append(time.perf_counter() - started)
    return {name: 1000 * statistics.median(taken) for name, taken in times.items()}


def left_behind(run_root: Path) -> list[str]:
    """Staging folders, mounts, control groups and processes of executions that are over."""
    left = [str(path) for path in run_root.glob("*/experepair-*")]
    left += [line for line in MOUNTS.read_text().splitlines() if "/stage" in line or " scratch " in line]
    left += [str(path) for path in Path("/sys/fs/cgroup").glob(f"**/experepair-{os.getpid()}-*")]
    for process in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if os.fsencode(run_root) in (process / "cmdline").read_bytes():
                left.append(f"process {process.name}")
    return left


async def containers(
    stack: AsyncExitStack, tree: Path, image: str, run_root: Path
) -> dict[str, Callable[[], Awaitable[object]]]:
    """A way by engine that answers."""
    ways: dict[str, Callable[[], Awaitable[object]]] = {}
    for engine in ENGINES:
        box = ContainerSandbox(engine, tree, Path("/home/x/project"), ImageChoice(image), run_root=run_root)
        started = time.perf_counter()
        try:
            await stack.enter_async_context(box)
        except SandboxUnavailable as error:
            print(f"{engine}: {str(error).splitlines()[0]}")
            continue
        print(f"{engine}: opened in {time.perf_counter() - started:.1f} s")
        ways[f"{engine}, layer of the image"] = lambda box=box: box.run(TRUE)  # type: ignore[misc]  # bound now
    return ways


async def benchmark(repository: Path, commit: str, repeat: int, image: str | None, folder: Path) -> None:
    """Check out once, then measure all ways."""
    started = time.perf_counter()
    base, tree = folder / "base.git", folder / "checkout"
    git("clone", "--quiet", "--shared", "--bare", str(repository), str(base))
    git("clone", "--quiet", "--shared", "--no-checkout", str(base), str(tree))
    git("-C", str(tree), "checkout", "--quiet", "--detach", commit)
    files = sum(len(names) for _, _, names in os.walk(tree))
    print(f"one-time checkout: {time.perf_counter() - started:.1f} s, {files} files; user {os.getuid()}")
    print(f"memory of a whole sandbox held by: {find_fence().name}")
    copy, worktree, run_root = str(folder / "copy"), str(folder / "worktree"), folder / "run"

    async def with_copy() -> None:
        await run("cp", "-a", str(tree), copy)
        await run("true")
        await run("rm", "-rf", copy)

    async def with_worktree() -> None:
        await run("git", "-C", str(base), "worktree", "add", "--detach", worktree, commit)
        await run("true")
        await run("git", "-C", str(base), "worktree", "remove", "--force", worktree)

    ways: dict[str, Callable[[], Awaitable[object]]] = {"plain": lambda: run("true")}
    async with AsyncExitStack() as stack:
        boxes = {}
        for kind in Copy:
            box = BubblewrapSandbox(
                tree, Path("/home/x/project"), Interpreter("/usr/bin/env"), run_root=run_root, copies=[kind]
            )
            boxes[kind] = await stack.enter_async_context(box)
            ways[f"bubblewrap, {kind}"] = lambda box=box: box.run(TRUE)  # type: ignore[misc]  # bound now
        ways["bubblewrap, overlay, 3 changes"] = lambda: boxes[Copy.OVERLAY].run(
            TRUE, {"a.py": b"x", "b/c.py": b"y", "d/e/f.py": b"z"}
        )
        quick = await measure(ways, repeat)
        wall = time.perf_counter()
        await asyncio.gather(*(boxes[Copy.OVERLAY].run(TRUE) for _ in range(8)))
        eight = 1000 * (time.perf_counter() - wall)
        left = left_behind(run_root)
        if image:
            quick |= await measure(await containers(stack, tree, image, run_root), max(1, repeat // 3))
    slow = await measure(
        {"cp -a, rm": with_copy, "git worktree add, remove": with_worktree}, max(1, repeat // 5)
    )
    report(quick, slow, eight, left)


def report(quick: dict[str, float], slow: dict[str, float], eight: float, left: list[str]) -> None:
    """Print a table."""
    plain = quick.pop("plain")
    overlay = quick[f"bubblewrap, {Copy.OVERLAY}"] - plain
    print(f"plain `true`: {plain:.1f} ms\n\n{'way':34}{'added ms':>10}{'ratio':>8}")
    for name, wall in (quick | slow).items():
        print(f"{name:34}{wall - plain:10.1f}{(wall - plain) / overlay:8.1f}")
    print(f"\n8 at once, overlay: {eight:.0f} ms for all; left behind: {left or 'nothing'}")
    print(f"overlay adds {overlay:.0f} ms, {'within' if overlay <= LIMIT_MS else 'ABOVE'} {LIMIT_MS} ms")


def main() -> int:
    """Read the arguments and run."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("repository", type=Path)
    parser.add_argument("--commit", default="HEAD")
    parser.add_argument("--repeat", type=int, default=15)
    parser.add_argument("--image", help="measure docker and podman with this image, too")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="experepair-bench-") as folder:
        asyncio.run(
            benchmark(given.repository.resolve(), given.commit, given.repeat, given.image, Path(folder))
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
