"""What was built in the user's checkout and isn't tracked: extension modules, generated version files, metadata."""

from __future__ import annotations

import os
import re
from collections.abc import Collection
from pathlib import Path, PurePosixPath

from experepair.workspace.git import Git
from experepair.workspace.repository import Repository

_NEVER = re.compile(
    r"(^|/)(\.[^/]+|venv|env|build|dist|node_modules|__pycache__|site-packages|[\w.-]*\.egg|conda-meta)/"
)
EXTENSIONS = (".so", ".pyd", ".dylib")
"""Endings of extension modules."""

_LEFTOVERS = (
    ".pyc",
    ".pyo",
    ".o",
    ".obj",
    ".a",
    ".log",
    ".orig",
    ".rej",
    ".swp",
    ".tmp",
    "~",
    ".sqlite3",
    ".db",
)
_LARGEST = 512 * 2**20
_SOURCES = (".pyx", ".c", ".cc", ".cpp", ".cxx", ".rs", ".f90")


def build_products(repository: Repository, tracked: Collection[str]) -> tuple[str, ...]:
    """Untracked files of the checkout that look like products of a build, sorted; virtual environments are passed over.

    Extension modules count wherever they are, other files only if git ignores them and they lie in a folder of tracked
    ones (not the top one), or are metadata of an installed project.
    """
    if repository.bare:
        return ()
    listed = os.fsdecode(repository.git.attempt("ls-files", "--others", "-z").stdout)
    found = [path for path in listed.split("\0") if path and not _NEVER.search(path)]
    folders = {str(PurePosixPath(file).parent) for file in tracked} - {"."}
    products = [path for path in found if path.endswith(EXTENSIONS)]
    others = [
        path
        for path in found
        if (".egg-info/" in path or str(PurePosixPath(path).parent) in folders)
        and not path.endswith((*EXTENSIONS, *_LEFTOVERS))
    ]
    every = (*products, *_ignored(repository, others))
    return tuple(sorted(path for path in every if _is_plain(repository.root / path)))


def is_generated(repository: Repository, tracked: Collection[str], path: str) -> bool:
    """Whether a module (its path without an ending) is made by a build: git ignores it, or it has a source to compile."""
    names = [f"{path}{ending}" for ending in (".py", ".so", ".cpython-311-x86_64-linux-gnu.so")]
    if _ignored(repository, names):
        return True
    name = PurePosixPath(path).name
    return any(PurePosixPath(file).stem == name and file.endswith(_SOURCES) for file in tracked)


def _ignored(repository: Repository, paths: list[str]) -> list[str]:
    if not paths or repository.bare:
        return []
    settings = (*repository.git.settings, *repository.excludes())
    git = Git(
        repository.root, settings, {"GIT_LITERAL_PATHSPECS": "0"}
    )  # check-ignore refuses to take them literally
    asked = "\0".join(paths).encode("utf-8", "surrogateescape")
    found = git.attempt("check-ignore", "-z", "--no-index", "--stdin", stdin=asked)
    return [path for path in os.fsdecode(found.stdout).split("\0") if path]


def _is_plain(path: Path) -> bool:
    return path.is_file() and not path.is_symlink() and path.stat().st_size <= _LARGEST
