"""Lays out changes to a tree as a folder of their own, which is then put over the tree."""

from __future__ import annotations

import io
import os
import stat
import tarfile
import time
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from experepair.domain.command import Changes, Command
from experepair.errors import UsageError


@dataclass(frozen=True, slots=True)
class Owner:
    """Who must own what a sandbox is to write; both ids as the machine counts them."""

    uid: int
    gid: int

    def give(self, path: Path) -> None:
        """Make `path` this owner's, links themselves included, if it isn't."""
        info = path.lstat()
        if (info.st_uid, info.st_gid) != (self.uid, self.gid):
            os.lchown(path, self.uid, self.gid)


def stage_changes(changes: Changes, tree: Path, folder: Path, owner: Owner) -> tuple[str, ...]:
    """Write new contents to `folder`, with the permissions that the files have in `tree`.

    Returns:
        Paths to remove from the tree.

    Raises:
        UsageError: a path leaves the tree, passes through a link, touches .git, or is a folder.
    """
    removed = []
    for path, content in changes.items():
        parts = _checked(path, tree)
        if content is None:
            removed.append("/".join(parts))
            continue
        try:
            _write(parts, content, tree, folder, owner)
        except (FileExistsError, NotADirectoryError, IsADirectoryError) as error:
            raise UsageError(f"the change to {path!r} needs a folder where another one has a file") from error
    return tuple(removed)


def pack_changes(changes: Changes, tree: Path) -> tuple[bytes, tuple[str, ...]]:
    """New contents as a tar archive, with the permissions that the files have in `tree`.

    Returns:
        The archive, empty when nothing is new, and the paths to remove from the tree.

    Raises:
        UsageError: as for `stage_changes`.
    """
    removed = []
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for path, content in changes.items():
            parts = _checked(path, tree)
            if content is None:
                removed.append("/".join(parts))
                continue
            entry = tarfile.TarInfo("./" + "/".join(parts))
            entry.size = len(content)
            entry.mode = _mode(tree.joinpath(*parts), 0o644)
            entry.mtime = int(time.time())
            archive.addfile(entry, io.BytesIO(content))
    return packed.getvalue() if len(removed) < len(changes) else b"", tuple(removed)


def prepare_tree(tree: Path, owner: Owner) -> None:
    """Make a one-time checkout fit for overlays whose commands run as `owner`.

    A sandbox calls it when it is opened; the checkout must be experepair's own, never the user's. The top folder and
    .git keep their owner, so that git goes on trusting the checkout: commands see the top folder's copy, which is
    theirs, and .git is read-only to them. For a normal user only a foreign group (of a set-gid folder) is changed: ids
    that the sandbox can't express make an overlay fail.
    """
    if owner.uid != os.getuid():
        tree.chmod(stat.S_IMODE(tree.stat().st_mode) | 0o055)
    for folder, folders, files in os.walk(tree):
        if folder == str(tree):
            folders[:] = [name for name in folders if name != ".git"]
            files = [name for name in files if name != ".git"]
        for name in (*folders, *files):
            owner.give(Path(folder, name))


def check_paths(command: Command) -> None:
    """Refuse a working directory or a collected path outside the tree.

    Raises:
        UsageError: naming the path.
    """
    for path in (command.cwd, *command.collect):
        if path.startswith("/") or ".." in PurePosixPath(path).parts or "\0" in path or "\n" in path:
            raise UsageError(f"the path {path!r} of a command leaves the tree")


def _write(parts: tuple[str, ...], content: bytes, tree: Path, folder: Path, owner: Owner) -> None:
    target, original = folder, tree
    for part in parts[:-1]:
        target, original = target / part, original / part
        if not target.is_dir():
            target.mkdir()
            target.chmod(_mode(original, 0o755))
            owner.give(target)
    file = target / parts[-1]
    file.write_bytes(content)
    file.chmod(_mode(original / parts[-1], 0o644))
    owner.give(file)


def _checked(path: str, tree: Path) -> tuple[str, ...]:
    parts = PurePosixPath(path).parts
    if not parts or path.startswith("/") or ".." in parts or "\0" in path:
        raise UsageError(f"the change to {path!r} leaves the tree")
    if parts[0] == ".git":
        raise UsageError(f"the change to {path!r} touches .git")
    place = tree
    for part in parts:
        place /= part
        try:
            mode = place.lstat().st_mode
        except FileNotFoundError:
            break
        except OSError as error:
            raise UsageError(f"the change to {path!r} can't be made: {error.strerror}") from error
        if stat.S_ISLNK(mode):
            raise UsageError(
                f"the change to {path!r} passes through the link {str(place.relative_to(tree))!r}"
            )
        if stat.S_ISDIR(mode) == (place == tree.joinpath(*parts)):
            what = "a folder" if stat.S_ISDIR(mode) else "a file on the way"
            raise UsageError(f"the change to {path!r} meets {what}")
    return parts


def _mode(original: Path, otherwise: int) -> int:
    try:
        return stat.S_IMODE(original.lstat().st_mode)
    except OSError:
        return otherwise
