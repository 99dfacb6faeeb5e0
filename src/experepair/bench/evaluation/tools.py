"""Python environments of tools that evaluations call: made on first use, of packages pinned by hash."""

from __future__ import annotations

import fcntl
import hashlib
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from experepair.errors import OutputError, UsageError

SPECS = "swebench-4"
"""The last swebench that has specs and log parsers; nothing of what it depends on."""
HARNESS = "swebench-5"
"""The official harness with all that it depends on, half a gigabyte."""


def tool_python(name: str, cache: Path, tell: Callable[[str], None]) -> Path:
    """The interpreter of a tool's environment; it is made when it isn't there.

    Args:
        name: `SPECS` or `HARNESS`.
        cache: folder of all tools.
        tell: is called with what takes a while.

    Raises:
        UsageError: the packages can't be installed.
        OutputError: the folder can't be written.
    """
    requirements = Path(__file__).with_name(f"{name}.txt")
    digest = hashlib.sha256(requirements.read_bytes() + sys.version.encode()).hexdigest()[:12]
    home = cache / f"{name}-{digest}"
    python = home / "bin" / "python"
    try:
        cache.mkdir(parents=True, exist_ok=True)
        with home.with_name(f"{home.name}.lock").open("a") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            if not (home / "ready").exists():
                tell(f"making the environment of {name} in {home}")
                _make(requirements, home)
    except OSError as error:
        raise OutputError(f"the environment of {name} can't be made in {str(cache)!r}: {error}") from error
    return python


def _make(requirements: Path, home: Path) -> None:
    shutil.rmtree(home, ignore_errors=True)
    with tempfile.TemporaryFile("w+") as log:
        dependencies = ("--no-deps",) if requirements.stem == SPECS else ()
        pip = (str(home / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
        for command in (
            (sys.executable, "-m", "venv", str(home)),
            (*pip, "--require-hashes", *dependencies, "-r", str(requirements)),
        ):
            done = subprocess.run(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, check=False
            )
            if done.returncode:
                log.seek(0)
                said = [line for line in log.read().splitlines() if line.startswith("ERROR")]
                shutil.rmtree(home, ignore_errors=True)
                raise UsageError(
                    f"{requirements.stem} can't be installed: {' '.join(said)[:500] or 'see pip'}; "
                    "a package index that has it must be reachable (pip's own settings say which), once"
                )
    (home / "ready").touch()
