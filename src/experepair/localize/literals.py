"""Messages of the issue that stand in the source as string literals, whatever values were filled into them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from math import log

from experepair.localize.index.view import Index
from experepair.localize.languages import Kind
from experepair.localize.source import Source
from experepair.localize.text import text_of, without_traceback_heads

_LITERAL = re.compile(
    r'"""(?:.|\n){0,400}?"""|\'\'\'(?:.|\n){0,400}?\'\'\'|"(?:\\.|[^"\\\n]){12,400}"|\'(?:\\.|[^\'\\\n]){12,400}\''
)
_VALUE = re.compile(r"%\(\w+\)[a-z]|%[-0-9.]*[a-zA-Z]|\{[^{}]*\}|\\[\\'\"n]")
"""Where a value is filled in, or what is written otherwise than it is printed."""
_WORD = re.compile(r"\w+")
_SHORTEST = 10
"""Characters of a part between two values; it has two words or more."""
_MOST_ISSUE, _MOST_FILE = 20_000, 1 << 19
"""Characters that are looked at."""


@dataclass
class Literals:
    """How much text of string literals each file (by position) and function (by id) shares with an issue, and the longest."""

    files: dict[int, float] = field(default_factory=dict)
    units: dict[int, float] = field(default_factory=dict)
    best: dict[int, str] = field(default_factory=dict)
    unit_best: dict[int, str] = field(default_factory=dict)


def shared_literals(issue_text: str, source: Source, index: Index, files: Iterable[int]) -> Literals:
    """Literals of some files all parts of which are in the issue.

    Args:
        issue_text: the issue.
        source: reads the files.
        index: of the same commit.
        files: positions of the files that are looked at.
    """
    issue = " ".join(without_traceback_heads(issue_text[:_MOST_ISSUE]).split())
    by_blob: dict[str, list[int]] = {}
    for file in files:
        by_blob.setdefault(index.files[file].blob, []).append(file)
    result = Literals()
    for blob, content in source.contents(by_blob):
        found = list(_found(text_of(content[:_MOST_FILE]), issue))
        for file in by_blob[blob] if found else ():
            _note(result, index, file, found)
    for scores in (result.files, result.units):
        scores.update({key: log(1 + length) for key, length in scores.items()})
    return result


def _found(text: str, issue: str) -> Iterator[tuple[int, int, str]]:
    """Line, length of the shared text, and the text itself."""
    line, at = 1, 0
    for match in _LITERAL.finditer(text):
        parts = [part.strip() for part in _VALUE.split(" ".join(match[0].strip("\"'").split()))]
        parts = [part for part in parts if len(part) >= _SHORTEST and len(_WORD.findall(part)) > 1]
        if parts and all(part in issue for part in parts):
            line, at = line + text.count("\n", at, match.start()), match.start()
            yield line, sum(map(len, parts)), max(parts, key=len)


def _note(result: Literals, index: Index, file: int, found: Iterable[tuple[int, int, str]]) -> None:
    functions = [index.unit(file, unit) for unit in index.units(file)]
    for line, length, text in found:
        result.files[file] = result.files.get(file, 0.0) + length
        result.best[file] = max(result.best.get(file, ""), text, key=len)
        for unit in functions:
            if unit.kind == Kind.FUNCTION and unit.start <= line <= unit.end:
                result.units[unit.id] = result.units.get(unit.id, 0.0) + length
                result.unit_best[unit.id] = max(result.unit_best.get(unit.id, ""), text, key=len)
