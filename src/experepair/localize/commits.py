"""Past commits in the cache: what they say and touch, read from git once."""

from __future__ import annotations

import os
import re
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from experepair.localize.index.folder import Batch, SegmentFolder
from experepair.localize.index.segment import Segment
from experepair.localize.log import Logged, read_log
from experepair.localize.terms import count_terms
from experepair.workspace.git import Git

COMMIT_SHIFT, DIFF_SHIFT = 32, 16
"""A posting is commit << 32 | in changed lines << 16 | in message, paths and names of definitions."""

_CHUNK = 200
"""Commits read by one run of git."""
_MAX_FILES = 30
"""The changed lines of commits on more files say nothing about any of them, and may be many."""
_MAX_DIFF = 200_000
"""Bytes of a commit's diff that are read."""
_MAX_SEGMENTS = 8
_MAX_MERGED_BYTES = 16 << 20

_OLD = re.compile(r"^(?:--- a/|rename from )(.*)$", re.MULTILINE)
_NEW = re.compile(r"^(?:\+\+\+ b/|rename to )(.*)$", re.MULTILINE)
_HUNK = re.compile(r"^@@ [^@\n]{1,80} @@ ?(.*)$", re.MULTILINE)
_DEFINED = re.compile(r"(\w+)\s*(?:[(:]|$)")
_CHANGED = re.compile(r"^[+-](?!\+\+ |-- )(.*)$", re.MULTILINE)
_FILE = re.compile(r"^diff --git ", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Change:
    """What a commit did to a file.

    Attributes:
        old: path before; the same as `new` unless it was renamed.
        new: path after.
        names: definitions around the changed lines, by their simple names, as far as git knows.
    """

    old: str
    new: str
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Commit:
    """A past commit.

    Attributes:
        id: in hexadecimal.
        subject: first line of its message.
        message: all of it.
        changes: each file, in our languages, that it touched.
        changed: the lines that it removed and added.
    """

    id: str
    subject: str
    message: str = ""
    changes: tuple[Change, ...] = ()
    changed: str = ""


@dataclass
class CommitStore:
    """All commits of a repository that were read so far."""

    folder: SegmentFolder
    places: dict[str, tuple[int, int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._locate()

    def _locate(self) -> None:
        self.places.clear()
        for number, segment in enumerate(self.folder.segments):
            keys = segment.texts("key")
            for document in range(len(keys)):
                self.places.setdefault(keys[document], (number, document))

    def update(self, git: Git, wanted: Sequence[str]) -> int:
        """Read those commits that are new, and return how many were."""
        missing = [commit for commit in wanted if commit not in self.places]
        if not missing:
            return 0
        batch = new_batch()
        for at in range(0, len(missing), _CHUNK):
            asked = missing[at : at + _CHUNK]
            found = {commit.id: commit for commit in read_commits(git, asked)}
            for commit in asked:
                _add(batch, found.get(commit) or Commit(commit, ""))
        self.folder.add(batch)
        small = [each for each in self.folder.segments if each.size < _MAX_MERGED_BYTES]
        if len(self.folder.segments) > _MAX_SEGMENTS and len(small) > 1:
            self.folder.replace(small, _merged(small))
        self._locate()
        return len(missing)


def read_commits(git: Git, commits: Sequence[str]) -> Iterator[Commit]:
    """What git tells of commits; those that touch no file in our languages are left out.

    Only commits on few files are read with their changed lines: an import of a whole tree would be most of
    the history's bytes. Of others it is kept what they renamed. A merge has no difference of its own here:
    what it brought is in the commits it joined.
    """
    small = []
    for logged in read_log(git, commits, "--no-merges", "--raw", "-M100%"):
        lines = os.fsdecode(logged.difference).splitlines()
        if len(lines) <= _MAX_FILES:
            small.append(logged.id)
            continue
        renamed = [line.split("\t")[1:] for line in lines if line.count("\t") == 2]
        changes = tuple(Change(old, new) for old, new in renamed)
        kept = changes if len(changes) > _MAX_FILES else ()
        yield Commit(logged.id, logged.subject, logged.message, kept)
    for logged in read_log(git, small, "--no-merges", "-p", "-U0", "-M"):
        yield _parsed(logged)


def _parsed(logged: Logged) -> Commit:
    diff = os.fsdecode(logged.difference[:_MAX_DIFF])
    files = _FILE.split(diff)[1:]
    changes = tuple(change for change in map(_change, files) if change is not None)
    return Commit(logged.id, logged.subject, logged.message, changes, "\n".join(_CHANGED.findall(diff)))


def _change(file: str) -> Change | None:
    head, _, hunks = file.partition("\n@@ ")
    old, new = _OLD.search(head), _NEW.search(head)
    after = new or old
    if after is None:
        return None
    names = dict.fromkeys(name[1] for name in map(_DEFINED.search, _HUNK.findall("@@ " + hunks)) if name)
    return Change((old or after)[1], after[1], tuple(names))


def new_batch() -> Batch:
    """An empty batch of commits."""
    return Batch({"size": array("I")}, {"key": [], "subject": [], "changes": []})


def _add(batch: Batch, commit: Commit) -> None:
    document = len(batch.texts["key"])
    batch.texts["key"].append(commit.id)
    batch.texts["subject"].append(commit.subject)
    batch.texts["changes"].append("\n".join(map(_line, commit.changes)))
    if not commit.changes:
        batch.numbers["size"].append(0)
        return
    touched = " ".join(f"{change.new} {' '.join(change.names)}" for change in commit.changes)
    head = count_terms(f"{commit.message}\n{touched}")
    diff = count_terms(commit.changed)
    for term in head.keys() | diff.keys():
        tf = min(diff.get(term, 0), 65535) << DIFF_SHIFT | min(head.get(term, 0), 65535)
        batch.note(term, document << COMMIT_SHIFT | tf)
    batch.numbers["size"].append(round(sum(head.values()) + DIFF_WEIGHT * sum(diff.values())))


def _line(change: Change) -> str:
    return "\t".join((change.old, change.new, " ".join(change.names)))


def parse_changes(text: str) -> list[Change]:
    """The changes of a commit, as its segment holds them."""
    split = (line.split("\t") for line in text.split("\n") if line)
    return [Change(old, new, tuple(names.split())) for old, new, names in split]


DIFF_WEIGHT = 0.3
"""What a term in changed lines counts beside one in the message."""


def _merged(segments: Sequence[Segment]) -> Batch:
    """One batch with the commits of several segments, each once."""
    batch = new_batch()
    done: set[str] = set()
    for segment in segments:
        keys = segment.texts("key")
        moved: list[int | None] = []
        for document in range(len(keys)):
            if keys[document] in done:
                moved.append(None)
                continue
            done.add(keys[document])
            moved.append(len(batch.texts["key"]))
            for name, column in batch.texts.items():
                column.append(segment.texts(name)[document])
            batch.numbers["size"].append(segment.numbers("size")[document])
        for term, postings in segment.all_postings():
            for posting in postings:
                target = moved[posting >> COMMIT_SHIFT]
                if target is not None:
                    batch.note(term, posting & (1 << COMMIT_SHIFT) - 1 | target << COMMIT_SHIFT)
    return batch
