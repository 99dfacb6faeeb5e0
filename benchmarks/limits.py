"""What becomes of code that takes all it can get, in two sandboxes at once: stopped where, after how long, what is left.

    python benchmarks/limits.py [--backend bubblewrap …] [--image IMAGE] [--watchdog]

Backends are bubblewrap, docker and podman; the last two need an image with a Python. `--watchdog` measures bubblewrap as
where no control group can be made. Each bomb is itself bounded (2,000 processes, 1 GiB, 60 s), in case nothing stops it.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import secrets
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

from experepair.domain.command import Command, Completed, Ended
from experepair.errors import SandboxUnavailable
from experepair.sandbox import fence
from experepair.sandbox.engine import EngineFailed, find_engine
from experepair.sandbox.image import ImageChoice
from experepair.sandbox.interpreter import find_interpreter
from experepair.sandbox.leftovers import LOCK
from experepair.sandbox.open import open_sandbox
from experepair.sandbox.sandbox import IsolatedSandbox, Limits

LIMITS = Limits(time_s=30, processes=64, disk_mb=64, total_memory_mb=192, memory_mb=0)
BOMBS = {
    "fork bomb": """
import os, time
count = 0
try:
    for count in range(2000):
        if os.fork() == 0:
            time.sleep(60)
            os._exit(0)
except OSError as error:
    print(f"{count} processes: {error.strerror}")
""",
    "memory, one process": """
held = []
for step in range(64):
    held.append(bytearray(b"x") * (16 << 20))
    print(f"{16 * step + 16} MiB", flush=True)
""",
    "memory, twenty": """
import os, time
for number in range(20):
    if os.fork() == 0:
        held = []
        for step in range(6):
            held.append(bytearray(b"x") * (8 << 20))
            time.sleep(0.05)
        time.sleep(3)
        os._exit(0)
lost = sum(os.WIFSIGNALED(os.wait()[1]) for _ in range(20))
print(f"{lost} of 20 x 48 MiB killed")
""",
    "disk": """
import time
written = 0
try:
    for number in range(128):
        with open(f"fill{number}", "wb") as file:
            file.write(bytes(8 << 20))
        written += 8
        print(f"{written} MiB", flush=True)
        time.sleep(0.05)
except OSError as error:
    print(f"{written} MiB and a part: {error.strerror}")
""",
    "1 GB of output": """
import sys
for _ in range(1000):
    sys.stdout.buffer.write(b"x" * 999_999 + b"\\n")
sys.stdout.flush()
print("end")
""",
    "sleep past 2 s": """
import subprocess, time
subprocess.Popen(["setsid", "sleep", "60"])
print("asleep", flush=True)
time.sleep(60)
""",
}


def stopped(bomb: str, done: Completed) -> str:
    """In words, where it ended."""
    last = (done.stdout.strip().splitlines() or [""])[-1]
    if bomb.endswith("output"):
        last = f"{len(done.stdout) >> 10} KiB kept, the end is {last[-10:]!r}"
    why = {Ended.EXITED: f"exit {done.exit_code}", Ended.KILLED: "killed", Ended.TIMED_OUT: "time is up"}
    return "; ".join(filter(None, (last, why[done.ended], done.stderr.strip()[-110:])))


def remains(mark: str, run_root: Path) -> list[str]:
    """Processes, groups and staging folders."""
    found = [str(path) for path in run_root.glob("*/experepair-*")]
    found += [str(path) for path in Path("/sys/fs/cgroup").glob(f"**/experepair-{os.getpid()}-*")]
    for process in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if mark.encode() in (process / "environ").read_bytes():
                found.append(f"process {process.name}")
    return found


async def left(mark: str, run_root: Path, backend: str) -> str:
    """What remains, containers too, five seconds after the end at the latest."""
    found: list[str] = []
    for _ in range(10):
        found = remains(mark, run_root)
        if backend in ("docker", "podman"):
            with contextlib.suppress(SandboxUnavailable, EngineFailed):
                labels = await (await find_engine(backend)).labelled("container", LOCK)
                found += [each for each, its in labels.items() if its[LOCK].startswith(str(run_root))]
        if not found:
            break
        await asyncio.sleep(0.5)
    return ", ".join(found) or "nothing"


async def bombs(sandboxes: list[IsolatedSandbox], run_root: Path) -> None:
    """Every bomb in all sandboxes at once."""
    isolation = sandboxes[0].isolation
    print(f"\n{isolation.summary}; {'; '.join(isolation.notes) or 'no notes'}")
    print(f"{'bomb':22}{'after':>8}  stopped (first | second)")
    for bomb, text in BOMBS.items():
        mark = f"mark{secrets.token_hex(8)}"
        command = Command(("{python}", "-c", text), env=(("MARK", mark),))
        limits = LIMITS.model_copy(update={"time_s": 2.0}) if bomb.startswith("sleep") else LIMITS
        started = time.perf_counter()
        done = await asyncio.gather(*(sandbox.run(command, limits=limits) for sandbox in sandboxes))
        took = time.perf_counter() - started
        print(f"{bomb:22}{took:7.1f}s  {' | '.join(stopped(bomb, each) for each in done)}")
        print(f"{'':32}left: {await left(mark, run_root, isolation.backend)}")


async def benchmark(backend: str, image: str | None, folder: Path) -> None:
    """Open two sandboxes and run the bombs in them."""
    container = backend in ("docker", "podman")
    choice = ImageChoice(image) if image and container else None
    interpreter = (
        None if choice else find_interpreter(Path("/"), getattr(sys, "_base_executable", sys.executable))
    )
    async with contextlib.AsyncExitStack() as stack:
        sandboxes = []
        for number in (1, 2):
            tree = folder / f"{backend}{number}"
            (tree / ".git").mkdir(parents=True)
            opening = open_sandbox(
                backend,
                tree=tree,
                mount_at=Path("/home/x/project"),
                interpreter=interpreter,
                image=choice,
                run_root=folder / "run",
            )
            sandboxes.append(await stack.enter_async_context(opening))
        await bombs(sandboxes, folder / "run")


@contextlib.contextmanager
def without_groups(asked: bool) -> Iterator[None]:
    """As where no control group can be made."""
    with mock.patch.object(fence, "_parents", return_value=None) if asked else contextlib.nullcontext():
        yield


def main() -> int:
    """Read the arguments and run."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--backend", nargs="+", default=["bubblewrap"])
    parser.add_argument("--image")
    parser.add_argument("--watchdog", action="store_true")
    given = parser.parse_args()
    for backend in given.backend:
        with (
            tempfile.TemporaryDirectory(prefix="experepair-limits-") as folder,
            without_groups(given.watchdog),
        ):
            try:
                asyncio.run(benchmark(backend, given.image, Path(folder)))
            except SandboxUnavailable as error:
                print(f"\n{backend}: {str(error).splitlines()[0]}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
