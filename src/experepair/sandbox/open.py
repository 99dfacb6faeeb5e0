"""Opens the sandbox that a flag asks for, or the best one that is proved to work here."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from enum import StrEnum
from pathlib import Path

from experepair.errors import SandboxUnavailable, UsageError
from experepair.sandbox.bubblewrap import BubblewrapSandbox
from experepair.sandbox.container import ContainerSandbox
from experepair.sandbox.engine import ENGINES
from experepair.sandbox.image import ImageChoice
from experepair.sandbox.interpreter import Interpreter
from experepair.sandbox.opened import OpenedSandbox
from experepair.sandbox.remedy import remedy
from experepair.sandbox.sandbox import IsolatedSandbox, Limits
from experepair.sandbox.unisolated import UnisolatedSandbox


class Kind(StrEnum):
    """Values of `--sandbox`."""

    AUTO = "auto"
    BUBBLEWRAP = "bubblewrap"
    DOCKER = "docker"
    PODMAN = "podman"
    NONE = "none"


@asynccontextmanager
async def open_sandbox(
    kind: Kind | str,
    *,
    tree: Path,
    mount_at: Path,
    interpreter: Interpreter | None,
    image: ImageChoice | None = None,
    limits: Limits | None = None,
    rootfs: Path | None = None,
    binds: Sequence[Path] = (),
    run_root: Path | None = None,
    network: bool = False,
) -> AsyncIterator[IsolatedSandbox]:
    """A sandbox over `tree`, for an `async with` block; it has been proved by running a command in it.

    Args:
        kind: `AUTO` is never `NONE`.
        tree: one-time checkout, experepair's own: as root it is given to the unprivileged user.
        mount_at: path of the user's checkout, where commands see their copy.
        interpreter: see `find_interpreter`; None with an image, which brings its own.
        image: what docker or podman run; `AUTO` takes the first of them that works.
        limits: of an execution that brings none of its own.
        rootfs: root file system to run in, instead of the host's programs.
        binds: more of the host to bind read-only, each at its own path.
        run_root: where staging folders are made; default below the user's cache folder.
        network: leave the network open: for the set-up that the user asked for, and nothing else.

    Raises:
        SandboxUnavailable: it doesn't work here; the message says what to do.
        UsageError: the tree, the place to show it at, or the image can't be used.
    """
    kind = _checked(Kind(kind), image, rootfs)
    if image is not None:
        engines = ENGINES if kind is Kind.AUTO else (str(kind),)
        ways: list[OpenedSandbox] = [
            ContainerSandbox(engine, tree, mount_at, image, limits, run_root=run_root, network=network)
            for engine in engines
        ]
    elif interpreter is None:
        raise UsageError("no interpreter is known; say with --python which one the repository runs on")
    elif kind is Kind.NONE:
        ways = [UnisolatedSandbox(tree, mount_at, interpreter, limits, run_root=run_root)]
    else:
        ways = [
            BubblewrapSandbox(
                tree,
                mount_at,
                interpreter,
                limits,
                rootfs=rootfs,
                binds=binds,
                run_root=run_root,
                network=network,
            )
        ]
    sandbox = await _entered(ways)
    try:
        yield sandbox
    finally:
        await sandbox.__aexit__(None, None, None)


async def _entered(ways: Sequence[OpenedSandbox]) -> OpenedSandbox:
    """The first that works; one of two engines may not have the image."""
    failures: list[str] = []
    refusals: list[str] = []
    for sandbox in ways:
        try:
            return await sandbox.__aenter__()
        except SandboxUnavailable as error:
            help_ = f"\n{remedy(str(error))}" if isinstance(sandbox, BubblewrapSandbox) else ""
            failures.append(f"{error}{help_}")
        except UsageError as error:
            refusals.append(str(error))
    if refusals:
        raise UsageError("\n".join(dict.fromkeys(refusals)))
    raise SandboxUnavailable("\n".join(failures))


def _checked(kind: Kind, image: ImageChoice | None, rootfs: Path | None) -> Kind:
    container = kind in (Kind.DOCKER, Kind.PODMAN)
    if image is None and container:
        raise UsageError(
            f"--sandbox {kind} needs an image that holds the repository's environment: give --image"
        )
    if image is not None and not container and kind is not Kind.AUTO:
        raise UsageError(
            f"--sandbox {kind} runs no image; use --sandbox docker or podman, or leave --image out"
        )
    if image is not None and rootfs is not None:
        raise UsageError("--image and --rootfs are two roots; leave one out")
    if kind is Kind.NONE and rootfs is not None:
        raise SandboxUnavailable("--sandbox none can't run in --rootfs; use --sandbox bubblewrap")
    return kind
