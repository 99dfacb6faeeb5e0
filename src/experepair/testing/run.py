"""What is run to execute tests, and what came of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar

from experepair.domain.command import Command, Completed, Ended
from experepair.domain.outcome import Outcome

HASH_SEED = (("PYTHONHASHSEED", "0"),)
"""Test runs have the same hash order every time, also where a sandbox doesn't see to it."""

_WORST_FIRST = (Outcome.ERROR, Outcome.FAILED, Outcome.UNKNOWN, Outcome.SKIPPED, Outcome.PASSED)
_LINE_END = 1000
_ESCAPES = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")


@dataclass(frozen=True, slots=True)
class TestRun:
    """Outcomes by test id.

    Attributes:
        results: of every test that the runner reported; one that it began and didn't end is UNKNOWN.
        finished: whether the runner came to its end by itself; if not, tests that are missing might have passed.
        output: what it printed, errors last.
    """

    __test__: ClassVar[bool] = False  # pytest takes the name for a test's

    results: Mapping[str, Outcome]
    finished: bool
    output: str


@dataclass(frozen=True, slots=True)
class Target:
    """A command that runs tests, and how to read what it leaves."""

    command: Command
    parse: Callable[[Completed], TestRun]


def as_run(completed: Completed, results: Mapping[str, Outcome]) -> TestRun:
    """The run that these results are of."""
    output = "\n".join(filter(None, (completed.stdout, completed.stderr)))
    return TestRun(results, completed.ended is Ended.EXITED, output)


def worst(left: Outcome | None, right: Outcome) -> Outcome:
    """The one of two outcomes of the same test that counts (a test can pass and its clean-up fail)."""
    return right if left is None else min(left, right, key=_WORST_FIRST.index)


def report_lines(text: str) -> list[str]:
    """Lines without terminal colours, of long ones (which tests print) only the two ends."""
    lines = _ESCAPES.sub("", text).splitlines()
    return [line if len(line) <= 2 * _LINE_END else line[:_LINE_END] + line[-_LINE_END:] for line in lines]


def module_name(path: str) -> str:
    """The dotted name of a Python file, from where its path begins."""
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
