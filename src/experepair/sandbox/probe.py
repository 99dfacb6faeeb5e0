"""Proves by running what each backend of the sandbox does on this machine."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import secrets
import socket
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from experepair.domain.command import Command, Ended
from experepair.errors import ExpeRepairError, SandboxUnavailable
from experepair.sandbox import proof
from experepair.sandbox.bubblewrap import BubblewrapSandbox
from experepair.sandbox.bwrap_command import Copy
from experepair.sandbox.container import ContainerSandbox
from experepair.sandbox.engine import ENGINES, find_engine
from experepair.sandbox.image import ImageChoice
from experepair.sandbox.interpreter import Interpreter, find_interpreter
from experepair.sandbox.opened import OpenedSandbox
from experepair.sandbox.remedy import overlay_remedy, remedy
from experepair.sandbox.sandbox import Isolation, Limits

_HOGS = """
import os, time
for _ in range(4):
    if os.fork() == 0:
        held = bytearray(b"x") * (48 << 20)
        time.sleep(2)
        os._exit(0)
print("lost" if any(os.WIFSIGNALED(os.wait()[1]) for _ in range(4)) else "all lived")
"""
_NOT_DECISIVE = {"no further namespaces"}
"""What a backend may lack and still be used; its report says so."""
_LIMITS = Limits(time_s=20, processes=40, disk_mb=8, memory_mb=1024)
_SHORT = Limits(time_s=0.1)
_SOURCE = Path(proof.__file__)


@dataclass(frozen=True, slots=True)
class Proof:
    """One promise, and whether it was seen to be kept.

    Attributes:
        promise: in words: "network cut", "process limit", …
        kept: whether it is.
        detail: what was seen when it isn't.
    """

    promise: str
    kept: bool
    detail: str = ""


@dataclass(frozen=True, slots=True)
class BackendReport:
    """What one backend does here.

    Attributes:
        backend: "bubblewrap", "docker" or "podman".
        works: whether `auto` may pick it: it runs commands, and all promises are kept.
        proofs: promise by promise; empty when it doesn't start.
        isolation: how it works, if it does.
        reason: why it doesn't work.
        remedy: what helps; of one that works, to get the better copy of the tree.
    """

    backend: str
    works: bool
    proofs: tuple[Proof, ...] = ()
    isolation: Isolation | None = None
    reason: str = ""
    remedy: str = ""


def probe(image: ImageChoice | None = None) -> list[BackendReport]:
    """The whole proof of all backends, for doctor; not to be called inside an event loop.

    Args:
        image: what docker and podman run; without one they are only asked whether they answer.
    """
    return asyncio.run(prove(image))


async def prove(image: ImageChoice | None = None) -> list[BackendReport]:
    """What `probe` does, inside an event loop."""
    return [await _bubblewrap(), *[await _container(name, image) for name in ENGINES]]


async def _bubblewrap() -> BackendReport:
    try:
        interpreter = _own_interpreter()
        with _tree() as tree:
            sandbox = BubblewrapSandbox(tree, tree, interpreter, run_root=tree.parent / "run")
            return await _proved("bubblewrap", sandbox, tree.parent)
    except ExpeRepairError as error:
        reason = str(error)
        return BackendReport("bubblewrap", works=False, reason=reason, remedy=remedy(reason))


async def _container(name: str, image: ImageChoice | None) -> BackendReport:
    try:
        engine = await find_engine(name)
        if image is None:
            reason = "it answers; what it isolates is proved when an --image is given"
            return BackendReport(engine.name, works=False, reason=reason)
        with _tree() as tree:
            sandbox = ContainerSandbox(name, tree, tree, image, run_root=tree.parent / "run")
            return await _proved(name, sandbox, tree.parent)
    except ExpeRepairError as error:
        return BackendReport(name, works=False, reason=str(error))


@contextlib.contextmanager
def _tree() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="experepair-probe-", ignore_cleanup_errors=True) as folder:
        tree = Path(folder, "tree")
        (tree / ".git").mkdir(parents=True)
        yield tree


async def _proved(backend: str, opening: OpenedSandbox, folder: Path) -> BackendReport:
    async with opening as sandbox:
        proofs = [
            *await _proofs(sandbox, str(folder)),
            await _time_limit(sandbox),
            await _memory_limit(sandbox),
        ]
        isolation = sandbox.isolation
    broken = [f"{each.promise}: {each.detail}" for each in proofs if not each.kept]
    works = all(each.kept or each.promise in _NOT_DECISIVE for each in proofs)
    helps = ""
    if backend == "bubblewrap" and broken:
        helps = remedy("; ".join(broken))
    elif backend == "bubblewrap" and isolation.tree == Copy.COPIED:
        helps = overlay_remedy()
    return BackendReport(backend, works, tuple(proofs), isolation, "; ".join(broken), helps)


def _own_interpreter() -> Interpreter:
    return find_interpreter(Path("/"), getattr(sys, "_base_executable", sys.executable))


async def _proofs(sandbox: OpenedSandbox, folder: str) -> list[Proof]:
    with _outside(folder) as arguments:
        command = Command(("{python}", "-I", "-", *arguments), stdin=_SOURCE.read_bytes())  # noqa: ASYNC240 # small
        done = await sandbox.run(command, limits=_LIMITS)
    try:
        results = json.loads(done.stdout)
    except ValueError:
        raise SandboxUnavailable(
            f"Python doesn't run in the sandbox (exit {done.exit_code}): {done.stderr.strip()[-500:]}"
        ) from None
    return [Proof(promise, not detail, detail) for promise, detail in results.items()]


async def _time_limit(sandbox: OpenedSandbox) -> Proof:
    """A grandchild that sleeps on must not hold up the end."""
    before = time.monotonic()
    done = await sandbox.run(Command(("sh", "-c", "setsid sleep 30 & sleep 30")), limits=_SHORT)
    took = time.monotonic() - before
    kept = done.ended is Ended.TIMED_OUT and took < 5
    return Proof("time limit", kept, "" if kept else f"{done.ended} after {took:.1f} s with a limit of 0.1")


async def _memory_limit(sandbox: OpenedSandbox) -> Proof:
    """Four processes that each stay below the limit, and are above it together."""
    command = Command(("{python}", "-I", "-c", _HOGS))
    done = await sandbox.run(command, limits=_LIMITS.model_copy(update={"total_memory_mb": 64}))
    kept = done.ended is Ended.KILLED or done.stdout.strip() == "lost"
    return Proof("memory limit of the whole", kept, "" if kept else "4 x 48 MiB with a limit of 64 + 8")


@contextlib.contextmanager
def _outside(folder: str) -> Iterator[tuple[str, ...]]:
    """Things to be reached and seen, in case nothing hides them; yields the arguments of proof.py."""
    abstract = f"experepair-{secrets.token_hex(8)}"
    canary = Path(folder, "canary")
    canary.touch()
    with socket.create_server(("127.0.0.1", 0)) as tcp, socket.socket(socket.AF_UNIX) as unix:
        unix.bind("\0" + abstract)
        unix.listen()
        os.environ["EXPEREPAIR_CANARY"] = "1"
        try:
            yield str(tcp.getsockname()[1]), abstract, str(canary)
        finally:
            del os.environ["EXPEREPAIR_CANARY"]
