"""A private checkout of one commit, made once and kept below a cache."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

from experepair.errors import OutputError
from experepair.workspace.git import Git
from experepair.workspace.repository import Repository
from experepair.workspace.snapshot import snapshot
from experepair.workspace.tree import SUBMODULE, Tree, is_utf8

__all__ = ["Checkout", "Repository", "checkout"]

_MARKER = "experepair.json"
_CONFIG = (
    ("core.checkStat", "minimal"),  # a sandbox may give the files to another user
    ("core.trustctime", "false"),
    ("core.logAllRefUpdates", "false"),
    ("core.autocrlf", "false"),
    ("gc.auto", "0"),
)
_LFS_POINTER = b"version https://git-lfs.github.com/spec/"
_LFS_POINTER_LARGEST = 1024
_NAMED_IN_A_NOTE = 5


@dataclass(frozen=True, slots=True)
class Checkout:
    """The files of one commit, in a git repository of its own whose history is that commit alone.

    Attributes:
        root: its folder.
        commit: id of the user's commit; also of the one in this repository, unless that holds uncommitted changes.
        read: content by path, None for what isn't a tracked regular file (also knows what edits may not touch).
        notes: what is not as in the user's checkout, one line each.
    """

    root: Path
    commit: str
    read: Tree
    notes: tuple[str, ...] = ()

    def files(self) -> tuple[str, ...]:
        """All tracked regular files with names in UTF-8, POSIX, sorted."""
        return self.read.files

    def is_executable(self, path: str) -> bool:
        """Whether git has the executable bit for it."""
        return self.read.modes.get(path) == "100755"

    @property
    def tree_id(self) -> str:
        """Id of its tree: equal for equal contents."""
        return self.git.line("rev-parse", "HEAD^{tree}")

    @property
    def git(self) -> Git:
        """Runs git in it."""
        return Git(self.root)


def checkout(repository: Repository, commit: str, cache: Path, include_dirty: bool = False) -> Checkout:
    """The checkout of a commit below `cache`, made when it isn't there or is damaged.

    It has no remotes, tags, branches, reflogs, hooks or alternates, and none of the user's other commits.
    Several processes may ask for the same at once.

    Args:
        repository: the user's; it is only read.
        commit: full id.
        cache: folder of all checkouts.
        include_dirty: take in changed and untracked files; `commit` must then be HEAD.

    Raises:
        UsageError: `include_dirty` for another commit than HEAD; objects are missing.
        OutputError: the cache can't be written.
    """
    source = snapshot(repository, commit) if include_dirty else nullcontext((repository.git, commit))
    with source as (git, made):
        try:
            home = _home(cache, repository.scope, made)
            with _only_one(home.with_name(f"{home.name}.lock")):
                if not _is_whole(home, made):
                    _make(git, made, home)
        except OSError as error:
            raise OutputError(f"no checkout can be made below {str(cache)!r}: {error}") from error
    modes = _modes(Git(home))
    return Checkout(home, commit, Tree(home, modes), _notes(home, modes))


def _home(cache: Path, scope: str, commit: str) -> Path:
    digest = hashlib.sha256(os.fsencode(scope)).hexdigest()[:8]
    name = re.sub(r"[^\w-]+", "-", scope.rpartition("/")[2])[:40]
    folder = cache.resolve() / f"{name}-{digest}"
    folder.mkdir(parents=True, exist_ok=True)
    return folder / commit


@contextmanager
def _only_one(lock: Path) -> Iterator[None]:
    with lock.open("a") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield


def _make(source: Git, commit: str, home: Path) -> None:
    """Build in a temporary folder, then put it in place of what may be there."""
    for stale in home.parent.glob(f"{home.name}.new-*"):
        shutil.rmtree(stale, ignore_errors=True)
    temporary = Path(tempfile.mkdtemp(prefix=f"{home.name}.new-", dir=home.parent))
    try:
        tree = temporary / "tree"
        tree.mkdir()
        _fill(tree, source, commit)
        if home.exists():
            home.rename(temporary / "damaged")
        tree.rename(home)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _fill(folder: Path, source: Git, commit: str) -> None:
    git = Git(folder)
    form = source.line("rev-parse", "--show-object-format")
    git.run("init", "--quiet", "--template=", f"--object-format={form}")
    for key, value in _CONFIG:
        git.run("config", key, value)
    wanted = source.run("rev-list", "--objects", "--no-object-names", "--no-walk", commit)
    # no search for deltas: quicker to make, and as quick to read
    git.run(
        "index-pack",
        "--stdin",
        stdin=source.run("pack-objects", "--stdout", "-q", "--window=0", stdin=wanted),
    )
    # the commit keeps its id and date; its parents are cut off
    (folder / ".git" / "shallow").write_text(f"{commit}\n")
    (folder / ".git" / "HEAD").write_text(f"{commit}\n")
    git.run("read-tree", "--reset", "-u", "HEAD")
    (folder / ".git" / _MARKER).write_text(json.dumps({"commit": commit}))


def _is_whole(home: Path, commit: str) -> bool:
    try:
        marker = json.loads((home / ".git" / _MARKER).read_text())
    except (OSError, ValueError):
        return False
    git = Git(home)
    if marker != {"commit": commit} or git.attempt("rev-parse", "HEAD").stdout.decode().strip() != commit:
        return False
    status = git.attempt("status", "--porcelain", "--ignored", "--ignore-submodules=all")
    return status.exit_code == 0 and not status.stdout


def _modes(git: Git) -> dict[str, str]:
    modes = {}
    for entry in filter(None, os.fsdecode(git.run("ls-files", "--stage", "-z")).split("\0")):
        facts, _, path = entry.partition("\t")
        modes[path] = facts.partition(" ")[0]
    return modes


def _notes(root: Path, modes: dict[str, str]) -> tuple[str, ...]:
    tree = Tree(root, modes)
    kinds = {
        "submodules are left empty": [path for path, mode in modes.items() if mode == SUBMODULE],
        "files kept in LFS are left as pointers": [path for path in tree.files if _is_pointer(root / path)],
        "files with names that aren't UTF-8 are left alone": [path for path in modes if not is_utf8(path)],
    }
    return tuple(f"{what}: {_some(paths)}" for what, paths in kinds.items() if paths)


def _is_pointer(path: Path) -> bool:
    if path.stat().st_size > _LFS_POINTER_LARGEST:
        return False
    with path.open("rb") as file:
        return file.read(len(_LFS_POINTER)) == _LFS_POINTER


def _some(paths: list[str]) -> str:
    named = ", ".join(ascii(path) for path in paths[:_NAMED_IN_A_NOTE])
    return f"{named} and {len(paths) - _NAMED_IN_A_NOTE} more" if len(paths) > _NAMED_IN_A_NOTE else named
