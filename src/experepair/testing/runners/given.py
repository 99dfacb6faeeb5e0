"""Runs tests by the command that the user gave."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from experepair.domain.command import Command, Completed
from experepair.domain.outcome import Outcome
from experepair.testing.run import HASH_SEED, Target, TestRun, as_run
from experepair.testing.runners import pytest, unittest

PLACE = "{files}"


@dataclass(frozen=True, slots=True)
class Given:
    """`--test-command`, run by a shell; `{files}` stands for what is to be run.

    Results are read from what pytest or unittest print; from any other runner the exit status counts for the whole.
    """

    template: str
    name: str = "test command"

    def suite(self, files: Sequence[str]) -> Target:
        """All tests of some files, or all that the command runs if it has no place for files."""
        line = self.template.replace(PLACE, shlex.join(files))
        return Target(Command(("sh", "-c", line), env=HASH_SEED), self._read)

    def single(self, node_id: str) -> Target:
        """One test; the command has to understand its id."""
        return self.suite((node_id,))

    def _read(self, completed: Completed) -> TestRun:
        results = pytest.from_output(completed.stdout) or unittest.from_output(completed.stderr)
        if not results and completed.exit_code is not None:
            results = {self.template: Outcome.FAILED if completed.exit_code else Outcome.PASSED}
        return as_run(completed, results)
