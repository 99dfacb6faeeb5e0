"""From a model's reply to new file contents."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from pydantic import BaseModel

from experepair.domain.command import Changes
from experepair.domain.edit import Edit
from experepair.workspace import paths
from experepair.workspace.blocks import parse_edits
from experepair.workspace.matching import MatchConfig, NoMatch, find
from experepair.workspace.splicing import body, splice
from experepair.workspace.text import decode, lines_of
from experepair.workspace.tree import Tree

__all__ = ["Applied", "EditConfig", "Refused", "apply_edits", "parse_edits", "sensitive"]

Read = Callable[[str], bytes | None]
"""Content by path, None for what isn't there; a `Tree` knows of links, submodules and other spellings too."""

_CONTROLS = re.compile(r"[\x00-\x08\x0e-\x1f\x7f\ud800-\udfff]")
_SENSITIVE = (
    (
        "changes how CI runs",
        re.compile(
            r"\.(github|gitlab|circleci|ci)/.*|[^/]*(azure-pipelines|\.travis|\.gitlab-ci|appveyor)[^/]*|(.*/)?Jenkinsfile"
        ),
    ),
    ("changes how git treats files", re.compile(r"(.*/)?\.git(attributes|modules|ignore)")),
    ("changes how tests are collected", re.compile(r"(.*/)?(conftest\.py|pytest\.ini|tox\.ini|noxfile\.py)")),
    (
        "changes how the project is built",
        re.compile(r"(.*/)?(setup\.(py|cfg)|pyproject\.toml|Makefile|.*requirements.*\.txt)"),
    ),
    (
        "changes what Python runs at its start",
        re.compile(r"(.*/)?(sitecustomize\.py|usercustomize\.py|.*\.pth)"),
    ),
)


class EditConfig(BaseModel, frozen=True, extra="forbid"):
    """What a reply's edits may be."""

    edits: int = 50
    """Most edits in one reply; none are applied when there are more."""
    file_mb: float = 2.0
    """Largest file that is edited, in MiB."""
    match: MatchConfig = MatchConfig()
    """How far from the file an <original> may be."""


@dataclass(frozen=True, slots=True)
class Applied:
    """New contents, and how the edits were understood where they weren't exact."""

    changes: Changes
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Refused:
    """Edits that can't be applied; none of them is.

    Attributes:
        reason: what is wrong with each that is wrong, fit to be shown to the model as feedback.
        edit: the first of these; None when it isn't one edit's fault.
    """

    reason: str
    edit: Edit | None


def apply_edits(
    edits: Sequence[Edit], read: Read, *, mount: str = "", config: EditConfig | None = None
) -> Applied | Refused:
    """Apply all edits, each to the result of those before it, or none.

    Args:
        edits: as parsed from a reply.
        read: the files as they are; give `Checkout.read`, which also knows what can't be edited.
        mount: path at which those who run code see the tree, taken off the front of the edits' paths.
        config: limits; the default ones when None.
    """
    config = config or EditConfig()
    if not edits:
        return Refused("there is no edit to apply", None)
    if len(edits) > config.edits:
        return Refused(f"{len(edits)} edits are too many; at most {config.edits} are taken", None)
    session = _Session(read, mount, config)
    refused = [(edit, reason) for edit in edits if (reason := session.apply(edit))]
    if refused:
        return Refused("\n\n".join(f"{edit.path[:200]}: {reason}" for edit, reason in refused), refused[0][0])
    changes = {path: content for path, content in session.contents.items() if content != read(path)}
    if not changes:
        return Refused("the edits change nothing", edits[0])
    return Applied(changes, tuple(session.notes))


@dataclass
class _Session:
    """The state of the files while edits are applied one after another."""

    read: Read
    mount: str
    config: EditConfig
    contents: dict[str, bytes] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def apply(self, edit: Edit) -> str | None:
        """Apply one edit; the reason when it can't be."""
        path = paths.cleaned(edit.path, lambda name: self.content(name) is not None, self.mount)
        if reason := paths.refusal(path) or self._obstacle(path):
            return reason
        if odd := set(_CONTROLS.findall(edit.patched)) - set(_CONTROLS.findall(edit.original)):
            return f"its <patched> block holds the control character {min(odd)!r}; write it as an escape"
        content = self.content(path)
        if not edit.original.strip():
            return self._fill(path, content, edit.patched)
        if content is None:
            return f"there is no such file{self._similar(path)}"
        if len(content) > self.config.file_mb * 2**20:
            return f"the file is larger than {self.config.file_mb} MiB"
        return self._replace(path, content, edit)

    def content(self, path: str) -> bytes | None:
        """The file as the edits so far have left it."""
        return self.contents[path] if path in self.contents else self.read(path)

    def _obstacle(self, path: str) -> str | None:
        if isinstance(self.read, Tree) and (reason := self.read.obstacle(path)):
            return reason
        return paths.clash(path, self.contents)

    def _fill(self, path: str, content: bytes | None, patched: str) -> str | None:
        if content is not None and content.strip():
            return "the file is there already and not empty: <original> has to hold the lines to replace"
        text = patched if not patched or patched.endswith("\n") else f"{patched}\n"
        self.contents[path] = text.encode()
        return None

    def _replace(self, path: str, content: bytes, edit: Edit) -> str | None:
        text = decode(content)
        if text is None:
            return "it is a binary file"
        lines = lines_of(text.text)
        original, patched = _bodies(edit.original), _bodies(edit.patched)
        match = find(original, [body(line) for line in lines], self.config.match)
        if isinstance(match, NoMatch):
            return match.reason
        try:
            self.contents[path] = text.encode("".join(splice(lines, match, original, patched)))
        except UnicodeEncodeError as error:
            return f"the file is in {text.codec}, which has no {error.object[error.start : error.end]!r}"
        if match.how:
            self.notes.append(f"{path}: lines {match.start + 1} to {match.stop} matched {match.how}")
        return None

    def _similar(self, path: str) -> str:
        if not isinstance(self.read, Tree):
            return ""
        name = PurePosixPath(path).name
        there = [file for file in self.read.files if file.endswith(f"/{path}")]
        there = there or [file for file in self.read.files if PurePosixPath(file).name == name]
        return f"; did you mean {', '.join(there[:5])}?" if there else ""


def sensitive(changes: Changes, read: Read = lambda path: b"") -> tuple[str, ...]:
    """Why a human should look at changes twice: CI, build, test set-up, or tests that were there before.

    Args:
        changes: what a patch does.
        read: the files as they were, to tell tests that are new; without it every test counts.

    Returns:
        One line per reason and path: "changes a test: tests/test_a.py".
    """
    flags = []
    for path in sorted(changes):
        flags += [f"{why}: {path}" for why, pattern in _SENSITIVE if pattern.fullmatch(path)]
        if is_test(path) and read(path) is not None:
            flags.append(f"changes a test: {path}")
        if changes[path] is None:
            flags.append(f"removes a file: {path}")
    return tuple(flags)


def is_test(path: str) -> bool:
    """Whether a path looks like a test's: below a folder of tests, or named as one."""
    *folders, name = PurePosixPath(path).parts
    return bool({"test", "tests", "testing"} & set(folders)) or bool(
        re.fullmatch(r"test_.*|.*_tests?\.\w+|tests?\.py", name)
    )


def _bodies(text: str) -> list[str]:
    return [body(line) for line in lines_of(text)]
