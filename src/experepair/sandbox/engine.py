"""docker and podman by their command line: the one place where it is called."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import resource
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from experepair.errors import SandboxUnavailable

ENGINES = ("docker", "podman")
_ANSWER_S = 60.0
"""How long the engine may take for an answer in seconds; a busy machine takes a while to remove a container."""
_FILES, _THREADS = 4096, 32_000
"""Open files and threads of a user in a container, at most: what the engines ask for by themselves may be refused."""


class EngineFailed(Exception):
    """The engine refused; the message is what it said."""


@dataclass(frozen=True, slots=True)
class Engine:
    """An engine that answers.

    Attributes:
        name: "docker" or "podman".
        words: what every call of it begins with.
    """

    name: str
    words: tuple[str, ...]

    async def ask(self, *words: str, timeout_s: float = _ANSWER_S) -> str:
        """What it prints.

        Raises:
            EngineFailed: it refuses, or doesn't answer in time.
        """
        process = await asyncio.create_subprocess_exec(
            *self.words, *words, stdin=-3, stdout=-1, stderr=-1, start_new_session=True
        )
        try:
            async with asyncio.timeout(timeout_s):
                out, err = await process.communicate()
        except TimeoutError:
            raise EngineFailed(f"{self.name} {words[0]} takes more than {timeout_s:.0f} s") from None
        finally:
            if process.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    process.kill()
                await process.wait()
        if process.returncode:
            raise EngineFailed(err.decode(errors="replace").strip() or f"exit {process.returncode}")
        return out.decode(errors="replace")

    async def remove(self, *containers: str) -> None:
        """Kill and remove containers, with the volumes that were made for them; those that are gone are no fault."""
        if containers:
            with contextlib.suppress(EngineFailed):
                await self.ask("rm", "--force", "--volumes", *containers)

    async def remove_images(self, *images: str) -> None:
        """Remove images; one that is in use stays."""
        for image in images:
            with contextlib.suppress(EngineFailed):
                await self.ask("rmi", image)

    async def labelled(self, kind: str, label: str) -> dict[str, Mapping[str, str]]:
        """Ids of the containers or images that have the label, each with all of its labels.

        Args:
            kind: "container" or "image".
            label: its name.
        """
        listing = ("ps", "--all") if kind == "container" else ("images",)
        found = (await self.ask(*listing, "--quiet", "--no-trunc", "--filter", f"label={label}")).split()
        labels: dict[str, Mapping[str, str]] = {}
        for each in dict.fromkeys(found):
            with contextlib.suppress(EngineFailed, ValueError):  # one that has just gone
                text = await self.ask(kind, "inspect", "--format", "{{json .Config.Labels}}", each)
                labels[each] = json.loads(text) or {}
        return labels

    async def image(self, name: str) -> dict[str, Any]:
        """What the engine knows of an image.

        Raises:
            EngineFailed: it isn't there.
        """
        described: list[dict[str, Any]] = json.loads(await self.ask("image", "inspect", name))
        return described[0]


async def find_engine(name: str) -> Engine:
    """The engine, which was seen to answer.

    Raises:
        SandboxUnavailable: it isn't installed, or nothing answers.
    """
    found = shutil.which(name)
    if found is None:
        raise SandboxUnavailable(
            f"{name} is not installed; install it (Debian, Ubuntu: apt-get install {_PACKAGES[name]}), "
            "or use --sandbox bubblewrap"
        )
    engine = Engine(name, (found,))
    try:
        await engine.ask("ps", "--quiet", timeout_s=20)
    except EngineFailed as error:
        raise SandboxUnavailable(f"{name} doesn't answer: {error}\n{_REMEDIES[name]}") from error
    return engine


def variants(engine: Engine) -> Iterable[Engine]:
    """The engine, and its other ways of running containers where the first may fail."""
    yield engine
    if engine.name == "podman" and (runc := shutil.which("runc", path=_SBIN)):
        yield Engine(engine.name, (*engine.words, "--runtime", runc))  # crun refuses mixed control groups


def ulimits() -> list[str]:
    """Options that ask for no more than this process may have."""
    files = _least(resource.RLIMIT_NOFILE, _FILES)
    threads = _least(resource.RLIMIT_NPROC, _THREADS)
    given = {"core": 0, "nofile": files, "nproc": threads}
    return [word for name, most in given.items() for word in ("--ulimit", f"{name}={most}:{most}")]


def options(labels: Mapping[str, str], extra: Sequence[str] = (), *, network: bool = False) -> list[str]:
    """What every container of experepair is started with: no network unless it is asked for, no log, no privileges."""
    words = [] if network else ["--network", "none"]
    words += ["--log-driver", "none", "--hostname", "sandbox", "--workdir", "/", "--stop-timeout", "0"]
    words += ["--cap-drop", "ALL", "--security-opt", "no-new-privileges", *ulimits(), *extra]
    return [*words, *(word for name, value in labels.items() for word in ("--label", f"{name}={value}"))]


def _least(kind: int, wanted: int) -> int:
    hard = resource.getrlimit(kind)[1]
    return wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)


_SBIN = f"{os.defpath}:/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin"
_PACKAGES = {"docker": "docker.io", "podman": "podman"}
_REMEDIES = {
    "docker": "start it (systemctl start docker), and let your user reach it (usermod -aG docker USER, then log in "
    "again); DOCKER_HOST names a daemon elsewhere",
    "podman": "`podman info` says what it lacks",
}
