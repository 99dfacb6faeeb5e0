"""Past commits in the cache: what they say and touch, read from git once."""

from __future__ import annotations

import os
import re
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from experepair.localize.index.folder import Batch, SegmentFolder
from experepair.localize.index.segment import Segment
from experepair.localize.languages import suffixes
from experepair.localize.terms import count_terms
from experepair.workspace.git import Git

COMMIT_SHIFT, DIFF_SHIFT = 32, 16
"""A posting is commit << 32 | in changed lines << 16 | in message, paths and names of definitions."""

_CHUNK = 200
"""Commits read by one run of git."""
_MAX_FILES = 30
"""The changed lines of commits on more files say nothing about any of them."""
_MAX_DIFF = 200_000
"""Characters of a commit's diff that are read."""
_MAX_SEGMENTS = 8

_RECORD = re.compile(rb"^\x00([0-9a-f]{40,64})\n", re.MULTILINE)
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
        if len(self.folder.segments) > _MAX_SEGMENTS:
            self.folder.replace(list(self.folder.segments), _merged(self.folder.segments))
        self._locate()
        return len(missing)


def read_commits(git: Git, commits: Sequence[str]) -> Iterator[Commit]:
    """What git tells of commits; those that touch no file in our languages are left out.

    A merge has no difference of its own here: what it brought is in the commits it joined.
    """
    attributes = str(Path(__file__).with_name("gitattributes"))
    reader = Git(
        git.cwd,
        (*git.settings, ("core.attributesFile", attributes), ("diff.renameLimit", "200")),
        {**git.env, "GIT_LITERAL_PATHSPECS": "0"},
    )
    output = reader.run(
        "-c", "core.quotePath=false", "log", "--stdin", "--no-walk=unsorted", "--no-merges", "-p", "-U0", "-M", "--no-color", "--no-ext-diff",
        "--no-textconv", "--src-prefix=a/", "--dst-prefix=b/", "--format=%x00%H%n%s%n%b%x00", "--", *(f"*{suffix}" for suffix in suffixes()),
        stdin="".join(f"{commit}\n" for commit in commits).encode(),
    )  # fmt: skip
    starts = list(_RECORD.finditer(output))
    for number, start in enumerate(starts):
        end = starts[number + 1].start() if number + 1 < len(starts) else len(output)
        message, _, diff = output[start.end() : end].partition(b"\x00")
        yield _parsed(start[1].decode(), message.decode("utf-8", "replace"), os.fsdecode(diff[:_MAX_DIFF]))


def _parsed(commit: str, message: str, diff: str) -> Commit:
    files = _FILE.split(diff)[1:]
    changes = tuple(change for change in map(_change, files[:_MAX_FILES]) if change is not None)
    changed = "\n".join(_CHANGED.findall(diff)) if len(files) <= _MAX_FILES else ""
    return Commit(commit, message.partition("\n")[0][:200], message, changes, changed)


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
