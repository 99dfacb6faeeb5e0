"""Opens the sandbox that a flag asks for, or the best one that is proved to work here."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from enum import StrEnum
from pathlib import Path

from experepair.errors import SandboxUnavailable
from experepair.sandbox.bubblewrap import BubblewrapSandbox
from experepair.sandbox.interpreter import Interpreter
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
    interpreter: Interpreter,
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
        interpreter: see `find_interpreter`.
        limits: of an execution that brings none of its own.
        rootfs: root file system to run in, instead of the host's programs.
        binds: more of the host to bind read-only, each at its own path.
        run_root: where staging folders are made; default below the user's cache folder.
        network: leave the network open: for the set-up that the user asked for, and nothing else.

    Raises:
        SandboxUnavailable: it doesn't work here; the message says what to do.
        UsageError: the tree, or the place to show it at, can't be used.
    """
    kind = Kind(kind)
    if kind in (Kind.DOCKER, Kind.PODMAN):
        raise SandboxUnavailable(
            f"--sandbox {kind} is not there yet; use --sandbox bubblewrap, with --rootfs for another system's programs"
        )
    if kind is Kind.NONE:
        if rootfs is not None:
            raise SandboxUnavailable("--sandbox none can't run in --rootfs; use --sandbox bubblewrap")
        async with UnisolatedSandbox(tree, mount_at, interpreter, limits, run_root=run_root) as unisolated:
            yield unisolated
        return
    sandbox = BubblewrapSandbox(
        tree, mount_at, interpreter, limits, rootfs=rootfs, binds=binds, run_root=run_root, network=network
    )
    try:
        await sandbox.__aenter__()
    except SandboxUnavailable as error:
        raise SandboxUnavailable(f"{error}\n{remedy(str(error))}") from error
    try:
        yield sandbox
    finally:
        await sandbox.__aexit__(None, None, None)
