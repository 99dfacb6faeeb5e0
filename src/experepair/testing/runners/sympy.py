"""Runs tests of SymPy by its own `bin/test`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from experepair.domain.command import Command, Completed
from experepair.domain.outcome import Outcome
from experepair.testing.run import HASH_SEED, Target, TestRun, as_run, report_lines, worst

RUNNER = "bin/test"
_OPTIONAL = (("--seed", "--seed=1"), ("--use-sympy-runner", "--use-sympy-runner"))
_FILE = re.compile(r"^(?P<path>\S+\.py)\[(?P<number>\d+|\?)\]")
_TEST = re.compile(r"^(?P<name>test_\w+)(?: (?P<rest>.*))?$")
_STATUS = re.compile(r"(?:^|\s)(?P<word>ok|[FEfXsTwK])\s*(?:\[(?:OK|FAIL)\])?\s*$")
# a line of underscores with sympy/core/tests/test_basic.py:test_x in its middle
_DETAIL = re.compile(r"^_+ (?P<path>\S+\.py):(?P<name>\w+) _+$")
_WORDS = {
    "ok": Outcome.PASSED,
    "X": Outcome.PASSED,
    "F": Outcome.FAILED,
    "E": Outcome.ERROR,
    "f": Outcome.SKIPPED,
    "s": Outcome.SKIPPED,
    "w": Outcome.SKIPPED,
    "T": Outcome.UNKNOWN,
    "K": Outcome.UNKNOWN,
}


@dataclass(frozen=True, slots=True)
class Sympy:
    """`bin/test`, verbose.

    Attributes:
        options: what this version of the script knows beside the options that all do.
    """

    options: tuple[str, ...] = ()
    name: str = "sympy"

    @classmethod
    def of_script(cls, script: str) -> Sympy:
        """For the `bin/test` of a checkout, given its text."""
        return cls(tuple(option for known, option in _OPTIONAL if known in script))

    def suite(self, files: Sequence[str]) -> Target:
        """All tests of some files."""
        return Target(self._command(files), read_run)

    def single(self, node_id: str) -> Target:
        """One test, as `path.py::test`."""
        path, _, name = node_id.removeprefix("./").partition("::")
        command = self._command((path,), ("-k", name) if name else ())
        return Target(command, partial(_read_one, node_id.removeprefix("./")))

    def _command(self, files: Sequence[str], last: Sequence[str] = ()) -> Command:
        argv = ("{python}", RUNNER, "--verbose", "--no-colors", *self.options, *files, *last)
        return Command(argv, env=HASH_SEED)


def read_run(completed: Completed) -> TestRun:
    """Results by `path.py::test`."""
    return as_run(completed, from_output(completed.stdout))


def _read_one(node_id: str, completed: Completed) -> TestRun:
    run = read_run(completed)
    path = node_id.partition("::")[0]
    wanted = {
        name: outcome for name, outcome in run.results.items() if name == node_id or path in (name, node_id)
    }
    return TestRun(wanted, run.finished, run.output)


def from_output(text: str) -> dict[str, Outcome]:
    """Results from the verbose lines, then from the headings of the details; a status may follow printed text."""
    results: dict[str, Outcome] = {}
    path = current = ""
    for line in report_lines(text):
        if detail := _DETAIL.match(line):
            name = f"{detail['path']}::{detail['name']}"
            known = results.get(name)
            results[name] = known if known in {Outcome.FAILED, Outcome.ERROR} else Outcome.FAILED
        elif opened := _FILE.match(line):
            path, current = opened["path"], ""
            if opened["number"] == "?":
                results[path] = Outcome.ERROR
        elif path:
            rest = line
            if begun := _TEST.match(line):
                current, rest = f"{path}::{begun['name']}", begun["rest"] or ""
                results.setdefault(current, Outcome.UNKNOWN)
            status = _STATUS.search(rest)
            if current and status:
                results[current] = worst(None, _WORDS[status["word"]])
                current = ""
    return results
