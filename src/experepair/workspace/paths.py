"""Which paths an edit or a patch may touch."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable

# what HFS+ ignores in names, so that ".g\u200cit" is ".git" there
_IGNORED = dict.fromkeys((*range(0x200C, 0x2010), *range(0x202A, 0x202F), *range(0x206A, 0x2070), 0xFEFF))
_GIT_FOLDER = re.compile(r"\.git|git~\d+")
_WRAPPING = " \t\r\n`'\"*"


def refusal(path: str) -> str | None:
    """Why no edit may touch `path`, whatever the tree holds; None when it is all right."""
    if not path:
        return "the path is empty"
    if not path.isprintable():
        return f"the path {path!r} has characters that can't be printed"
    if len(path) > 1024:
        return "the path is longer than 1024 characters"
    if path.startswith("/") or re.match(r"[A-Za-z]:", path):
        return f"the path {path!r} is absolute; give it relative to the top of the repository"
    if "\\" in path:
        return f"the path {path!r} has a backslash; separate folders by /"
    parts = path.split("/")
    if ".." in parts:
        return f"the path {path!r} leaves the repository (..)"
    if "" in parts or "." in parts:
        return f"the path {path!r} doesn't name a file"
    if any(_names_git_folder(part) for part in parts):
        return f"the path {path!r} is inside git's own folder"
    return None


def cleaned(written: str, exists: Callable[[str], bool], mount: str = "") -> str:
    """The path that a model means.

    Args:
        written: as in the reply: perhaps quoted, below `mount`, with ./, or with the a/ or b/ of a diff in front.
        exists: whether the tree has a file of that name; a/, b/ and backslashes are kept unless it does then.
        mount: where the tree is mounted for those who run in it.
    """
    path = written.strip(_WRAPPING)
    if mount and path.startswith(mount.rstrip("/") + "/"):
        path = path[len(mount.rstrip("/")) + 1 :]
    while path.startswith("./"):
        path = path[2:].lstrip("/")
    if not exists(path):
        slashed = path.replace("\\", "/")
        for other in (slashed, slashed.removeprefix("a/"), slashed.removeprefix("b/")):
            if exists(other):
                return other
    return path


def folded(path: str) -> str:
    """The same for two paths that a file system blind to case, or to Unicode's forms, takes for one."""
    return unicodedata.normalize("NFC", path.casefold())


def clash(path: str, others: Iterable[str]) -> str | None:
    """Why `path` can't be beside files that are made together with it."""
    for other in others:
        if other != path and folded(other) == folded(path):
            return f"{path!r} differs only by case from {other!r}"
        if other in folders(path) or path in folders(other):
            return f"{path!r} and {other!r} can't both be files"
    return None


def folders(path: str) -> list[str]:
    """The folders that `path` lies in, from the innermost, the top left out."""
    cuts = [i for i, character in enumerate(path) if character == "/"]
    return [path[:cut] for cut in reversed(cuts)]


def _names_git_folder(part: str) -> bool:
    # NTFS drops dots and spaces at the end and takes what follows a colon for a stream
    return bool(_GIT_FOLDER.fullmatch(part.translate(_IGNORED).casefold().partition(":")[0].rstrip(" .")))
