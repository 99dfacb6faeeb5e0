"""The tracked files of one commit."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Protocol

from experepair.workspace.git import Git

_CHUNK_BYTES = 16 << 20
"""How much content one run of git hands over at most, unless a single blob is larger."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A tracked regular file.

    Attributes:
        path: POSIX, relative to the tree.
        blob: git's id of its content, in hexadecimal.
    """

    path: str
    blob: str


class Source(Protocol):
    """Something that lists the files of one state of a repository, and reads them."""

    @property
    def name(self) -> str:
        """What its index is cached under: the same for all commits of a repository."""
        ...

    def entries(self) -> Sequence[Entry]:
        """All regular files, in order of their paths."""
        ...

    def sizes(self, blobs: Iterable[str]) -> list[tuple[str, int]]:
        """Bytes of each blob that is there, in the order asked for."""
        ...

    def contents(self, blobs: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        """Content of each blob that is there, in the order asked for."""
        ...

    def read(self, path: str) -> bytes | None:
        """Content of one file; None when there is no such file."""
        ...


class GitSource:
    """A commit of a git repository, read from its object store: the working tree doesn't matter.

    Args:
        repository: a working tree or a bare repository.
        commit: any name of a commit.
        shared_with: the repository whose index is used and kept; None means `repository` itself. A private
            copy that is made anew for each repair names the one it was made from.

    Raises:
        UsageError: there is no such repository or commit.
    """

    def __init__(self, repository: Path, commit: str = "HEAD", *, shared_with: Path | None = None) -> None:
        self._home = Git(shared_with or repository)
        self.git = Git(repository)
        self.commit = self.git.line("rev-parse", "--verify", "--end-of-options", f"{commit}^{{commit}}")

    @classmethod
    def of_checkout(cls, root: Path) -> GitSource:
        """The commit that is checked out below `root`."""
        return cls(root)

    @cached_property
    def name(self) -> str:
        """The repository's own folder: worktrees of a repository share an index."""
        return str((self._home.cwd / self._home.line("rev-parse", "--git-common-dir")).resolve())

    def entries(self) -> Sequence[Entry]:
        """All regular files; links and submodules are left out."""
        return self._entries

    @cached_property
    def _entries(self) -> tuple[Entry, ...]:
        found = []
        for line in self.git.run("ls-tree", "-r", "-z", "--full-tree", self.commit).split(b"\0"):
            if line.startswith(b"100"):
                head, _, path = line.partition(b"\t")
                found.append(Entry(os.fsdecode(path), head.split()[2].decode()))
        return tuple(found)

    @cached_property
    def _blob_of(self) -> dict[str, str]:
        return {entry.path: entry.blob for entry in self._entries}

    def sizes(self, blobs: Iterable[str]) -> list[tuple[str, int]]:
        """Bytes of each blob that is there; a partial clone may lack some."""
        asked = tuple(blobs)
        ran = self.git.attempt("cat-file", "--batch-check", stdin=_lines(asked))
        if ran.exit_code:  # git gives up where an object is elsewhere: look at those that are here
            here = self.git.run("cat-file", "--batch-all-objects", "--batch-check")
            known = dict.fromkeys(asked)
            answers = [answer for answer in here.splitlines() if answer.split(b" ", 1)[0].decode() in known]
        else:
            answers = ran.stdout.splitlines()
        split = [answer.decode().split() for answer in answers]
        return [(blob, int(size[0])) for blob, kind, *size in split if kind == "blob"]

    def contents(self, blobs: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        """Content of each blob that is there."""
        chunk: list[str] = []
        total = 0
        for blob, size in self.sizes(blobs):
            if chunk and total + size > _CHUNK_BYTES:
                yield from self._chunk(chunk)
                chunk, total = [], 0
            chunk.append(blob)
            total += size
        if chunk:
            yield from self._chunk(chunk)

    def _chunk(self, blobs: Sequence[str]) -> Iterator[tuple[str, bytes]]:
        output = self.git.run("cat-file", "--batch", stdin=_lines(blobs))
        at = 0
        for blob in blobs:
            start = output.index(b"\n", at) + 1
            at = start + int(output[at:start].split()[2])
            yield blob, output[start:at]
            at += 1

    def read(self, path: str) -> bytes | None:
        """Content of one file; None when it isn't tracked, or its content isn't here."""
        blob = self._blob_of.get(path)
        return next((content for _, content in self.contents([blob])), None) if blob else None


def _lines(blobs: Iterable[str]) -> bytes:
    return "".join(f"{blob}\n" for blob in blobs).encode()
