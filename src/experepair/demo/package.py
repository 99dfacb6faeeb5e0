"""The package that the demo repairs, and the release with its maintainers' own fixes: fetched once by hash."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path

from experepair.errors import UsageError
from experepair.folders import cache_folder

_TESTS_OF_THE_FIXES = "test_strutils.py"


@dataclass(frozen=True, slots=True)
class Package:
    """What the demo works on.

    Attributes:
        repository: the package with its bugs, made a git repository.
        oracle: the test file of the release in which its maintainers fixed them.
    """

    repository: Path
    oracle: Path


def prepare() -> Package:
    """Fetch the two source archives by hash, unless they are there, and make the repository.

    Raises:
        UsageError: they can't be fetched; the message holds what pip said.
    """
    home = cache_folder() / "demo"
    package = Package(home / "boltons", home / "oracle" / _TESTS_OF_THE_FIXES)
    if package.repository.is_dir() and package.oracle.is_file():
        return package
    home.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=home) as scratch:
        source = _unpacked("requirements.txt", Path(scratch, "package"))
        release = _unpacked("oracle.txt", Path(scratch, "release"))
        _make_repository(source)
        for made, place in ((source, package.repository), (release / "tests", package.oracle.parent)):
            shutil.rmtree(place, ignore_errors=True)
            made.rename(place)
    return package


def resource(name: str) -> Path:
    """A file of the demo's, on the disk."""
    with as_file(files("experepair.demo").joinpath(name)) as path:
        return path


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
