"""Changes as a diff made by git, and back."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from experepair.domain.command import Changes
from experepair.domain.edit import Unparsed
from experepair.errors import UsageError
from experepair.workspace import paths
from experepair.workspace.checkout import Checkout
from experepair.workspace.repository import Repository
from experepair.workspace.scratch import Scratch, scratch
from experepair.workspace.tree import REGULAR

_APPLY = ("apply", "--whitespace=nowarn", "--no-ignore-whitespace", "-p1")


def diff(checkout: Checkout, changes: Changes) -> str:
    """The changes as `git apply` takes them on the checkout's commit; the same changes give the same text.

    Where lines aren't UTF-8 the file is a binary patch, so that the text can be kept anywhere.
    """
    with scratch(checkout.git, "HEAD") as index:
        for path in sorted(changes):
            index.put(path, changes[path], checkout.read(path))
        return "".join(index.diff(path) for path in sorted(changes))


def changes_of_patch(checkout: Checkout, patch: str) -> Changes | Unparsed:
    """What a diff does to the checkout; the reason when it doesn't apply, or does what no edit may.

    Modes can't be held: a new file is not executable, others keep theirs.
    """
    with scratch(checkout.git, "HEAD") as index:
        if reason := _applied(index, patch):
            return Unparsed(reason, patch)
        changes: dict[str, bytes | None] = {}
        for entry, gone in index.changed():
            path = entry.path
            if reason := paths.refusal(path) or checkout.read.obstacle(path) or paths.clash(path, changes):
                return Unparsed(reason, patch)
            changes[path] = None if gone else index.content(entry, checkout.read(path))
    return changes


def apply_to_worktree(repository: Repository, patch: str) -> tuple[str, ...]:
    """Apply a diff to the user's own files, all of it or nothing; the index isn't touched.

    Returns:
        The touched paths.

    Raises:
        UsageError: there is no work tree, a touched file has uncommitted changes, or the patch doesn't apply.
    """
    root = repository.root
    if repository.bare:
        raise UsageError(f"{str(root)!r} is a bare repository: there are no files to apply the patch to")
    with scratch(repository.git, "HEAD") as index:
        if reason := _applied(index, patch):
            raise UsageError(f"{reason} (on HEAD of {str(root)!r})")
        touched = tuple(entry.path for entry, _ in index.changed())
    if reason := next(filter(None, map(paths.refusal, touched)), None):
        raise UsageError(reason)
    dirty = repository.git.run(
        "status", "--porcelain", "-z", "--no-renames", "--untracked-files=all", "--", *touched
    )
    if dirty:
        names = ", ".join(sorted(os.fsdecode(entry[3:]) for entry in dirty.split(b"\0") if entry))
        raise UsageError(f"not applied: commit or stash the changes of {names} first")
    owners = {path: _owner(root / path) for path in touched}
    repository.git.run(*_APPLY, "-", stdin=_bytes(patch))
    for path, (user, group) in owners.items():
        # root repairs a user's repository: the files stay his
        with suppress(FileNotFoundError, PermissionError):
            os.chown(root / path, user, group)
    return touched


def _applied(index: Scratch, patch: str) -> str | None:
    """Apply a diff to an index; the reason when that can't be done, or makes anything but regular files."""
    if not patch.strip():
        return "the patch is empty"
    try:
        data = _bytes(patch)
    except UnicodeEncodeError:
        return "the patch isn't valid UTF-8"
    applied = index.git.attempt(*_APPLY, "--cached", "-", stdin=data)
    if applied.exit_code:
        return f"the patch doesn't apply: {applied.stderr}"
    changed = index.changed()
    if not changed:
        return "the patch changes nothing"
    for entry, gone in changed:
        if not gone and entry.mode not in REGULAR:
            return f"{entry.path!r} would become a link or a submodule (mode {entry.mode})"
    return None


def _bytes(patch: str) -> bytes:
    return (patch if patch.endswith("\n") else f"{patch}\n").encode()


def _owner(path: Path) -> tuple[int, int]:
    there = next(place for place in (path, *path.parents) if place.exists())
    facts = there.stat()
    return facts.st_uid, facts.st_gid
