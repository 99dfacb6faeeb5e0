"""Builds the command line of an execution in a container. Pure: nothing is run or written."""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from experepair.domain.command import Command
from experepair.sandbox.engine import Engine, options
from experepair.sandbox.environment import environment
from experepair.sandbox.image import HOME, Image
from experepair.sandbox.launcher import launcher
from experepair.sandbox.process import SETUP_S
from experepair.sandbox.sandbox import Limits

_OWN_PROCESSES = 2
"""Of a container, beside the command: the deadline and the launcher."""
_MARGIN_S = 30
_ENDS_ITSELF = '(sleep "$0"; kill -9 -1) </dev/null >/dev/null 2>&1 & "$@"'


@dataclass(frozen=True, slots=True)
class ContainerGround:
    """What all executions of a sandbox have in common.

    Attributes:
        engine: the engine.
        image: what was found in the user's image.
        prepared: id of the image with the checkout in it.
        labels: of every container.
        network: whether it is left open.
        sized: whether the engine holds the size of a container's layer.
    """

    engine: Engine
    image: Image
    prepared: str
    labels: Mapping[str, str]
    network: bool = False
    sized: bool = False


@dataclass(frozen=True, slots=True)
class ContainerExecution:
    """One command and what its set-up reads.

    Attributes:
        command: as it was given, paths checked.
        limits: what it may use.
        token: announces the hand-over, and names the container.
        packed: length of the archive of changes in bytes.
        removed: paths to remove from the tree.
        mark: what collected files begin with on stdout.
    """

    command: Command
    limits: Limits
    token: str
    packed: int
    removed: tuple[str, ...]
    mark: str


def lasts_s(limits: Limits) -> int:
    """Seconds after which a container ends by itself."""
    return math.ceil(limits.time_s + SETUP_S + _MARGIN_S)


def container_command(ground: ContainerGround, execution: ContainerExecution) -> list[str]:
    """The whole command line."""
    limits, image, last = execution.limits, ground.image, str(lasts_s(execution.limits))
    argv = [*ground.engine.words, "run", "--rm", "--interactive", "--name", execution.token]
    argv += options(ground.labels, _limits(limits), network=ground.network)
    if ground.engine.name == "podman":
        argv += ["--timeout", last, "--http-proxy=false"]
    argv += ["--user", f"{image.user}:{image.user}", "--shm-size", f"{limits.disk_mb}m"]
    for place in ("/tmp", HOME):  # noqa: S108 # the container's own
        if not PurePosixPath(image.place).is_relative_to(place):
            argv += ["--tmpfs", f"{place}:rw,exec,nosuid,nodev,mode=1777,size={limits.disk_mb}m"]
    if ground.sized:
        argv += ["--storage-opt", f"size={limits.disk_mb}m"]
    # The deadline is the first process: nothing inside can kill that one.
    if image.timeout:
        argv += ["--entrypoint", "timeout", ground.prepared, "-s", "KILL", last]
    else:
        argv += ["--entrypoint", "sh", ground.prepared, "-c", _ENDS_ITSELF, last]
    python = image.interpreter.path
    words = [word.replace("{python}", python) for word in execution.command.argv]
    variables = [f"{name}={value}" for name, value in _environment(image, execution.command).items()]
    return [*argv, "env", "-i", *variables, "sh", "-c", _launcher(image.place, execution), "sh", *words]


def _limits(limits: Limits) -> list[str]:
    words = ["--pids-limit", str(limits.processes + _OWN_PROCESSES)]
    if limits.total_memory_mb:
        memory = f"{limits.total_memory_mb + limits.disk_mb}m"
        words += ["--memory", memory, "--memory-swap", memory]
    if limits.cpus:
        words += ["--cpus", str(limits.cpus)]
    return words


def _environment(image: Image, command: Command) -> dict[str, str]:
    """The image's own variables, the allow-list over them, the command's over both."""
    ours = environment(image.interpreter, (), home=HOME, tmp="/tmp")  # noqa: S108 # the container's own
    path = f"{ours['PATH'].partition(':')[0]}:{image.env.get('PATH', ours['PATH'])}"
    return {**image.env, **ours, "PATH": path, **dict(command.env)}


def _launcher(place: str, execution: ContainerExecution) -> str:
    prepare = []
    if execution.packed:
        prepare.append(f"head -c {execution.packed} | tar -xpof - -C {shlex.quote(place)}")
    prepare += [f"rm -f {shlex.quote(f'{place}/{path}')}" for path in execution.removed]
    return launcher(
        execution.token,
        execution.limits,
        prepare=prepare,
        cwd=str(PurePosixPath(place, execution.command.cwd)),
        collect=execution.command.collect,
        collect_root=place,
        collect_mark=execution.mark,
        processes=False,
        per_file=True,
    )
