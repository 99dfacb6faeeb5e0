"""Control groups, version 1 and 2: made for one execution each, where this process may make them."""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from experepair.sandbox.sandbox import Limits

_NAME = "experepair-"
_ENTER = 'while [ "$1" != -- ]; do echo $$ >"$1" || exit 125; shift; done; shift; exec "$@"'
_PERIOD_US = 100_000
_REMOVAL_S = 2.0
"""How long the last processes of a group are waited for in seconds."""
_TURN_S = 0.002


@dataclass(frozen=True, slots=True)
class Parents:
    """Where groups can be made.

    Attributes:
        version: of the control groups, 1 or 2.
        folders: the parent folder by controller: "memory", "pids", "cpu"; with version 2 the same for all.
    """

    version: int
    folders: Mapping[str, Path]

    @property
    def groups(self) -> Iterator[Path]:
        """All groups that experepair made here, of any process."""
        for folder in sorted(set(self.folders.values())):
            yield from sorted(folder.glob(f"{_NAME}*"))


class Group:
    """One execution's group; it exists from the making of this object to `remove`.

    Args:
        parents: where it is made.
        limits: memory, processes and processors are held.
        memory_mb: the limit on memory in MiB; 0 means none.
        processes: the limit on processes.

    Raises:
        OSError: it can't be made, or has not the controls that are needed.
    """

    def __init__(self, parents: Parents, limits: Limits, *, memory_mb: int, processes: int) -> None:
        name = f"{_NAME}{os.getpid()}-{secrets.token_hex(4)}"
        wanted = {"memory", "pids"} | ({"cpu"} if limits.cpus else set())
        folders = {
            kind: folder / name
            for kind, folder in parents.folders.items()
            if kind in wanted and (kind != "cpu" or os.access(folder, os.W_OK))  # it may not be delegated
        }
        self._version = parents.version
        self._memory = folders["memory"]
        self._folders = tuple(sorted(set(folders.values())))
        try:
            for folder in self._folders:
                folder.mkdir()
            for kind, folder in folders.items():
                for file, value in self._controls(kind, limits, memory_mb << 20, processes):
                    (folder / file).write_text(value, encoding="ascii")
            self._optional(memory_mb << 20)
        except OSError:
            self.remove_empty()
            raise

    @property
    def prefix(self) -> list[str]:
        """What a command line begins with, so that its process is in the group from its start."""
        return [
            "/bin/sh",
            "-c",
            _ENTER,
            "sh",
            *(str(folder / "cgroup.procs") for folder in self._folders),
            "--",
        ]

    def killed(self) -> int:
        """How many processes the limit on memory has ended."""
        file = "memory.oom_control" if self._version == 1 else "memory.events"
        with contextlib.suppress(OSError, ValueError):
            for line in (self._memory / file).read_text(encoding="ascii").splitlines():
                name, _, count = line.partition(" ")
                if name == "oom_kill":
                    return int(count)
        return 0

    def remove_empty(self) -> None:
        """Remove it, once nothing is in it."""
        for folder in self._folders:
            _removed(folder)

    async def remove(self) -> None:
        """Kill whatever is still in it, and remove it; what can't be removed stays for `sweep_groups`."""
        turns = int(_REMOVAL_S / _TURN_S)
        for folder in self._folders:
            for _ in range(turns):
                if _removed(folder):
                    break
                _kill(folder)
                await asyncio.sleep(_TURN_S)

    def _controls(self, kind: str, limits: Limits, memory: int, processes: int) -> list[tuple[str, str]]:
        quota = int(limits.cpus * _PERIOD_US)
        if kind == "pids":
            return [("pids.max", str(processes))]
        if kind == "cpu":
            return (
                [("cpu.cfs_quota_us", str(quota))]
                if self._version == 1
                else [("cpu.max", f"{quota} {_PERIOD_US}")]
            )
        if not memory:
            return []
        return [("memory.limit_in_bytes" if self._version == 1 else "memory.max", str(memory))]

    def _optional(self, memory: int) -> None:
        """Swap counts too, where the kernel counts it."""
        name, value = (
            ("memory.memsw.limit_in_bytes", memory) if self._version == 1 else ("memory.swap.max", 0)
        )
        if memory and (self._memory / name).exists():
            (self._memory / name).write_text(str(value), encoding="ascii")


def find_parents(
    own: Path = Path("/proc/self/cgroup"), mounts: Path = Path("/proc/self/mountinfo")
) -> Parents | None:
    """Where this process can make groups that hold memory and processes, proved by making one; None if nowhere.

    Args:
        own: the groups of this process, as the kernel lists them.
        mounts: what is mounted where, as the kernel lists it.
    """
    for parents in _candidates(own, mounts):
        try:
            group = Group(parents, Limits(), memory_mb=64, processes=8)
        except OSError:
            continue
        try:
            if (
                subprocess.run(
                    [*group.prefix, "/bin/sh", "-c", ":"], capture_output=True, check=False
                ).returncode
                == 0
            ):
                return parents
        finally:
            group.remove_empty()
    return None


def sweep_groups(parents: Parents) -> list[Path]:
    """Remove the groups of processes that are gone.

    Returns:
        What was removed.
    """
    removed = []
    for group in parents.groups:
        pid = group.name.removeprefix(_NAME).partition("-")[0]
        if pid.isdigit() and not Path("/proc", pid).exists() and _removed(group):  # one with processes stays
            removed.append(group)
    return removed


def _candidates(own: Path, mounts: Path) -> Iterator[Parents]:
    try:
        mounted = _mounted(mounts.read_text(encoding="utf-8", errors="replace"))
        paths = dict(_own(own.read_text(encoding="utf-8", errors="replace")))
    except OSError:
        return
    places: dict[str, Path] = {}
    for kind in ("memory", "pids", "cpu"):
        if kind in mounted and kind in paths:
            root, point = mounted[kind]
            with contextlib.suppress(ValueError):  # a path outside of what is mounted
                places[kind] = point / Path(paths[kind]).relative_to(root)
    if "memory" in places and "pids" in places:
        yield Parents(1, places)
    if "" in mounted and "" in paths:
        root, point = mounted[""]
        with contextlib.suppress(ValueError):
            below = Path(paths[""]).relative_to(root)
            for each in (below, *below.parents):
                yield from _unified(point / each)


def _unified(folder: Path) -> Iterator[Parents]:
    """The folder of version 2, once its children have the controllers that are needed."""
    try:
        have = (folder / "cgroup.controllers").read_text(encoding="ascii").split()
        given = (folder / "cgroup.subtree_control").read_text(encoding="ascii").split()
        if not {"memory", "pids"} <= set(have) or not os.access(folder / "cgroup.procs", os.W_OK):
            return
        if lacking := [kind for kind in ("memory", "pids") if kind not in given]:
            text = " ".join(f"+{kind}" for kind in lacking)
            (folder / "cgroup.subtree_control").write_text(text, encoding="ascii")
    except OSError:  # a group with processes of its own can't give controllers to children
        return
    yield Parents(2, {kind: folder for kind in ("memory", "pids", "cpu") if kind != "cpu" or kind in given})


def _mounted(text: str) -> dict[str, tuple[str, Path]]:
    """Root and mount point by controller; "" is version 2."""
    found: dict[str, tuple[str, Path]] = {}
    for line in text.splitlines():
        before, _, after = line.partition(" - ")
        fields, kind = before.split(), after.split()
        if len(fields) < 5 or len(kind) < 3:
            continue
        if kind[0] == "cgroup2":
            found.setdefault("", (fields[3], Path(fields[4])))
        elif kind[0] == "cgroup":
            for controller in kind[2].split(","):
                found.setdefault(controller, (fields[3], Path(fields[4])))
    return found


def _own(text: str) -> Iterator[tuple[str, str]]:
    for line in text.splitlines():
        _, controllers, path = line.split(":", 2)
        for controller in controllers.split(","):
            yield controller, path


def _removed(folder: Path) -> bool:
    try:
        folder.rmdir()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True


def _kill(folder: Path) -> None:
    with contextlib.suppress(OSError):
        (folder / "cgroup.kill").write_text("1", encoding="ascii")
        return
    with contextlib.suppress(OSError):
        for pid in (folder / "cgroup.procs").read_text(encoding="ascii").split():
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(pid), 9)
