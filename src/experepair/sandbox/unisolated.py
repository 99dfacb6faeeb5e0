"""No isolation: commands run as the user, with all that the user may do. Only for `--sandbox none`."""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path, PurePosixPath

from experepair.domain.command import NO_CHANGES, Changes, Command, Completed
from experepair.errors import SandboxUnavailable
from experepair.sandbox.changes import Owner, check_paths, stage_changes
from experepair.sandbox.collected import Collector
from experepair.sandbox.environment import environment
from experepair.sandbox.fence import find_fence
from experepair.sandbox.interpreter import Interpreter
from experepair.sandbox.launcher import launcher
from experepair.sandbox.opened import OpenedSandbox
from experepair.sandbox.process import Outcome, SetupFailed, new_token, run_process
from experepair.sandbox.run_folder import remove
from experepair.sandbox.sandbox import Isolation, Limits


class UnisolatedSandbox(OpenedSandbox):
    """Runs commands in a copy of the tree, without any isolation; use it in an `async with` block.

    The copy is elsewhere than the user's checkout, so PYTHONPATH puts it before an editable install of it. Memory, file
    size, output and time are limited. Network and home are open. Only in a cgroup are processes counted, and do those
    that make a session of their own die with the command.

    Args:
        tree: one-time checkout of the commit.
        mount_at: path of the user's checkout; the copy's own path is replaced by it in outputs.
        interpreter: what "{python}" stands for.
        limits: of an execution that brings none of its own.
        run_root: where the copies are made.
    """

    def __init__(
        self,
        tree: Path,
        mount_at: Path,
        interpreter: Interpreter,
        limits: Limits | None = None,
        *,
        run_root: Path | None = None,
    ) -> None:
        super().__init__(run_root)
        self._tree = tree.resolve()
        self._mount_at = str(mount_at)
        self._interpreter = interpreter
        self._limits = limits or Limits()
        self._owner = Owner(os.getuid(), os.getgid())
        self._fence = find_fence()
        self._folder: Path

    @property
    def isolation(self) -> Isolation:
        """That there is none."""
        notes = ("commands can do whatever the user can", *self._fence.notes)
        return Isolation("none", "copied tree", notes, memory=self._fence.name)

    @property
    def place(self) -> str:
        """Where outputs say that the tree is."""
        return self._mount_at

    @property
    def interpreter(self) -> Interpreter:
        """What "{python}" stands for."""
        return self._interpreter

    async def _open(self) -> None:
        self._folder = self._run_folder().path

    async def run(
        self, command: Command, changes: Changes = NO_CHANGES, *, limits: Limits | None = None
    ) -> Completed:
        """Run to completion in a copy with `changes` laid over; the copy is thrown away.

        Raises:
            UsageError: a change or another path leaves the tree.
            SandboxUnavailable: the tree can't be copied.
        """
        check_paths(command)
        limits = limits or self._limits
        with self._staged() as folder, contextlib.ExitStack() as stack:
            removed = stage_changes(changes, self._tree, folder / "changes", self._owner)
            collector = None
            if command.collect:
                collector = stack.enter_context(Collector(folder / "collect", command.collect))
            try:
                outcome, note = await self._fenced(command, limits, folder, removed)
            except SetupFailed as error:
                raise SandboxUnavailable(f"can't copy the checkout: {error}") from error
            done = outcome.completed(collector.files() if collector else {})
        copy = str(folder / "tree")
        return replace(
            done,
            stdout=done.stdout.replace(copy, self._mount_at),
            stderr=done.stderr.replace(copy, self._mount_at) + note,
        )

    async def _fenced(
        self, command: Command, limits: Limits, folder: Path, removed: tuple[str, ...]
    ) -> tuple[Outcome, str]:
        """How it ended, and what the fence says to it."""
        token = new_token()
        memory = limits.total_memory_mb
        async with self._fence.around(limits, memory_mb=memory, processes=limits.processes) as fenced:
            outcome = await run_process(
                [*fenced.prefix, *self._argv(command, limits, token, folder, removed)],
                token=token,
                stdin=command.stdin,
                env=self._environment(command, folder),
                limits=limits,
                group=True,
                watch=fenced.watch,
            )
            return outcome, fenced.note()

    @contextlib.contextmanager
    def _staged(self) -> Iterator[Path]:
        folder = self._folder / new_token()
        try:
            for name in ("tree", "changes", "home", "tmp"):
                (folder / name).mkdir(parents=True)
            yield folder
        finally:
            remove(folder)

    def _argv(
        self, command: Command, limits: Limits, token: str, folder: Path, removed: tuple[str, ...]
    ) -> list[str]:
        copy = folder / "tree"
        text = launcher(
            token,
            limits,
            prepare=[
                f"cp -a --reflink=auto {shlex.quote(str(self._tree))}/. {shlex.quote(str(copy))}/",
                f"cp -a {shlex.quote(str(folder / 'changes'))}/. {shlex.quote(str(copy))}/",
                *(f"rm -f {shlex.quote(str(copy / path))}" for path in removed),
            ],
            cwd=str(PurePosixPath(copy, command.cwd)),
            collect=command.collect,
            collect_root=str(copy),
            collect_to=str(folder / "collect"),
            processes=False,
            per_file=True,
        )
        die_with_parent = ["setpriv", "--pdeathsig", "KILL"] if shutil.which("setpriv") else []
        words = (word.replace("{python}", self._interpreter.path) for word in command.argv)
        return [*die_with_parent, "sh", "-c", text, "sh", *words]

    def _environment(self, command: Command, folder: Path) -> dict[str, str]:
        copy = folder / "tree"
        variables = environment(
            self._interpreter, command.env, home=str(folder / "home"), tmp=str(folder / "tmp")
        )
        given = variables.get("PYTHONPATH", "").replace(self._mount_at, str(copy))
        variables["PYTHONPATH"] = ":".join(filter(None, (given, str(copy / "src"), str(copy))))
        return variables
