"""Runs tests by unittest, and reads its verbose report (Django's runner prints the same)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from experepair.domain.command import Command, Completed
from experepair.domain.outcome import Outcome
from experepair.testing.run import HASH_SEED, Target, TestRun, as_run, module_name, report_lines, worst

# "test_x (tests.test_a.TestA)", since Python 3.11 "test_x (tests.test_a.TestA.test_x)"
_TEST = r"(?P<name>[\w.]+) \((?P<owner>[\w.<>]+)\)"
_BEGUN = re.compile(rf"^{_TEST}(?P<rest>.*)$")
# before Python 3.11 a test with failing subtests has no status, and the next one follows on its line
_GLUED = re.compile(r"(?<=\.\.\. )(?=[\w.]+ \([\w.<>]+\)(?: \.\.\.|$))")
_END = r"(?P<word>ok|FAIL|ERROR|skipped\b.*|expected failure|unexpected success)\s*$"
# on the line that names the test, what the test printed may come right before the status
_STATUS_OF = re.compile(rf"\.\.\. .*?{_END}")
_STATUS = re.compile(rf"(?:^|\s){_END}")
# a heading of the details, such as FAIL: test_x (tests.test_a.TestA) [message] (i=1)
_DETAIL = re.compile(rf"^(?P<word>FAIL|ERROR|UNEXPECTED SUCCESS): {_TEST}")
_WORDS = {
    "ok": Outcome.PASSED,
    "FAIL": Outcome.FAILED,
    "ERROR": Outcome.ERROR,
    "skipped": Outcome.SKIPPED,
    "expected failure": Outcome.SKIPPED,
    "unexpected success": Outcome.FAILED,
    "UNEXPECTED SUCCESS": Outcome.FAILED,
}
_LABEL = re.compile(r"^(?P<name>\w+) \((?P<owner>[\w.]+)\)$")


@dataclass(frozen=True, slots=True)
class Unittest:
    """`python -m unittest` on modules, from the top of the tree, or what takes the same labels and prints the same.

    Attributes:
        folder: where the modules' names begin, "" for the top, as `discover -s FOLDER` says.
        env: variables that the project's configuration sets.
        name: of the runner.
        words: what the interpreter is given before the labels.
    """

    folder: str = ""
    env: tuple[tuple[str, str], ...] = ()
    name: str = "unittest"
    words: tuple[str, ...] = ("-m", "unittest", "--verbose")

    def suite(self, files: Sequence[str]) -> Target:
        """All tests of some files."""
        return Target(self._command([self._label(module_name(file)) for file in files]), read_run)

    def single(self, node_id: str) -> Target:
        """One test, as `module.Class.test`, `test (module.Class)` or `path.py::Class::test`."""
        label = self._label(dotted(node_id))
        return Target(self._command([label]), partial(read_one, label))

    def _label(self, name: str) -> str:
        return name.removeprefix(self.folder.replace("/", ".") + ".") if self.folder else name

    def _command(self, labels: Sequence[str]) -> Command:
        argv = ("{python}", *self.words, *labels)
        return Command(argv, env=(*self.env, *HASH_SEED), cwd=self.folder or ".")


def dotted(node_id: str) -> str:
    """A test's id, in any of its forms, as `module.Class.test`."""
    if found := _LABEL.match(node_id):
        return _id(found["name"], found["owner"])
    path, *inside = node_id.removeprefix("./").split("::")
    return ".".join((module_name(path) if path.endswith(".py") else path, *inside))


def read_run(completed: Completed) -> TestRun:
    """Results by `module.Class.test`."""
    return as_run(completed, from_output(completed.stderr))


def read_one(label: str, completed: Completed) -> TestRun:
    """The results of `label` and what is below it; a failure to import or set up what it is in counts too."""
    run = read_run(completed)
    around = {
        name: outcome
        for name, outcome in run.results.items()
        if name == label
        or name.startswith(f"{label}.")
        or (outcome is Outcome.ERROR and _is_set_up(name, label))
    }
    return TestRun(around, run.finished, run.output)


def _is_set_up(name: str, label: str) -> bool:
    owner, _, what = name.rpartition(".")
    return (what.startswith("setUp") and label.startswith(owner)) or "_FailedTest" in name


def _id(name: str, owner: str) -> str:
    return owner if owner.rpartition(".")[2] == name else f"{owner}.{name}"


def from_output(text: str) -> dict[str, Outcome]:
    """Results from the verbose lines, then from the headings of the details.

    A status may stand on a later line than the test's name: after its docstring, or what the test printed.
    """
    lines = [part for line in report_lines(text) for part in _GLUED.split(line)]
    results: dict[str, Outcome] = {}
    current: str | None = None
    for line in lines:
        if line.startswith("=" * 70):
            break
        rest = line
        if begun := _BEGUN.match(line):
            if current is not None:
                results.setdefault(current, Outcome.UNKNOWN)
            current, rest = _id(begun["name"], begun["owner"]), begun["rest"]
        status = _STATUS.search(rest) or _STATUS_OF.search(rest)
        if current is not None and status:
            word = status["word"]
            results[current] = worst(
                results.get(current), _WORDS["skipped" if word.startswith("skipped") else word]
            )
            current = None
    if current is not None:
        results.setdefault(current, Outcome.UNKNOWN)
    for found in filter(None, map(_DETAIL.match, lines)):
        name = _id(found["name"], found["owner"])
        known = results.get(name)
        results[name] = worst(None if known is Outcome.UNKNOWN else known, _WORDS[found["word"]])
    return results
