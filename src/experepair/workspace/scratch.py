"""An index and an object folder beside a repository, to try changes that must leave no trace in it."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from experepair.workspace.git import Git

_DIFF = (
    *("--cached", "--binary", "--full-index", "--no-color", "--no-ext-diff", "--no-textconv", "--no-renames"),
    *("--unified=3", "--diff-algorithm=histogram", "--src-prefix=a/", "--dst-prefix=b/"),
)
_ATTRIBUTES = "*.py diff=python\n*.pyi diff=python\n"
_AS_BINARY = "* -diff\n"


@dataclass(frozen=True, slots=True)
class Entry:
    """A tracked path: git's mode ("100644" and the like) and the id of its content."""

    path: str
    mode: str
    blob: str


@dataclass(frozen=True, slots=True)
class Scratch:
    """A commit's index, to be changed at will.

    Attributes:
        git: runs on the index, in an empty folder where no attributes of the repository hold.
        inside: the same in the repository's own folder, where they do.
        tree: id of the commit's tree.
    """

    git: Git
    inside: Git
    tree: str

    def entry(self, path: str) -> Entry | None:
        """What the index has at `path`."""
        found = os.fsdecode(self.git.run("ls-files", "--stage", "-z", "--", path)).split("\0")
        for line in filter(None, found):
            facts, _, name = line.partition("\t")
            if name == path:
                mode, blob, _ = facts.split(" ")
                return Entry(path, mode, blob)
        return None

    def put(self, path: str, content: bytes | None, there: bytes | None) -> None:
        """Change the file as an edit of the work tree would.

        Args:
            path: below the top.
            content: as in the work tree; None removes the file.
            there: what the work tree has now. Where git converts line ends or encodings on checkout it isn't what
                the commit has, and the new content is converted back as well; else the bytes are taken as they are.
        """
        entry = self.entry(path)
        if content is None:
            line = f"0 {'0' * len(self.tree)}\t{path}"
        else:
            converted = entry is not None and there is not None and _blob_id(there, entry.blob) != entry.blob
            options = (f"--path={path}",) if converted else ()
            made = self.inside.run("hash-object", "-w", "--stdin", *options, stdin=content)
            line = f"{entry.mode if entry else '100644'} {made.decode().strip()}\t{path}"
        self.git.run("update-index", "-z", "--index-info", stdin=os.fsencode(line) + b"\0")

    def content(self, entry: Entry, there: bytes | None) -> bytes:
        """The changed file as the work tree would have it; `there` as for `put`."""
        before = os.fsdecode(self.git.run("ls-tree", "-z", self.tree, "--", entry.path))
        blob = before.partition("\t")[0].rpartition(" ")[2]
        if there is not None and blob and _blob_id(there, blob) != blob:
            return self.inside.run("cat-file", "--filters", f"--path={entry.path}", entry.blob)
        return self.git.run("cat-file", "blob", entry.blob)

    def changed(self) -> list[tuple[Entry, bool]]:
        """Every path that differs from the commit, and whether it is gone, sorted."""
        raw = self.git.run("diff", "--cached", "--raw", "-z", "--no-abbrev", "--no-renames", self.tree)
        fields = os.fsdecode(raw).split("\0")
        found = []
        for facts, path in zip(fields[0::2], fields[1::2], strict=False):
            _, mode, _, blob, status = facts.split(" ")
            found.append((Entry(path, mode, blob), status == "D"))
        return found

    def diff(self, path: str) -> str:
        """The diff of one path; binary where the lines it would show aren't UTF-8."""
        attributes = self.git.cwd / "info" / "attributes"
        attributes.write_text(_ATTRIBUTES)
        made = self.git.run("diff", *_DIFF, self.tree, "--", path)
        if not _is_utf8(made):
            attributes.write_text(_AS_BINARY)
            made = self.git.run("diff", *_DIFF, self.tree, "--", path)
        return made.decode()


@contextmanager
def scratch(source: Git, commit: str) -> Iterator[Scratch]:
    """Yield the index of `commit`; what is written goes to a temporary folder."""
    form = source.line("rev-parse", "--show-object-format")
    objects = source.cwd / source.line("rev-parse", "--git-path", "objects")
    tree = source.line("rev-parse", f"{commit}^{{tree}}")
    with tempfile.TemporaryDirectory(prefix="experepair-") as folder:
        here = Path(folder, "repository")
        Git(Path(folder)).run(
            "init", "--quiet", "--bare", "--template=", f"--object-format={form}", "repository"
        )
        (here / "info").mkdir(exist_ok=True)
        git = Git(here).with_scratch(Path(folder), objects)
        git.run("read-tree", tree)
        yield Scratch(git, source.with_scratch(Path(folder), objects), tree)


def _blob_id(content: bytes, like: str) -> str:
    return hashlib.new(
        "sha1" if len(like) == 40 else "sha256", b"blob %d\0" % len(content) + content
    ).hexdigest()


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True
