"""Images for tests, made for docker and podman where they answer, and removed again."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from experepair.errors import SandboxUnavailable
from experepair.sandbox import leftovers
from experepair.sandbox.engine import Engine, find_engine

MORE = (
    "tar",
    "timeout",
    "sleep",
    "env",
    "chown",
    "chmod",
    "grep",
    "id",
    "xargs",
    "git",
    "kill",
    "mv",
    "setsid",
)
"""What a container needs beside the programs of `roots`."""


def called(*words: str, stdin: bytes = b"") -> str:
    return subprocess.run(words, input=stdin, capture_output=True, check=True).stdout.decode()


@dataclass
class Images:
    """An engine that runs containers, and how images are made for it."""

    engine: Engine
    root: Path
    made: list[str]

    def make(self, *changes: str, root: Path | None = None) -> str:
        name = f"experepair-test:{secrets.token_hex(6)}"
        packed = subprocess.run(
            ["tar", "-C", str(root or self.root), "-c", "."], capture_output=True, check=True
        ).stdout
        words = [word for change in changes for word in ("--change", change)]
        called(*self.engine.words, "import", *words, "-", name, stdin=packed)
        self.made.append(name)
        return name

    def left(self, lock_below: Path, *kinds: str) -> list[str]:
        """Containers and images of sandboxes with this run root."""
        found = []
        for kind in kinds or ("container", "image"):
            labels = asyncio.run(self.engine.labelled(kind, leftovers.LOCK))
            found += [each for each, its in labels.items() if its[leftovers.LOCK].startswith(str(lock_below))]
        return found


@contextlib.contextmanager
def engine_images(name: str, root: Path) -> Iterator[Images]:
    """The engine with an image of `root`; skips the tests where it runs no containers."""
    try:
        engine = asyncio.run(find_engine(name))
    except SandboxUnavailable as error:
        pytest.skip(str(error).splitlines()[0])
    (root / "tmp").chmod(0o1777)
    images = Images(engine, root, [])
    try:
        images.make()
        trial = subprocess.run(
            [*engine.words, "run", "--rm", "--network", "none", "--ulimit", "nofile=1024:1024",
             "--ulimit", "nproc=1024:1024", images.made[0], "true"], capture_output=True, check=False,
        )  # fmt: skip
        if trial.returncode not in (0, 127) and b"hybrid" not in trial.stderr:  # no `true`; runc is taken
            pytest.skip(f"{engine.name} runs no containers: {trial.stderr.decode()[-300:]}")
        yield images
    finally:
        for made in images.made:
            with contextlib.suppress(subprocess.CalledProcessError):
                called(*engine.words, "rmi", "--force", made)
