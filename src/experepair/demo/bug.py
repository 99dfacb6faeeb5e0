"""The demo: the package under repair and the release with its own fix, fetched once by hash."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path

from experepair.domain.command import NO_CHANGES, Command, Completed
from experepair.domain.edit import Unparsed
from experepair.errors import UsageError
from experepair.folders import cache_folder
from experepair.sandbox.interpreter import find_interpreter
from experepair.sandbox.open import Kind, open_sandbox
from experepair.workspace.checkout import checkout
from experepair.workspace.diff import changes_of_patch
from experepair.workspace.repository import Repository

ISSUE, JOURNAL = "issue.md", "journal.jsonl"
_DATA = "experepair.demo"
_ORACLE_TESTS = "tests/test_strutils.py"
_LAID = "tests/test_of_the_fix.py"
_ORACLE_SELECTION = "splitlines or indent"


@dataclass(frozen=True, slots=True)
class Demo:
    """What the demo works on.

    Attributes:
        repository: the package with the bug, made a git repository.
        oracle: the test file of the release in which its maintainers fixed the bug.
    """

    repository: Path
    oracle: Path


def prepare() -> Demo:
    """Fetch the two source archives by hash, unless they are there, and make the repository.

    Raises:
        UsageError: they can't be fetched; the message holds what pip said.
    """
    home = cache_folder() / "demo"
    demo = Demo(home / "boltons", home / "oracle" / Path(_ORACLE_TESTS).name)
    if demo.repository.is_dir() and demo.oracle.is_file():
        return demo
    home.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=home) as scratch:
        package = _unpacked("requirements.txt", Path(scratch, "package"))
        release = _unpacked("oracle.txt", Path(scratch, "release"))
        _make_repository(package)
        for made, place in ((package, demo.repository), (release / "tests", demo.oracle.parent)):
            shutil.rmtree(place, ignore_errors=True)
            made.rename(place)
    return demo


def resource(name: str) -> Path:
    """A file of the demo's, on the disk."""
    with as_file(files(_DATA).joinpath(name)) as path:
        return path


def judge(demo: Demo, patch: str) -> tuple[str, str]:
    """What the maintainers' own tests of the fix say without and with a patch, in pytest's last line each."""
    return asyncio.run(_judge(demo, patch))


async def _judge(demo: Demo, patch: str) -> tuple[str, str]:
    repository = Repository.open(demo.repository)
    tree = checkout(repository, repository.resolve("HEAD"), cache_folder() / "checkouts")
    changes = changes_of_patch(tree, patch)
    if isinstance(changes, Unparsed):
        raise UsageError(f"the patch can't be judged: {changes.reason}")
    interpreter = find_interpreter(demo.repository, sys.executable)
    root = demo.repository
    async with open_sandbox(Kind.AUTO, tree=tree.root, mount_at=root, interpreter=interpreter) as sandbox:
        before, after = [
            await sandbox.run(_oracle(root), {**laid, _LAID: demo.oracle.read_bytes()})
            for laid in (NO_CHANGES, changes)
        ]
    return _last_line(before), _last_line(after)


def _oracle(root: Path) -> Command:
    command = ("{python}", "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", _ORACLE_SELECTION, _LAID)
    return Command(command, env=(("PYTHONPATH", str(root)),))


def _last_line(completed: Completed) -> str:
    lines = [line for line in completed.stdout.splitlines() if line.strip()]
    return lines[-1] if lines else completed.stderr.strip()[-200:]


def _unpacked(requirements: str, folder: Path) -> Path:
    """Download one source archive by its hash and unpack it."""
    command = [
        sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps",
        "--no-binary", ":all:", "--require-hashes", "--dest", str(folder), "-r", str(resource(requirements)),
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, check=False, text=True)
    archives = sorted(folder.glob("*.tar.gz"))
    if done.returncode or len(archives) != 1:
        raise UsageError(f"the demo's package can't be fetched; pip said: {done.stderr.strip()[-1000:]}")
    with tarfile.open(archives[0]) as archive:
        archive.extractall(folder, filter="data")
    return next(path for path in folder.iterdir() if path.is_dir())


def _make_repository(folder: Path) -> None:
    """One commit with fixed names and dates, so that it is the same commit everywhere."""
    who = {
        f"GIT_{role}_{what}": value
        for role in ("AUTHOR", "COMMITTER")
        for what, value in (
            ("NAME", "demo"),
            ("EMAIL", "demo@example.invalid"),
            ("DATE", "2026-07-17T00:00:00Z"),
        )
    }
    environment = {**os.environ, **who, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    for arguments in (
        ["init", "--quiet"],
        ["add", "--all", "--force"],
        ["commit", "--quiet", "--message", "boltons 26.1.0"],
    ):
        subprocess.run(["git", *arguments], cwd=folder, env=environment, check=True, capture_output=True)
