"""Runs tests by the command that the user gave."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from experepair.domain.command import Command, Completed
from experepair.domain.outcome import Outcome
from experepair.errors import UsageError
from experepair.testing.run import HASH_SEED, Target, TestRun, as_run
from experepair.testing.runners import pytest, unittest
from experepair.testing.runners.pytest import REPORT, from_report

PLACE = "{files}"
REPORT_PLACE = "{report}"


@dataclass(frozen=True, slots=True)
class Given:
    """`--test-command`, run by a shell; `{files}` stands for what is to be run, `{report}` for a JUnit report to write.

    Results are read from that report, which pytest writes by itself however it is started, else from what pytest or
    unittest print; from any other runner the exit status counts for the whole.

    Raises:
        UsageError: the command has no place for files.
    """

    template: str
    name: str = "test command"

    def __post_init__(self) -> None:
        if PLACE not in self.template:
            raise UsageError(
                f"the test command {self.template!r} has no {PLACE}, so that all tests would be run for each patch; "
                f"put it where the test files go, as in 'python -m pytest {PLACE}' or 'make test TESTS={PLACE}'"
            )

    def suite(self, files: Sequence[str]) -> Target:
        """All tests of some files."""
        line = self.template.replace(PLACE, shlex.join(files)).replace(REPORT_PLACE, REPORT)
        env = (
            ("PYTEST_ADDOPTS", f"--junitxml={REPORT} -o junit_family=xunit1 --continue-on-collection-errors"),
            *HASH_SEED,
        )
        return Target(Command(("sh", "-c", line), env=env, collect=(REPORT,)), self._read)

    def single(self, node_id: str) -> Target:
        """One test; the command has to understand its id."""
        return self.suite((node_id,))

    def _read(self, completed: Completed) -> TestRun:
        results = (
            from_report(completed.files.get(REPORT, b""))
            or pytest.from_output(completed.stdout)
            or unittest.from_output(completed.stderr)
        )
        if not results and completed.exit_code is not None:
            results = {self.template: Outcome.FAILED if completed.exit_code else Outcome.PASSED}
        return as_run(completed, results)
