"""What an evaluation says of one prediction, decided from the status of each test."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from enum import StrEnum

from pydantic import BaseModel, Field

from experepair.bench.instance import Answer

_PASSING = frozenset({"PASSED", "XFAIL"})
_ID = re.compile(r"\w+ \([\w.]+\)")
_STATUS = re.compile(r"^(?P<shown>.*) \.\.\. *(?P<status>ok|FAIL|ERROR|skipped\b.*)$")


class Verdict(StrEnum):
    """How a prediction ended."""

    RESOLVED = "resolved"
    UNRESOLVED = "unresolved"
    EMPTY = "empty"
    """There was no patch."""
    ERROR = "error"
    """No verdict on the tests: the patch doesn't apply, the time was up, the environment failed."""


class Tests(BaseModel, frozen=True, extra="forbid"):
    """A list of tests that should pass, parted by whether they did; a test that didn't run failed."""

    passed: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()


class Judged(BaseModel, frozen=True, extra="forbid"):
    """One prediction, judged."""

    instance_id: str
    verdict: Verdict
    why: str = ""
    """The reason of an error."""
    fail_to_pass: Tests = Tests()
    pass_to_pass: Tests = Tests()
    left_out: tuple[str, ...] = ()
    """Tests that were not asked, because they fail here with and without the fix."""
    seconds: float = 0.0
    """Wall time of the tests."""
    patch_digest: str = ""
    """Of the patch, so that a judgement is only taken again for the same."""
    before: bool = Field(default=False, exclude=True)
    """Whether it was judged by an earlier run, and not now."""


def judge(
    answer: Answer, statuses: Mapping[str, str], left_out: Collection[str] = ()
) -> tuple[Verdict, Tests, Tests]:
    """Resolved when every test of both lists passed; with no list there is nothing to judge by.

    Args:
        answer: has the lists.
        statuses: by test, as the log parser says.
        left_out: tests to be ignored.
    """
    fail_to_pass, pass_to_pass = (
        _parted([test for test in tests if test not in left_out], statuses)
        for tests in (answer.fail_to_pass, answer.pass_to_pass)
    )
    all_passed = not fail_to_pass.failed and not pass_to_pass.failed and bool(fail_to_pass.passed)
    return Verdict.RESOLVED if all_passed else Verdict.UNRESOLVED, fail_to_pass, pass_to_pass


def with_ids(log: str) -> str:
    """Name Django's tests by their id too, where the log shows a line of their docstring instead.

    unittest prints the id, and below it the first line of the docstring with the status. Which docstrings have a first
    line differs between versions of Python, and SWE-bench's lists of tests were made with older ones.
    """
    lines: list[str] = []
    above = ""
    for line in log.split("\n"):
        found = _STATUS.match(line)
        if found and _ID.fullmatch(above):
            lines.append(f"{above} ... {found['status']}")
        lines.append(line)
        above = line.strip()
    return "\n".join(lines)


def _parted(tests: Collection[str], statuses: Mapping[str, str]) -> Tests:
    passed = tuple(test for test in tests if statuses.get(test) in _PASSING)
    return Tests(passed=passed, failed=tuple(test for test in tests if test not in passed))
