"""A commit on top of the user's that holds his uncommitted changes, made without touching his repository."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from experepair.errors import UsageError
from experepair.workspace.git import Git
from experepair.workspace.repository import Repository


@contextmanager
def snapshot(repository: Repository, commit: str) -> Iterator[tuple[Git, str]]:
    """Yield the commit and what can read it: `commit` itself when nothing is changed or untracked.

    The same changes make the same commit. Ignored files are not taken in.

    Raises:
        UsageError: `commit` isn't HEAD, or a file can't be read.
    """
    user = repository.git
    if repository.bare:
        yield user, commit
        return
    if commit != repository.resolve("HEAD"):
        raise UsageError(
            "uncommitted changes belong to HEAD; leave out --include-dirty to repair another commit"
        )
    with tempfile.TemporaryDirectory(prefix="experepair-") as folder:
        own_index = repository.root / user.line("rev-parse", "--git-path", "index")
        if own_index.exists():
            # with its time: git then reads only the files that changed since
            shutil.copy2(own_index, Path(folder, "index"))
        settings = (*user.settings, *repository.excludes(), ("core.splitIndex", "false"))
        objects = repository.root / user.line("rev-parse", "--git-path", "objects")
        git = replace(user, settings=settings).with_scratch(Path(folder), objects)
        git.run("add", "--all")
        tree = git.line("write-tree")
        if tree == git.line("rev-parse", f"{commit}^{{tree}}"):
            yield user, commit
            return
        date = git.line("show", "--no-patch", "--format=%ct +0000", commit)
        facts = {"NAME": "experepair", "EMAIL": "experepair@localhost", "DATE": date}
        names = {
            f"GIT_{role}_{fact}": text for role in ("AUTHOR", "COMMITTER") for fact, text in facts.items()
        }
        yield git, git.with_env(**names).line("commit-tree", "-m", f"Uncommitted changes on {commit}", tree)
