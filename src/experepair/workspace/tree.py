"""The tracked files of a checkout, and what stands in an edit's way there."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path

from experepair.workspace.paths import folded, folders

REGULAR = frozenset({"100644", "100755"})
LINK = "120000"
SUBMODULE = "160000"
_KINDS = {LINK: "a symbolic link", SUBMODULE: "a submodule"}


class Tree:
    """Reads tracked files; called with a path, it gives the file's content.

    Args:
        root: the folder that holds them.
        modes: git's mode of everything tracked, by path.
    """

    def __init__(self, root: Path, modes: Mapping[str, str]) -> None:
        self.root = root
        self.modes = modes

    def __call__(self, path: str) -> bytes | None:
        """Content of the tracked regular file `path`; None when there is none (links aren't followed)."""
        if self.modes.get(path) not in REGULAR:
            return None
        try:
            return (self.root / path).read_bytes()
        except FileNotFoundError:
            return None

    @cached_property
    def files(self) -> tuple[str, ...]:
        """All regular files whose name is valid UTF-8, sorted."""
        return tuple(sorted(path for path, mode in self.modes.items() if mode in REGULAR and is_utf8(path)))

    def obstacle(self, path: str) -> str | None:
        """Why this tree lets no edit touch `path`: a link, a submodule, a folder, or a name that differs by case."""
        if kind := _KINDS.get(self.modes.get(path, "")):
            return f"{path!r} is {kind}; only regular files can be edited"
        for folder in folders(path):
            if mode := self.modes.get(folder):
                return f"{folder!r} is {_KINDS.get(mode, 'a file')}, so {path!r} can't be below it"
        if path not in self.modes and path in self._names:
            return f"{path!r} is a folder"
        for name in (path, *folders(path)):
            if name not in self._names and (spelled := self._spelled.get(folded(name))):
                return f"{name!r} differs only by case from {spelled!r}, which is there already"
        return None

    @cached_property
    def _names(self) -> frozenset[str]:
        return frozenset(name for path in self.modes for name in (path, *folders(path)))

    @cached_property
    def _spelled(self) -> dict[str, str]:
        return {folded(name): name for name in self._names}


def is_utf8(path: str) -> bool:
    """Whether the name of a file, as Python has it, is one that prompts and reports can hold."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True
