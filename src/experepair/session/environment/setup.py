"""`--setup`: a command that makes the checkout ready, run once for a commit and an environment, and kept as a layer."""

from __future__ import annotations

import io
import os
import re
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from experepair.domain.command import Command, Completed, Ended
from experepair.errors import OutputError, UsageError
from experepair.sandbox.launcher import COLLECT_LIMIT
from experepair.sandbox.sandbox import Limits, Sandbox
from experepair.steps.target import source

_PIECE = ".experepair-setup-"
_PIECES = 40
_TAIL_LINES = 25
_NETWORK = re.compile(
    r"name resolution|could not resolve|network is unreachable|NewConnectionError|failed to establish a new connection"
    r"|dns error|connection refused|no matching distribution found|nodename nor servname",
    re.IGNORECASE,
)
_PASSED_ON = re.compile(
    r"(https?|no|all|ftp)_proxy|(PIP|UV|CONDA|NPM_CONFIG|CARGO)_\w+|SSL_CERT_(FILE|DIR)|(REQUESTS|CURL)_CA_BUNDLE",
    re.IGNORECASE,
)
_SECRET = re.compile(r"://[^/@\s]*@|token|password|secret|_key\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class SetUp:
    """What a set-up left.

    Attributes:
        archive: what it changed, for `layers.lay`.
        output: all that it printed, head and tail.
    """

    archive: bytes
    output: str


async def set_up(
    sandbox: Sandbox,
    command: str,
    *,
    network: bool,
    limits: Limits,
    log: Path,
    environ: Mapping[str, str] | None = None,
) -> SetUp:
    """Run the command on a private copy of the tree, and take what it changed there.

    Args:
        sandbox: over the tree, with or without network.
        command: text for a shell; the interpreter's folder comes first on PATH.
        network: whether the network is open to it.
        limits: of the whole set-up.
        log: where its output is kept.
        environ: the user's variables, of which those that name proxies, package indexes and certificates are passed
            on if the network is open and they hold no secret.

    Raises:
        UsageError: the command fails, with the end of its output.
        OutputError: the output can't be kept.
    """
    passed = _network_variables(os.environ if environ is None else environ) if network else ()
    argv = ("{python}", "-I", "-c", source("setup"), command, _PIECE, str(COLLECT_LIMIT), str(_PIECES))
    pieces = tuple(f"{_PIECE}{number:02d}" for number in range(_PIECES))
    completed = await sandbox.run(Command(argv, env=passed, collect=pieces), limits=limits)
    output = "\n".join(filter(None, (completed.stdout, completed.stderr)))
    _keep(output, log)
    if completed.exit_code != 0:
        raise UsageError(_refusal(command, completed, output, log, network=network, limits=limits))
    return SetUp(b"".join(completed.files[piece] for piece in pieces if piece in completed.files), output)


def _keep(output: str, log: Path) -> None:
    try:
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_text(output, encoding="utf-8", errors="replace")
    except OSError as error:
        raise OutputError(f"the output of --setup can't be kept in {str(log)!r}: {error.strerror}") from error


def _network_variables(environ: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    return tuple(
        (name, value)
        for name, value in sorted(environ.items())
        if _PASSED_ON.fullmatch(name) and not _SECRET.search(name) and not _SECRET.search(value)
    )


def _refusal(
    command: str, completed: Completed, output: str, log: Path, *, network: bool, limits: Limits
) -> str:
    ended = (
        f"was not done after {limits.time_s:g} s"
        if completed.ended is Ended.TIMED_OUT
        else f"failed with exit status {completed.exit_code}"
    )
    tail = "\n".join(output.strip().splitlines()[-_TAIL_LINES:])
    remedy = ""
    if not network and _NETWORK.search(output):
        remedy = "\nit seems to need the network: give --setup-network too"
    elif completed.ended is Ended.TIMED_OUT:
        remedy = "\nallow it more in the settings: [setup_limits] time_s"
    elif "Read-only file system" in output or "Permission denied" in output:
        remedy = (
            "\nonly the tree can be written, not the environment: let it make one of its own, as in "
            "--setup 'python3 -m venv .venv && .venv/bin/pip install -e . pytest' --setup-network"
        )
    return f"--setup {command!r} {ended}; its output is in {str(log)!r} and ends with\n{tail}{remedy}"


def opened_archive(archive: bytes) -> tarfile.TarFile:
    """The archive of a set-up.

    Raises:
        UsageError: it can't be read.
    """
    try:
        return tarfile.open(fileobj=io.BytesIO(archive), mode="r:gz")
    except (tarfile.TarError, OSError, EOFError) as error:
        raise UsageError(f"what --setup left can't be read: {error}; was it cut short?") from error
