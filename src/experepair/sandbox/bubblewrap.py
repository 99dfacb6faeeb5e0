"""The sandbox made by bubblewrap: an outer one that mounts, an inner one that runs the command.

    outer bwrap    as root: a mount namespace; else a user namespace in which we are root. Its own pid namespace.
      sh           mounts a size-limited tmpfs, and in it the overlay over the checkout
        setpriv    only as root: becomes an unprivileged user
          inner bwrap   all namespaces, no capabilities, the command's root
            sh          waits for the hand-over, limits itself (launcher.py)
              the command

Only bwrap makes namespaces, so a security profile for bwrap is enough. All of it dies with experepair: each bwrap has
itself killed with its parent, and the outer pid namespace takes everything else along. Mounts live in the namespaces
and vanish with them. With a copied tree there is nothing to mount, and the outer bwrap is needed as root only.
"""

from __future__ import annotations

import contextlib
import functools
import os
import secrets
import shlex
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath

from experepair.domain.command import NO_CHANGES, Changes, Command, Completed
from experepair.errors import SandboxUnavailable, UsageError
from experepair.sandbox.bwrap_command import UNPRIVILEGED_ID, Copy, Execution, Ground, bwrap_command
from experepair.sandbox.changes import Owner, check_paths, prepare_tree, stage_changes
from experepair.sandbox.collected import Collector
from experepair.sandbox.environment import environment
from experepair.sandbox.fence import find_fence
from experepair.sandbox.interpreter import Interpreter
from experepair.sandbox.layout import HOME, pieces, system_pieces, write_etc
from experepair.sandbox.opened import OpenedSandbox
from experepair.sandbox.process import SetupFailed, new_token, run_process
from experepair.sandbox.run_folder import remove
from experepair.sandbox.sandbox import Isolation, Limits

_TOOLS = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/bin", "LC_ALL": "C"}
"""Environment of the set-up; the command gets its own."""

_OWN_PROCESSES = 2
"""Processes of bwrap's own that the limit allows for, at least."""


class BubblewrapSandbox(OpenedSandbox):
    """Runs commands by bubblewrap; use it in an `async with` block.

    Args:
        tree: one-time checkout of the commit; experepair's own, see `prepare_tree`.
        mount_at: where commands see their copy: the path of the user's checkout.
        interpreter: what "{python}" stands for.
        limits: of an execution that brings none of its own.
        rootfs: root file system to run in, instead of the host's programs.
        binds: more of the host to bind read-only, each at its own path.
        run_root: where staging folders are made.
        copies: ways of making the private copy, in order of preference; the first that works is taken.
        network: leave the network open, for set-up only.

    Raises:
        SandboxUnavailable: on entering, when no way works.
        UsageError: on entering, when the tree or `mount_at` can't be used.
    """

    def __init__(
        self,
        tree: Path,
        mount_at: Path,
        interpreter: Interpreter,
        limits: Limits | None = None,
        *,
        rootfs: Path | None = None,
        binds: Sequence[Path] = (),
        run_root: Path | None = None,
        copies: Sequence[Copy] = tuple(Copy),
        network: bool = False,
    ) -> None:
        super().__init__(run_root)
        self._tree = tree.resolve()
        self._mount_at = mount_at
        self._interpreter = interpreter
        self._limits = limits or Limits()
        self._rootfs = rootfs.resolve() if rootfs else None
        self._binds = tuple(binds)
        self._copies = tuple(copies)
        self._network = network
        root = os.getuid() == 0
        self._owner = Owner(UNPRIVILEGED_ID, UNPRIVILEGED_ID) if root else Owner(os.getuid(), os.getgid())
        self._fence = find_fence()
        self._notes: tuple[str, ...] = ()
        self._ground: Ground
        self._folder: Path

    @property
    def isolation(self) -> Isolation:
        """What isolates, as it was proved on entering."""
        return Isolation("bubblewrap", str(self._ground.copy), self._notes, memory=self._fence.name)

    @property
    def place(self) -> str:
        """Where commands see the tree."""
        return str(self._mount_at)

    @property
    def interpreter(self) -> Interpreter:
        """What "{python}" stands for."""
        return self._interpreter

    async def run(
        self, command: Command, changes: Changes = NO_CHANGES, *, limits: Limits | None = None
    ) -> Completed:
        """Run to completion on a private copy with `changes` laid over; what it writes is thrown away.

        Raises:
            UsageError: a change or another path leaves the tree.
            SandboxUnavailable: the machine refuses now what it allowed on entering.
        """
        try:
            return await self._run(command, changes, limits or self._limits)
        except SetupFailed as error:
            raise SandboxUnavailable(f"bubblewrap no longer works here: {error}") from error

    async def _open(self) -> None:
        self._prepare()  # nothing else runs yet, and a thread could not be cancelled
        await self._choose()

    def _prepare(self) -> None:
        place = PurePosixPath(self._mount_at)
        if not place.is_absolute() or ".." in place.parts or len(place.parts) < 2:
            raise UsageError(f"the checkout can't be shown at {str(place)!r}: an absolute path is needed")
        if not self._tree.is_dir():
            raise UsageError(f"the checkout {str(self._tree)!r} is not a folder")
        bwrap = find_bwrap()
        self._folder = self._run_folder().path
        try:
            write_etc(self._folder / "etc", whole=self._rootfs is None, network=self._network)
            prepare_tree(self._tree, self._owner)
            shown = pieces(
                self._interpreter,
                rootfs=self._rootfs,
                etc=self._folder / "etc",
                binds=self._binds,
                points=(str(place), HOME),
            )
        except OSError as error:
            raise SandboxUnavailable(f"can't prepare {error.filename!r}: {error.strerror}") from error
        self._ground = Ground(
            bwrap=bwrap,
            root=os.getuid() == 0,
            copy=self._copies[0],
            tree=self._tree,
            tree_mb=0,
            mount_at=str(place),
            pieces=tuple(shown),
            system=system_pieces(),
            nested="--disable-userns" not in _options(str(bwrap)),
            network=self._network,
        )

    async def _choose(self) -> None:
        """Take the first way of copying that works."""
        failures = []
        for copy in self._copies:
            size = _megabytes(self._tree) if copy is Copy.COPIED else 0
            self._ground = replace(self._ground, copy=copy, tree_mb=size)
            if (reason := await self._tried()) is None:
                break
            failures.append(f"no {copy}: {reason}")
        else:
            raise SandboxUnavailable(
                "bubblewrap doesn't work here; `experepair doctor` says what helps\n" + "\n".join(failures)
            )
        if self._ground.copy is Copy.OVERLAY_ON_DISK:
            failures.append("disk use in the tree is limited per file only")
        if self._ground.nested:
            failures.append("nested user namespaces stay possible: bubblewrap is older than 0.8")
        self._notes = (*failures, *self._fence.notes)

    async def _tried(self) -> str | None:
        """Why the present way doesn't work, found by using it; None when it does."""
        folder = f"experepair-{secrets.token_hex(4)}"
        # A folder is removed and made again: that is where some overlays fail.
        routes = "/dev/null" if self._network else "/proc/net/route"
        proof = f"""
            rm -r {folder} && mkdir {folder} && test ! -e {folder}/old && echo new >{folder}/new || exit 11
            test ! -e {shlex.quote(str(self._folder))} || {{ echo "the home isn't hidden" >&2; exit 12; }}
            while read -r line; do
                case $line in Iface*) ;; *) echo "the network isn't cut" >&2; exit 13 ;; esac
            done <{routes}
            cat {folder}/new"""
        try:
            done = await self._run(Command(("sh", "-c", proof)), {f"{folder}/old": b""}, Limits(time_s=60))
        except SetupFailed as error:
            return str(error)
        if (done.exit_code, done.stdout) == (0, "new\n"):
            return None
        return done.stderr.strip() or f"the trial ended with {done.exit_code}"

    async def _run(self, command: Command, changes: Changes, limits: Limits) -> Completed:
        with self._staged(command, changes, limits) as execution, contextlib.ExitStack() as stack:
            collector = None
            if command.collect:
                collector = stack.enter_context(Collector(execution.folder / "collect", command.collect))
                self._owner.give(collector.pipe)
            async with self._fence.around(
                limits, memory_mb=self._memory_mb(limits), processes=limits.processes + _OWN_PROCESSES
            ) as fenced:
                outcome = await run_process(
                    [*fenced.prefix, *bwrap_command(self._ground, execution)],
                    token=execution.token,
                    stdin=command.stdin,
                    env=_TOOLS,
                    limits=limits,
                    watch=fenced.watch,
                )
                note = fenced.note()
            done = outcome.completed(collector.files() if collector else {})
            return replace(done, stderr=done.stderr + note)

    def _memory_mb(self, limits: Limits) -> int:
        """The limit for all of it: what is written lies in memory, too."""
        if not limits.total_memory_mb:
            return 0
        if self._ground.copy is Copy.COPIED:
            return limits.total_memory_mb + 4 * limits.disk_mb + self._ground.tree_mb
        return limits.total_memory_mb + limits.disk_mb

    @contextlib.contextmanager
    def _staged(self, command: Command, changes: Changes, limits: Limits) -> Iterator[Execution]:
        check_paths(command)
        python = self._interpreter.path
        token = new_token()
        folder = self._folder / token
        layer = folder / "changes"
        try:
            layer.mkdir(parents=True)
            layer.chmod(0o755)
            self._owner.give(layer)
            removed = stage_changes(changes, self._tree, layer, self._owner)
            if self._ground.copy is Copy.OVERLAY_ON_DISK:
                (folder / "disk").mkdir()
            yield Execution(
                argv=tuple(word.replace("{python}", python) for word in command.argv),
                env=environment(self._interpreter, command.env, home=HOME, tmp="/tmp"),  # noqa: S108 # the sandbox's own
                cwd=str(PurePosixPath(self._ground.mount_at, command.cwd)),
                collect=command.collect,
                limits=limits,
                count_processes=not self._fence.holds_processes,
                token=token,
                folder=folder,
                layered=len(removed) < len(changes),
                removed=removed,
            )
        finally:
            remove(folder)


def find_bwrap() -> Path:
    """The bwrap on PATH.

    Raises:
        SandboxUnavailable: there is none.
    """
    found = shutil.which("bwrap")
    if found is None:
        raise SandboxUnavailable(
            "bubblewrap is not installed, and nothing else can isolate commands here: "
            "install it (Debian, Ubuntu: apt-get install bubblewrap; Fedora: dnf install bubblewrap), "
            "or choose --sandbox none if you trust the repository and the model"
        )
    return Path(found).resolve()


@functools.cache
def _options(bwrap: str) -> str:
    return subprocess.run([bwrap, "--help"], capture_output=True, text=True, check=False).stdout


def _megabytes(tree: Path) -> int:
    """Size of a tree on a tmpfs, where each file takes whole pages."""
    total = 0
    for folder, _, files in os.walk(tree):
        for name in files:
            total += (os.lstat(f"{folder}/{name}").st_size + 8191) // 4096 * 4096
    return (total >> 20) + 1
