"""SWE-bench rows as the localization benchmarks need them: issues, mirrors, and what the gold patches changed."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from experepair.localize.languages import Kind, Outline, language_of
from experepair.localize.source import GitSource

_FILE = re.compile(r"^diff --git a/(.*) b/.*$", re.MULTILINE)
_HUNK = re.compile(r"^@@ -(\d+)(?:,\d+)? \+\d+(?:,\d+)? @@.*\n((?:[-+ \\].*\n?|\n)*)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Row:
    """One issue of the dataset, and where its repository is.

    Attributes:
        id: instance id.
        repository: folder of the mirror.
        commit: the base commit.
        issue: the problem statement, nothing else.
        patch: the gold patch.
        test_patch: the patch of the hidden tests.
        tests: names of the tests that must fail before and pass after.
    """

    id: str
    repository: Path
    commit: str
    issue: str
    patch: str
    test_patch: str
    tests: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Gold:
    """What the gold patch changed.

    Attributes:
        files: paths.
        functions: path and qualified name of each outermost function with a changed line.
        lines: path and number, before the patch, of each line it removes, or after which it only adds.
    """

    files: frozenset[str]
    functions: frozenset[tuple[str, str]]
    lines: frozenset[tuple[str, int]]


def read_rows(dataset: Path, mirrors: Path, repository: str = "", ids: str = "") -> Iterator[Row]:
    """Rows whose repositories are mirrored.

    Args:
        dataset: JSON lines with the columns of SWE-bench.
        mirrors: holds OWNER+NAME/repo; for the copies of SWE-bench swe-bench+OWNER__NAME/repo.
        repository: only this OWNER/NAME; "" means all.
        ids: only instances whose ids hold this; "" means all.
    """
    with dataset.open() as lines:
        for line in lines:
            row = json.loads(line)
            owner, name = row["repo"].split("/")
            places = (mirrors / f"{owner}+{name}" / "repo", mirrors / f"swe-bench+{owner}__{name}" / "repo")
            mirror = next((place for place in places if place.is_dir()), None)
            if mirror is None or repository not in ("", row["repo"]) or ids not in row["instance_id"]:
                continue
            tests = row["FAIL_TO_PASS"]
            yield Row(
                row["instance_id"],
                mirror,
                row["base_commit"],
                row["problem_statement"],
                row["patch"],
                row["test_patch"],
                tuple(json.loads(tests) if isinstance(tests, str) else tests),
            )


def gold_of(row: Row, source: GitSource) -> Gold:
    """What the gold patch changed, in terms of the base commit."""
    files: set[str] = set()
    functions: set[tuple[str, str]] = set()
    lines: set[tuple[str, int]] = set()
    parts = _FILE.split(row.patch)[1:]
    for path, diff in zip(parts[::2], parts[1::2], strict=True):
        content = source.read(path)
        if content is None or (language := language_of(path)) is None:
            continue
        files.add(path)
        old = content.decode("utf-8", "surrogateescape").split("\n")
        new, removed, added, after = _applied(old, diff)
        before = language.outline(content)
        patched = language.outline("\n".join(new).encode("utf-8", "surrogateescape"))
        known = {before.qualified(position) for position in range(len(before.definitions))}
        names = {_function_at(before, line) for line in removed}
        names |= {_function_at(patched, line) for line in added} & known
        functions |= {(path, name) for name in names if name}
        lines |= {(path, line) for line in removed | after}
    return Gold(frozenset(files), frozenset(functions), frozenset(lines))


def _applied(old: list[str], diff: str) -> tuple[list[str], set[int], set[int], set[int]]:
    """New lines; numbers of lines removed (old) and added (new); old lines after which lines are only added."""
    new: list[str] = []
    removed, added, after = set[int](), set[int](), set[int]()
    at = 0
    for match in _HUNK.finditer(diff):
        start = int(match[1]) - 1
        new += old[at:start]
        at = start
        previous = " "
        for line in match[2].split("\n"):
            if line[:1] == "-":
                at += 1
                if line[1:].strip():
                    removed.add(at)
            elif line[:1] == "+":
                new.append(line[1:])
                if line[1:].strip():
                    added.add(len(new))
                    if previous == " ":
                        after.add(max(at, 1))
            elif line[:1] == " ":
                new.append(old[at])
                at += 1
            previous = line[:1] or previous
    return new + old[at:], removed, added, after


def _function_at(outline: Outline, line: int) -> str:
    """Qualified name of the outermost function around a line; "" if there is none."""
    for position, definition in enumerate(outline.definitions):
        if definition.kind is Kind.FUNCTION and definition.start <= line <= definition.end:
            return outline.qualified(position)
    return ""
