"""Diffs as memory reads them: file by file, tests apart, with the definitions that are touched."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from experepair.domain.memory import TESTS_FOLLOW
from experepair.localize.languages import Kind, language_of
from experepair.workspace.git import Git

ReadBlob = Callable[[str], bytes | None]
"""Content of a file by git's id of it, which may be shortened; None when it isn't there."""

_GIT_FILE = re.compile(r"^(?=diff --git )", re.MULTILINE)
_PLAIN_FILE = re.compile(r"^(?=--- [^\n]+\n\+\+\+ )", re.MULTILINE)
_PATH = re.compile(r'^(---|\+\+\+) "?(?:[ab]/)?([^\t\n"]+)', re.MULTILINE)
_BLOB = re.compile(r"^index ([0-9a-f]{4,64})\.\.", re.MULTILINE)
_HUNK = re.compile(r"^@@ -(\d+)(?:,(\d+))? \+\d+(?:,\d+)? @@ ?(.*)$")
_DEFINITION = re.compile(r"([ \t]*)(?:async[ \t]+)?(?:def|class)[ \t]+(\w+)")
_NO_CODE = re.compile(r"\s*(?:#|$)")


@dataclass(frozen=True, slots=True)
class FileDiff:
    """What a diff does to one file.

    Attributes:
        path: after it, or before it when the file is removed.
        text: its part of the diff.
    """

    path: str
    text: str

    @property
    def is_test(self) -> bool:
        """Whether the file holds tests; what isn't in our languages doesn't."""
        language = language_of(self.path)
        return language is not None and language.is_test(self.path)

    @property
    def changed(self) -> int:
        """Lines removed and added."""
        _, _, hunks = self.text.partition("\n@@ ")
        return hunks.count("\n+") + hunks.count("\n-")


def blobs_of(git: Git) -> ReadBlob:
    """Reads what a repository holds."""

    def read(blob: str) -> bytes | None:
        ran = git.attempt("cat-file", "blob", blob)
        return None if ran.exit_code else ran.stdout

    return read


def split(diff: str) -> list[FileDiff]:
    """The files of a diff by git or by `diff -u`, in its order; what stands before the first is left out."""
    starts = _GIT_FILE if _GIT_FILE.search(diff) else _PLAIN_FILE
    found = []
    for text in starts.split(diff)[1:]:
        paths = dict(_PATH.findall(text.partition("\n@@ ")[0]))
        path = next((p for p in (paths.get("+++"), paths.get("---")) if p and p != "/dev/null"), None)
        if path is not None:
            found.append(FileDiff(path, text if text.endswith("\n") else f"{text}\n"))
    return found


def joined(source: Iterable[FileDiff], tests: Iterable[FileDiff], test_chars: int) -> str:
    """A success: the changes of the source, then those of the tests, hunks that make them longer left out."""
    after = ""
    for file in tests:
        head, *hunks = re.split(r"^(?=@@ )", file.text, flags=re.MULTILINE)
        kept = head
        for hunk in hunks:
            if len(after) + len(kept) + len(hunk) <= test_chars:
                kept += hunk
        after += kept if kept != head else ""
    return "".join(file.text for file in source) + (TESTS_FOLLOW + after if after else "")


def functions(files: Iterable[FileDiff], read_blob: ReadBlob | None = None) -> tuple[str, ...]:
    """Simple names of the definitions that are touched, innermost ones, each once.

    Args:
        files: of one diff.
        read_blob: reads the files as they were; without it the diff's own lines have to tell.
    """
    names: dict[str, None] = {}
    for file in files:
        before = _before(file, read_blob) if read_blob else None
        names.update(dict.fromkeys(_from_lines(file.text) if before is None else _from_outline(file, before)))
    return tuple(names)


def _before(file: FileDiff, read_blob: ReadBlob) -> bytes | None:
    blob = _BLOB.search(file.text.partition("\n@@ ")[0])
    return read_blob(blob[1]) if blob and blob[1].strip("0") else None


def _from_lines(text: str) -> list[str]:
    """As the heads of hunks and their lines tell: a changed line belongs to the last definition above it."""
    names: list[str] = []
    current: str | None = None
    for line in text.split("\n"):
        if line[:2] == "@@" and (hunk := _HUNK.match(line)):
            heading = _DEFINITION.match(hunk[3])
            current = heading[2] if heading else None
            continue
        mark, code = line[:1], line[1:]
        if ("def " in code or "class " in code) and (found := _DEFINITION.match(code)):
            current = found[2]
        elif code[:1] not in {"", " ", "\t", "#", ")", "@"}:
            current = None  # a statement of the module
        if current and mark in {"+", "-"} and (not names or names[-1] != current):
            names.append(current)
    return names


def _from_outline(file: FileDiff, before: bytes) -> list[str]:
    """As the file before tells, whose lines are removed or added to; new definitions by their own first lines."""
    language = language_of(file.path)
    if language is None:
        return []
    definitions = language.outline(before).definitions[1:]
    names: list[str] = []
    number = 0
    for line in file.text.split("\n"):
        if hunk := _HUNK.match(line):
            number = int(hunk[1]) + (hunk[2] == "0")
            continue
        mark, code = line[:1], line[1:]
        if mark == "+" and (found := _DEFINITION.match(code)):
            names.append(found[2])
        elif mark in {"+", "-"} and number and not _NO_CODE.match(code):
            # what is added after a line that is in a definition is in it too, unless it stands further left
            at = number if mark == "-" else number - 1
            inside = [d for d in definitions if d.start <= at <= d.end and d.kind is not Kind.INNER]
            if inside and code[:1] in {" ", "\t"}:
                names.append(inside[-1].name)
        number += mark in {" ", "-"} or (line == "" and number > 0)
    return names
