"""Runs tests by pytest, whatever version the repository has."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from xml.etree import ElementTree

from experepair.domain.command import Command, Completed
from experepair.domain.outcome import Outcome
from experepair.testing.run import HASH_SEED, Target, TestRun, as_run, module_name, report_lines, worst

REPORT = "experepair_junit.xml"
"""Where the JUnit report is written, below the tree."""

_OPTIONS = (
    *("-p", "no:cacheprovider", "--rootdir=.", "--color=no", "--tb=short", "-vv", "--maxfail=0"),
    *("--continue-on-collection-errors", f"--junitxml={REPORT}", "-o", "junit_family=xunit1"),
)
_WORDS = {
    "PASSED": Outcome.PASSED,
    "XPASS": Outcome.PASSED,
    "FAILED": Outcome.FAILED,
    "ERROR": Outcome.ERROR,
    "SKIPPED": Outcome.SKIPPED,
    "XFAIL": Outcome.SKIPPED,
    "xfail": Outcome.SKIPPED,
    "xpass": Outcome.PASSED,
}
_WORD = "|".join(_WORDS)
_ID = r"[^\s:]+\.\w+::.*?"
# "tests/test_a.py::test_x[1 - b] PASSED   [ 50%]", or by xdist "[gw0] [ 50%] PASSED tests/test_a.py::test_x"
_VERBOSE = re.compile(
    rf"(?P<id>{_ID}) (?P<word>{_WORD})\b(?: \(.*\))?(?:\s+\[ *\d+%\])?\s*"
    rf"|\[gw\d+\] \[ *\d+%\] (?P<word2>{_WORD}) (?P<id2>{_ID})\s*"
)
# in the summary: FAILED tests/test_a.py::test_x - assert 1 == 2
_SUMMARY = re.compile(rf"(?P<word>{_WORD}) (?P<id>[^\s:]+\.\w+(?:::.*?)?)(?: - .*)?\s*")
_BEGUN = re.compile(rf"(?P<id>{_ID})\s*")


@dataclass(frozen=True, slots=True)
class Pytest:
    """`python -m pytest`, read from its JUnit report, else from what it prints.

    Attributes:
        options: that the project's own runs need, beside those that say what is printed.
        env: variables that the project's configuration sets.
    """

    options: tuple[str, ...] = ()
    env: tuple[tuple[str, str], ...] = ()
    name: str = "pytest"

    def suite(self, files: Sequence[str]) -> Target:
        """All tests of some files."""
        return Target(self._command(files), read_run)

    def single(self, node_id: str) -> Target:
        """One test; without parameters all of its variants."""
        return Target(self._command((node_id,)), partial(_read_one, node_id))

    def _command(self, what: Sequence[str]) -> Command:
        argv = ("{python}", "-m", "pytest", *_OPTIONS, *self.options, "--", *what)
        return Command(argv, env=(*self.env, *HASH_SEED), collect=(REPORT,))


def read_run(completed: Completed) -> TestRun:
    """Results by node id."""
    results = from_report(completed.files.get(REPORT, b""))
    return as_run(completed, from_output(completed.stdout) if results is None else results)


def _read_one(node_id: str, completed: Completed) -> TestRun:
    run = read_run(completed)
    wanted = node_id.removeprefix("./")
    found = {
        name: outcome
        for name, outcome in run.results.items()
        if name == wanted or name.startswith((f"{wanted}[", f"{wanted}::"))
    }
    # a file that can't be imported is reported by the file's name
    found |= {
        name: outcome for name, outcome in run.results.items() if "::" not in name and wanted.startswith(name)
    }
    return TestRun(found, run.finished, run.output)


def from_report(report: bytes) -> dict[str, Outcome] | None:
    """None when there is no report, or none that can be read."""
    if b"<!DOCTYPE" in report or b"<!ENTITY" in report:
        return None
    try:
        cases = list(ElementTree.fromstring(report).iter("testcase"))  # noqa: S314 - it declares no entity
    except ElementTree.ParseError:
        return None
    results: dict[str, Outcome] = {}
    for case in cases:
        node_id = _node_id(case.get("file"), case.get("classname", ""), case.get("name", ""))
        results[node_id] = worst(results.get(node_id), _outcome(case))
    return results


def _node_id(file: str | None, class_name: str, name: str) -> str:
    if not class_name:  # a file that couldn't be collected, by its dotted name
        return file or name.replace(".", "/") + ".py"
    if file is None:
        return f"{class_name.replace('.', '/')}.py::{name}"
    inside = class_name.removeprefix(module_name(file)).strip(".")
    return "::".join((file, *filter(None, inside.split(".")), name))


def _outcome(case: ElementTree.Element) -> Outcome:
    for tag, outcome in (("error", Outcome.ERROR), ("failure", Outcome.FAILED), ("skipped", Outcome.SKIPPED)):
        if case.find(tag) is not None:
            return outcome
    return Outcome.PASSED


def from_output(text: str) -> dict[str, Outcome]:
    """Results from verbose lines and the summary; the last test is UNKNOWN when its line isn't complete."""
    results: dict[str, Outcome] = {}
    last = ""
    for line in report_lines(text):
        last = ""
        if found := _VERBOSE.fullmatch(line):
            node_id, word = found["id"] or found["id2"], found["word"] or found["word2"]
        elif found := _SUMMARY.fullmatch(line):
            node_id, word = found["id"], found["word"]
        else:
            last = line
            continue
        results[node_id] = worst(results.get(node_id), _WORDS[word])
    if begun := _BEGUN.fullmatch(last):
        results.setdefault(begun["id"], Outcome.UNKNOWN)
    return results
