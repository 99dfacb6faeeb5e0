"""Builds the command line of an isolated execution (the picture is in bubblewrap.py). Pure: nothing is run or written."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path, PurePosixPath

from experepair.sandbox.launcher import launcher
from experepair.sandbox.layout import HOME, USER_ID, Piece, is_system
from experepair.sandbox.sandbox import Limits

UNPRIVILEGED_ID = 65529
"""User and group that commands run as when experepair is root: one that Debian and systemd leave unused."""

_STAGE = "/stage"
_SCRATCH = f"{_STAGE}/scratch"
_OWN = "/run/experepair"
_INODES_PER_MB = 256
_OVERLAY_OPTIONS = "nosuid,nodev,index=off"


class Copy(StrEnum):
    """How an execution gets its private copy of the tree, from the best to the last."""

    OVERLAY = "overlay"
    OVERLAY_ON_DISK = "overlay on disk"
    COPIED = "copied tree"


@dataclass(frozen=True, slots=True)
class Ground:
    """What all executions of a sandbox have in common.

    Attributes:
        bwrap: the executable.
        root: whether experepair is root.
        copy: how the private copy is made.
        tree: the checkout.
        tree_mb: its size in MiB, counted for `Copy.COPIED` only.
        mount_at: where the command sees its copy.
        pieces: the rest of what it sees.
        system: the host's programs, for what prepares its root.
        nested: whether this bwrap can't forbid nested user namespaces.
        network: whether the command reaches the network: for set-up only.
    """

    bwrap: Path
    root: bool
    copy: Copy
    tree: Path
    tree_mb: int
    mount_at: str
    pieces: tuple[Piece, ...]
    system: tuple[Piece, ...]
    nested: bool
    network: bool = False


@dataclass(frozen=True, slots=True)
class Execution:
    """One command and what was staged for it.

    Attributes:
        argv: the command, the interpreter's path filled in.
        env: all of its environment.
        cwd: where it starts, absolute.
        collect: paths to bring back, relative to the tree.
        limits: what it may use.
        count_processes: whether their limit must be held inside.
        token: announces the hand-over.
        folder: holds "changes", for `Copy.OVERLAY_ON_DISK` "disk", and "collect" when there is something to collect.
        layered: whether there are changes to lay over the tree.
        removed: paths to remove from the tree.
    """

    argv: tuple[str, ...]
    env: Mapping[str, str]
    cwd: str
    collect: tuple[str, ...]
    limits: Limits
    count_processes: bool
    token: str
    folder: Path
    layered: bool
    removed: tuple[str, ...]


@dataclass
class _Stage:
    """Where the inner bwrap finds the host's paths.

    Below an outer bwrap each is bound to a short path of its own, which the unprivileged user reaches although he
    can't reach the original, in a home closed to him for example.
    """

    outer: bool
    args: list[str] = field(default_factory=list)

    def path(self, source: str, *, writable: bool = False) -> str:
        if not self.outer or is_system(source):  # the outer bwrap has the system's folders in their places
            return source
        staged = f"{_STAGE}/{len(self.args)}"
        self.args += ["--bind" if writable else "--ro-bind", source, staged]
        return staged


def bwrap_command(ground: Ground, execution: Execution) -> list[str]:
    """The whole command line."""
    stage = _Stage(outer=ground.root or ground.copy is not Copy.COPIED)
    inner = _inner(ground, execution, stage)
    if not stage.outer:
        return [str(ground.bwrap), *inner]
    return [
        *_outer(ground, execution),
        *stage.args,
        "sh",
        "-c",
        _mounts(ground, execution),
        "sh",
        *_drop(ground.root),
        f"{_STAGE}/bwrap",
        *inner,
    ]


def _outer(ground: Ground, execution: Execution) -> list[str]:
    argv = [str(ground.bwrap), "--unshare-pid", "--die-with-parent"]
    if not ground.root:
        argv += ["--unshare-user", "--uid", "0", "--gid", "0", "--cap-add", "ALL"]
    # Where no whole /proc is to be seen, the kernel allows no new one; /tmp is where the inner bwrap begins.
    argv += ["--dev-bind", "/proc", "/proc", "--dev-bind", "/dev", "/dev", "--dir", "/tmp"]  # noqa: S108
    for piece in ground.system:
        argv += ["--symlink" if piece.link else "--ro-bind", piece.source, piece.place]
    # Made first, and by itself: a folder that bwrap makes on the way to another is closed to other users.
    argv += ["--dir", _STAGE, "--dir", _SCRATCH, "--ro-bind", str(ground.bwrap), f"{_STAGE}/bwrap"]
    if ground.copy is not Copy.COPIED:
        argv += ["--ro-bind", str(ground.tree), f"{_STAGE}/tree"]
        argv += ["--ro-bind", str(execution.folder / "changes"), f"{_STAGE}/changes"]
    if ground.copy is Copy.OVERLAY_ON_DISK:
        argv += ["--bind", str(execution.folder / "disk"), f"{_STAGE}/disk"]
    return argv


def _drop(root: bool) -> list[str]:
    if not root:
        return []
    ids = ["--reuid", str(UNPRIVILEGED_ID), "--regid", str(UNPRIVILEGED_ID), "--clear-groups"]
    return ["setpriv", *ids, "--no-new-privs", "--bounding-set=-all", "--inh-caps=-all"]


def _mounts(ground: Ground, execution: Execution) -> str:
    """Shell text that mounts what the inner bwrap binds, then becomes its arguments."""
    # The inner bwrap looks itself up in /proc, which must be that of the outer pid namespace, and without the read-only
    # covers of bwrap's own --proc, or the kernel refuses a further /proc to the inner one.
    lines = ["set -e", "mount -t proc proc /proc"]
    if ground.copy is Copy.COPIED:
        return "\n".join([*lines, 'exec "$@"'])
    size = execution.limits.disk_mb
    disk = _SCRATCH if ground.copy is Copy.OVERLAY else f"{_STAGE}/disk"
    layers = f"{_STAGE}/changes:{_STAGE}/tree" if execution.layered else f"{_STAGE}/tree"
    lines += [
        f"mount -t tmpfs -o size={size}m,nr_inodes={size * _INODES_PER_MB},mode=0755,nosuid,nodev scratch {_SCRATCH}",
        f"cd {_SCRATCH}",
        f"mkdir -m 755 {disk}/upper {disk}/work tree home; mkdir -m 1777 tmp shm",
    ]
    if ground.root:
        lines.append(f"chown {UNPRIVILEGED_ID}:{UNPRIVILEGED_ID} {disk}/upper tmp home shm")
    lines.append(
        f"mount -t overlay -o {_OVERLAY_OPTIONS}{'' if ground.root else ',userxattr'},"
        f"lowerdir={layers},upperdir={disk}/upper,workdir={disk}/work overlay tree"
    )
    lines += [f"rm -f {shlex.quote('tree/' + path)}" for path in execution.removed]
    return "\n".join([*lines, 'exec "$@"'])


def _inner(ground: Ground, execution: Execution, stage: _Stage) -> list[str]:
    argv = ["--unshare-all", "--unshare-user", "--uid", str(USER_ID), "--gid", str(USER_ID)]
    argv += ["--new-session", "--die-with-parent", "--cap-drop", "ALL", "--hostname", "sandbox"]
    if ground.network:
        argv.append("--share-net")
    if not ground.nested:
        argv.append("--disable-userns")
    places = {"/proc": ["--proc"], "/dev": ["--dev"]}
    for piece in ground.pieces:
        places[piece.place] = (
            ["--symlink", piece.source] if piece.link else ["--ro-bind", stage.path(piece.source)]
        )
    places |= _writable(ground, execution.limits, stage)
    if execution.collect:
        places[f"{_OWN}/collect"] = ["--bind", stage.path(str(execution.folder / "collect"), writable=True)]
    if ground.copy is Copy.COPIED:
        places[f"{_OWN}/tree"] = ["--ro-bind", stage.path(str(ground.tree))]
        places[f"{_OWN}/changes"] = ["--ro-bind", stage.path(str(execution.folder / "changes"))]
    for place in sorted(places, key=lambda place: PurePosixPath(place).parts):  # what is below comes after
        argv += [*places[place], place]
    argv += ["--remount-ro", "/dev", "--remount-ro", "/", "--chdir", "/"]
    for name, value in execution.env.items():
        argv += ["--setenv", name, value]
    return [*argv, "sh", "-c", _launcher(ground, execution), "sh", *execution.argv]


def _writable(ground: Ground, limits: Limits, stage: _Stage) -> dict[str, list[str]]:
    """The tree and the private folders, with .git closed again."""
    at, git = ground.mount_at, ground.tree / ".git"
    closed = git.exists() and not git.is_symlink()
    names = {"/tmp": "tmp", HOME: "home", "/dev/shm": "shm", at: "tree"}  # noqa: S108 # places in the sandbox
    if ground.copy is not Copy.COPIED:
        places = {place: ["--bind", f"{_SCRATCH}/{name}"] for place, name in names.items()}
        if closed:
            places[f"{at}/.git"] = ["--ro-bind", f"{_SCRATCH}/tree/.git"]
        return places
    mb = limits.disk_mb
    places = {place: ["--size", str(mb << 20), "--tmpfs"] for place in names}
    places[at] = ["--size", str((mb + ground.tree_mb) << 20), "--tmpfs"]
    if closed:
        places[f"{at}/.git"] = ["--ro-bind", stage.path(str(git))]
    return places


def _launcher(ground: Ground, execution: Execution) -> str:
    prepare: list[str] = []
    if ground.copy is Copy.COPIED:
        at = shlex.quote(ground.mount_at)
        prepare.append(
            f"(cd {_OWN}/tree; set --; for each in * .[!.]* ..?*; do case $each in .git) continue; esac; "
            'if [ -e "$each" ] || [ -L "$each" ]; then set -- "$@" "./$each"; fi; done; '
            f'[ $# = 0 ] || cp -a "$@" {at}/)'
        )
        if execution.layered:
            prepare.append(f"cp -a {_OWN}/changes/. {at}/")
        prepare += [f"rm -f {shlex.quote(f'{ground.mount_at}/{path}')}" for path in execution.removed]
    return launcher(
        execution.token,
        execution.limits,
        prepare=prepare,
        cwd=execution.cwd,
        collect=execution.collect,
        collect_root=ground.mount_at,
        collect_to=f"{_OWN}/collect",
        processes=execution.count_processes,
        per_file=ground.copy is Copy.OVERLAY_ON_DISK,
    )
