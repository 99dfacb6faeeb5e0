"""Lays files over, or under, a one-time checkout: another folder, which costs the layers alone, since the rest is linked."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import stat
import tarfile
import tempfile
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager
from fcntl import LOCK_EX, LOCK_NB, flock
from pathlib import Path, PurePosixPath
from typing import IO

from experepair.errors import OutputError

_TURN_S = 0.05
"""Between two tries to get a lock, in seconds."""

Lay = Callable[[Path], None]
"""Changes a linked copy of the checkout; files that are there must be replaced, never written to."""


def layered(tree: Path, folder: Path, lay: Lay) -> Path:
    """A copy of `tree` below `folder` with a layer; made once, by one process at a time.

    Raises:
        OutputError: it can't be written.
    """
    home = folder / "tree"
    try:
        with _only_one(folder):
            if not home.is_dir():
                _make(tree, home, lay)
    except OSError as error:
        raise OutputError(f"no layer over the checkout can be made in {str(folder)!r}: {error}") from error
    return home


@contextmanager
def _only_one(folder: Path) -> Iterator[None]:
    with _lock(folder) as held:
        flock(held, LOCK_EX)
        yield


@asynccontextmanager
async def only_one(folder: Path) -> AsyncIterator[None]:
    """Makes the folder, and holds it against other processes, and other tasks of this one, which go on meanwhile."""
    with _lock(folder) as held:
        while True:
            try:
                flock(held, LOCK_EX | LOCK_NB)
                break
            except BlockingIOError:
                await asyncio.sleep(_TURN_S)
        yield


def _lock(folder: Path) -> IO[str]:
    folder.mkdir(parents=True, exist_ok=True)
    return (folder / "lock").open("a")


def _make(tree: Path, home: Path, lay: Lay) -> None:
    temporary = Path(tempfile.mkdtemp(prefix="new-", dir=home.parent))
    try:
        shutil.copytree(tree, temporary / "tree", symlinks=True, copy_function=_link)
        lay(temporary / "tree")
        (temporary / "tree").rename(home)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _link(source: str, target: str) -> None:
    try:
        os.link(source, target, follow_symlinks=False)
    except OSError:  # no links here, or another user's file
        shutil.copy2(source, target, follow_symlinks=False)


def lay_products(checkout: Path, paths: Iterable[str]) -> Lay:
    """Files of the user's checkout, laid where the tree has none."""

    def lay(tree: Path) -> None:
        for path in paths:
            if (target := _place(tree, path)) is not None and not os.path.lexists(target):
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(checkout / path, target, follow_symlinks=False)

    return lay


def lay_archive(archive: tarfile.TarFile) -> Lay:
    """What a set-up left: it is hostile as the repository is, so nothing is written through a link or outside."""

    def lay(tree: Path) -> None:
        for member in archive:
            if member.name == "removed":
                content = archive.extractfile(member)
                for path in _texts(content.read() if content else b""):
                    if (gone := _place(tree, path)) is not None and not gone.is_dir():
                        gone.unlink(missing_ok=True)
                continue
            target = _place(tree, member.name.removeprefix("tree/"))
            if target is not None:
                _extract(archive, member, target)

    return lay


def _extract(archive: tarfile.TarFile, member: tarfile.TarInfo, target: Path) -> None:
    if member.isdir():
        target.mkdir(parents=True, exist_ok=True)
        return
    if not (member.isfile() or member.issym() or member.islnk()):
        return  # no devices, pipes and sockets
    target.parent.mkdir(parents=True, exist_ok=True)
    if target.is_dir() and not target.is_symlink():
        shutil.rmtree(target)
    target.unlink(missing_ok=True)
    if member.issym():
        target.symlink_to(member.linkname)
    elif content := _content(archive, member):
        with target.open("xb") as file:
            shutil.copyfileobj(content, file)
        target.chmod(stat.S_IMODE(member.mode) & 0o755 | 0o600)
        os.utime(target, (member.mtime, member.mtime))


def _content(archive: tarfile.TarFile, member: tarfile.TarInfo) -> IO[bytes] | None:
    try:
        return archive.extractfile(member)
    except KeyError:  # a hard link to what isn't in the archive
        return None


def _place(tree: Path, path: str) -> Path | None:
    """Where a path lies in the tree; None when it leaves it, touches .git, or leads through a link."""
    parts = PurePosixPath(path).parts
    if not parts or path.startswith("/") or ".." in parts or parts[0] == ".git" or "\0" in path:
        return None
    place = tree
    for part in parts[:-1]:
        place /= part
        if place.is_symlink() or (place.exists() and not place.is_dir()):
            return None
    return tree.joinpath(*parts)


def _texts(content: bytes) -> list[str]:
    try:
        values = json.loads(content)
    except ValueError:
        return []
    return [value for value in values if isinstance(value, str)] if isinstance(values, list) else []
