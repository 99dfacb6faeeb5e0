"""What the maintainers' fix changed: files, functions, lines."""

from __future__ import annotations

import re
from dataclasses import dataclass

from experepair.localize.languages import Kind, Outline, language_of
from experepair.localize.source import GitSource

_FILE = re.compile(r"^diff --git a/(.*) b/.*$", re.MULTILINE)
_HUNK = re.compile(r"^@@ -(\d+)(?:,\d+)? \+\d+(?:,\d+)? @@.*\n((?:[-+ \\].*\n?|\n)*)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Gold:
    """What a fix changed.

    Attributes:
        files: paths.
        functions: path and qualified name of each outermost function with a changed line.
        lines: path and number, before the patch, of each line it removes, or after which it only adds.
    """

    files: frozenset[str]
    functions: frozenset[tuple[str, str]]
    lines: frozenset[tuple[str, int]]


def gold_of(patch: str, source: GitSource) -> Gold:
    """What a fix changed.

    Args:
        patch: its diff.
        source: the commit that it is of.
    """
    files: set[str] = set()
    functions: set[tuple[str, str]] = set()
    lines: set[tuple[str, int]] = set()
    parts = _FILE.split(patch)[1:]
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
