"""What a failing run executed: the fault is somewhere in it, more likely where passing runs don't go."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, field
from math import sqrt

from experepair.localize.index.view import Index
from experepair.localize.languages import Kind

EXECUTED = "executed"
"""Kind of this evidence."""

Lines = Mapping[str, Set[int]]
"""Numbers of executed lines, from 1, by path relative to the tree."""


@dataclass(frozen=True, slots=True)
class Observed:
    """What was seen of a reproduction.

    Attributes:
        failing: lines that the failing run executed.
        passing: lines that each of some runs that pass executed.
        output: what the failing run printed; its traceback counts like one in the issue.
    """

    failing: Lines = field(default_factory=dict)
    passing: tuple[Lines, ...] = ()
    output: str = ""


NOTHING = Observed()


@dataclass
class Executed:
    """How special to the failing run each file (by position) and function (by id) is, up to 1."""

    files: dict[int, float] = field(default_factory=dict)
    units: dict[int, float] = field(default_factory=dict)


def executed_units(observed: Observed, index: Index, include_tests: bool) -> Executed:
    """Suspicion of what the failing run executed: one half for that, one by Ochiai's measure over runs.

    Ochiai's alone clears what every run needs, and faults are often there (docs/localization.md). A
    function counts as executed when a line of its body was: its signature runs on import.
    """
    found = Executed()
    for path, lines in observed.failing.items():
        file = index.position.get(path)
        if file is None or (index.files[file].test and not include_tests):
            continue
        also = [run[path] for run in observed.passing if path in run]
        for unit in index.units(file):
            known = index.unit(file, unit)
            body = range(max(known.body, known.start + 1), known.end + 1) or range(known.start, known.end + 1)
            if known.kind != Kind.FUNCTION or lines.isdisjoint(body):
                continue
            passed = sum(not run.isdisjoint(body) for run in also)
            found.units[unit] = 0.5 + 0.5 / sqrt(1 + passed)
            found.files[file] = max(found.files.get(file, 0.0), found.units[unit])
    return found
