"""Proves by running what each backend of the sandbox does on this machine."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import secrets
import shutil
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
from experepair.sandbox.interpreter import Interpreter, find_interpreter
from experepair.sandbox.remedy import remedy
from experepair.sandbox.sandbox import Isolation, Limits

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
        remedy: what helps.
    """

    backend: str
    works: bool
    proofs: tuple[Proof, ...] = ()
    isolation: Isolation | None = None
    reason: str = ""
    remedy: str = ""


def probe() -> list[BackendReport]:
    """The whole proof of all backends, for doctor; under a second. Not to be called inside an event loop."""
    return asyncio.run(prove())


async def prove() -> list[BackendReport]:
    """What `probe` does, inside an event loop."""
    reports = [await _bubblewrap()]
    for name in ("docker", "podman"):
        found = "it is installed, but " if shutil.which(name) else ""
        reports.append(BackendReport(name, works=False, reason=f"{found}experepair can't use it yet"))
    return reports


async def _bubblewrap() -> BackendReport:
    try:
        interpreter = _own_interpreter()
        with tempfile.TemporaryDirectory(prefix="experepair-probe-", ignore_cleanup_errors=True) as folder:
            tree = Path(folder, "tree")
            (tree / ".git").mkdir(parents=True)
            sandbox = BubblewrapSandbox(tree, tree, interpreter, run_root=Path(folder, "run"))
            async with sandbox:
                proofs = (*await _proofs(sandbox, folder), await _time_limit(sandbox))
                isolation = sandbox.isolation
    except ExpeRepairError as error:
        reason = str(error)
        return BackendReport("bubblewrap", works=False, reason=reason, remedy=remedy(reason))
    broken = [f"{each.promise}: {each.detail}" for each in proofs if not each.kept]
    return BackendReport(
        "bubblewrap",
        works=not broken,
        proofs=proofs,
        isolation=isolation,
        reason="; ".join(broken),
        remedy=remedy("; ".join(broken)) if broken else "",
    )


def _own_interpreter() -> Interpreter:
    return find_interpreter(Path("/"), getattr(sys, "_base_executable", sys.executable))


async def _proofs(sandbox: BubblewrapSandbox, folder: str) -> list[Proof]:
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


async def _time_limit(sandbox: BubblewrapSandbox) -> Proof:
    """A grandchild that sleeps on must not hold up the end."""
    before = time.monotonic()
    done = await sandbox.run(Command(("sh", "-c", "setsid sleep 30 & sleep 30")), limits=_SHORT)
    took = time.monotonic() - before
    kept = done.ended is Ended.TIMED_OUT and took < 5
    return Proof("time limit", kept, "" if kept else f"{done.ended} after {took:.1f} s with a limit of 0.1")


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
