"""The sandbox made by docker or podman: a container for each execution, of an image that holds the environment.

When it is opened, the checkout is laid over the repository in the image, and that becomes an image of its own: the
engine's layers then give each execution a private, writable copy, and nothing of this machine is mounted. Changes and
collected files travel through stdin and stdout, so the engine may also be on another machine.

    docker run     a client; it dies with the execution
    timeout        first process of the container: ends it at its deadline, whatever becomes of experepair
      sh           lays the changes over the tree, waits for the hand-over, limits itself (launcher.py)
        the command

When experepair dies, a process beside it (reaper.py) removes the containers and the image at once; should that die too,
the next start does (leftovers.py).
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from dataclasses import replace
from pathlib import Path

from experepair.domain.command import NO_CHANGES, Changes, Command, Completed, Ended
from experepair.errors import SandboxUnavailable, UsageError
from experepair.sandbox.changes import check_paths, pack_changes
from experepair.sandbox.container_command import (
    ContainerExecution,
    ContainerGround,
    container_command,
    lasts_s,
)
from experepair.sandbox.engine import EngineFailed, find_engine
from experepair.sandbox.image import Image, ImageChoice, examine_image, with_checkout
from experepair.sandbox.interpreter import Interpreter
from experepair.sandbox.launcher import COLLECT_LIMIT, read_collected
from experepair.sandbox.leftovers import LOCK, labels, sweep_engine
from experepair.sandbox.opened import OpenedSandbox
from experepair.sandbox.process import SetupFailed, Trailer, new_token, run_process
from experepair.sandbox.reaper import Reaper
from experepair.sandbox.sandbox import Isolation, Limits

_DAY_S = 86_400.0
_LOOK_S = 1.0
"""Between two looks at how much a container has written."""
_TRIAL_MB = 16
_DISK_NOTE = (
    "the engine's storage driver can't limit disk use: each file of a container is limited, and all of them are looked at "
    "every second; /tmp, /dev/shm and home have a fixed size"
)
_CUT = """
while read -r line; do
    case $line in Iface*) ;; *) echo "the network isn't cut" >&2; exit 13 ;; esac
done </proc/net/route
"""
_FILL = f"""
for half in 1 2; do
    head -c {_TRIAL_MB * 3 << 18} /dev/zero >experepair-half-$half || break
    [ $half = 1 ] || echo unsized
done
rm -f experepair-half-1 experepair-half-2
"""
"""More than the limit of the trial, in files that are each below it."""
_TRIAL = """
echo new >experepair-trial && rm experepair-trial || exit 14
if [ -e .git ] && touch .git/experepair-trial 2>/dev/null; then echo ".git is not read-only" >&2; exit 15; fi
test ! -e experepair-laid || cat experepair-laid
unshare -U true 2>/dev/null && echo nested
cat /sys/fs/cgroup/memory.max /sys/fs/cgroup/memory/memory.limit_in_bytes 2>/dev/null || :
"""


class ContainerSandbox(OpenedSandbox):
    """Runs commands in containers; use it in an `async with` block.

    Args:
        engine: "docker" or "podman".
        tree: one-time checkout of the commit.
        mount_at: path of the user's checkout, where the tree goes if the image has no place for it.
        image: what the user said of the image.
        limits: of an execution that brings none of its own.
        run_root: where the lock is made that tells whether this process lives.
        network: leave the network open, for set-up only.

    Raises:
        SandboxUnavailable: on entering, when the engine doesn't answer or runs no containers.
        UsageError: on entering, when the image can't be used.
    """

    def __init__(
        self,
        engine: str,
        tree: Path,
        mount_at: Path,
        image: ImageChoice,
        limits: Limits | None = None,
        *,
        run_root: Path | None = None,
        network: bool = False,
    ) -> None:
        super().__init__(run_root)
        self._network = network
        self._name = engine
        self._tree = tree.resolve()
        self._mount_at = mount_at
        self._choice = image
        self._limits = limits or Limits()
        self._notes: tuple[str, ...] = ()
        self._memory = "nothing"
        self._lock: Path
        self._image: Image
        self._ground: ContainerGround

    @property
    def isolation(self) -> Isolation:
        """What isolates, as it was proved on entering."""
        return Isolation(
            self._name, "layer of the image", self._notes, memory=self._memory, image=self._image.id
        )

    @property
    def place(self) -> str:
        """Where commands see the tree."""
        return self._image.place

    @property
    def interpreter(self) -> Interpreter:
        """What "{python}" stands for."""
        return self._image.interpreter

    async def run(
        self, command: Command, changes: Changes = NO_CHANGES, *, limits: Limits | None = None
    ) -> Completed:
        """Run to completion in a container of its own with `changes` laid over; what it writes is thrown away.

        Raises:
            UsageError: a change or another path leaves the tree.
            SandboxUnavailable: the engine refuses now what it allowed on entering.
        """
        try:
            return await self._run(command, changes, limits or self._limits)
        except SetupFailed as error:
            raise SandboxUnavailable(f"{self._name} no longer runs containers: {error}") from error

    async def _open(self) -> None:
        if not self._tree.is_dir():
            raise UsageError(f"the checkout {str(self._tree)!r} is not a folder")
        engine = await find_engine(self._name)
        with contextlib.suppress(EngineFailed):
            await sweep_engine(engine)
        self._lock = self._run_folder().lock
        reaper = await Reaper.start(engine, f"{LOCK}={self._lock}")
        self._resources.push_async_callback(reaper.close)
        marks = labels(self._lock, _DAY_S)
        engine, self._image = await examine_image(engine, self._choice, self._mount_at, marks)
        prepared = await with_checkout(engine, self._image, self._tree, new_token(), marks)
        self._ground = ContainerGround(engine, self._image, prepared, marks, self._network)
        await self._prove()

    async def _prove(self) -> None:
        """Run a command, and see whether what was promised is there."""
        limits = Limits(time_s=60, disk_mb=_TRIAL_MB)
        laid = {"experepair-laid": b"laid\n"}
        trial = _TRIAL if self._network else _CUT + _TRIAL
        try:
            done = await self._sized_trial(trial, laid, limits)
            if done is None:
                done = await self._run(Command(("sh", "-c", trial)), laid, limits)
        except SetupFailed as error:
            raise SandboxUnavailable(f"{self._name} doesn't run commands in the image: {error}") from error
        lines = done.stdout.split()
        if done.exit_code or "laid" not in lines:
            reason = done.stderr.strip() or "the tree in the image is a volume, or can't be written"
            raise SandboxUnavailable(f"{self._name} doesn't isolate commands in the image: {reason}")
        self._notes = (*self._image.notes, *(() if self._ground.sized else (_DISK_NOTE,)))
        if "nested" in lines:
            self._notes += (f"{self._name} lets commands make nested user namespaces",)
        if str((limits.total_memory_mb + limits.disk_mb) << 20) in lines:
            self._memory = f"a cgroup of {self._name}"
        else:
            self._notes += (f"{self._name} was not seen to limit the memory of a container",)

    async def _sized_trial(self, trial: str, laid: Changes, limits: Limits) -> Completed | None:
        """Have the engine hold the size of the layer, where its storage driver can; None where it can't."""
        self._ground = replace(self._ground, sized=True)
        with contextlib.suppress(SetupFailed):
            done = await self._run(Command(("sh", "-c", trial + _FILL)), laid, limits)
            if "unsized" not in done.stdout.split():
                return done
        self._ground = replace(self._ground, sized=False)
        return None

    async def _run(self, command: Command, changes: Changes, limits: Limits) -> Completed:
        check_paths(command)
        packed, removed = pack_changes(changes, self._tree)
        token = new_token()
        mark = f"\n{token}\n"
        execution = ContainerExecution(command, limits, token, len(packed), removed, mark)
        room = len(command.collect) * (COLLECT_LIMIT + 64) + 64
        ground = replace(self._ground, labels=labels(self._lock, lasts_s(limits)))
        gone = False
        try:
            outcome = await run_process(
                container_command(ground, execution),
                token=token,
                stdin=command.stdin,
                env=os.environ,  # of the client; the container gets its own
                limits=limits,
                prelude=packed,
                trailer=Trailer(mark.encode(), room) if command.collect else None,
                watch=None if ground.sized else lambda _: self._disk_exceeded(token, limits.disk_mb),
            )
            gone = outcome.ended is Ended.EXITED
        finally:
            if not gone:  # the client is dead, the container is not
                await self._ground.engine.remove(token)
        return outcome.completed(read_collected(outcome.trailer, command.collect))

    async def _disk_exceeded(self, container: str, limit_mb: int) -> str:
        """Return once the container has written more than the limit."""
        while True:
            await asyncio.sleep(_LOOK_S)
            with contextlib.suppress(EngineFailed, ValueError):
                said = await self._ground.engine.ask(
                    "container", "inspect", "--size", "--format", "{{.SizeRw}}", container
                )
                if int(said) > limit_mb << 20:
                    return f"more than {limit_mb} MiB were written"
