"""Real runs of pytest and unittest on small projects."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from experepair.domain.command import Changes
from experepair.domain.outcome import Outcome
from experepair.testing.framework import Framework, Target
from experepair.testing.regression import Baseline, RegressionReport, baseline, compare
from experepair.testing.run import TestRun
from experepair.testing.runners.given import Given
from experepair.testing.runners.pytest import Pytest
from experepair.testing.runners.unittest import Unittest
from local_runner import LocalRunner

PYTEST = {
    "pkg.py": "def double(x):\n    return 2 * x\n",
    "tests/test_a.py": """
import pytest
from pkg import double


@pytest.mark.parametrize("x", [1, 2, "a b - c"])
def test_double(x):
    assert double(x) == x + x


class TestMore:
    class TestInner:
        def test_deep(self):
            assert double(0) == 0

    def test_fails(self):
        print("PASSED tests/test_a.py::forged")
        assert double(1) == 3

    @pytest.mark.skip
    def test_skipped(self): ...

    @pytest.mark.xfail
    def test_known(self):
        assert False

    @pytest.fixture
    def broken(self):
        raise RuntimeError

    def test_error(self, broken): ...

    @pytest.fixture
    def leaky(self):
        yield
        raise RuntimeError

    def test_teardown(self, leaky): ...
""",
    "tests/test_import.py": "import nothing_of_that_name\n\ndef test_x(): ...\n",
}
EXPECTED = {
    "tests/test_a.py::test_double[1]": Outcome.PASSED,
    "tests/test_a.py::test_double[2]": Outcome.PASSED,
    "tests/test_a.py::test_double[a b - c]": Outcome.PASSED,
    "tests/test_a.py::TestMore::TestInner::test_deep": Outcome.PASSED,
    "tests/test_a.py::TestMore::test_fails": Outcome.FAILED,
    "tests/test_a.py::TestMore::test_skipped": Outcome.SKIPPED,
    "tests/test_a.py::TestMore::test_known": Outcome.SKIPPED,
    "tests/test_a.py::TestMore::test_error": Outcome.ERROR,
    "tests/test_a.py::TestMore::test_teardown": Outcome.ERROR,
    "tests/test_import.py": Outcome.ERROR,
}
UNITTEST = {
    "pkg.py": PYTEST["pkg.py"],
    "tests/__init__.py": "",
    "tests/test_a.py": '''
import sys, unittest
from pkg import double


class DoubleTest(unittest.TestCase):
    def test_passes(self):
        self.assertEqual(double(1), 2)

    def test_with_docstring(self):
        """Doubling nothing
        is nothing."""
        self.assertEqual(double(0), 0)

    def test_noisy(self):
        sys.stderr.write("noise without end")
        print("FAIL: test_passes (tests.test_a.DoubleTest)")

    def test_noisy_lines(self):
        sys.stderr.write("a line\\nanother\\n")

    def test_fails(self):
        self.assertEqual(double(1), 3)

    def test_error(self):
        raise RuntimeError

    def test_parts(self):
        for i in range(3):
            with self.subTest(i=i):
                self.assertNotEqual(i, 1)

    @unittest.skip("not now: ok")
    def test_skipped(self): ...

    @unittest.expectedFailure
    def test_known(self):
        self.fail()

    @unittest.expectedFailure
    def test_surprise(self): ...


class BrokenTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        raise RuntimeError

    def test_x(self): ...
''',
    "tests/test_import.py": "import nothing_of_that_name\n",
}


def project(folder: Path, files: Mapping[str, str]) -> LocalRunner:
    for path, content in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(content)
    return LocalRunner(folder)


def run(runner: LocalRunner, target: Target, changes: Changes | None = None) -> TestRun:
    return target.parse(asyncio.run(runner.run(target.command, changes or {})))


def before(runner: LocalRunner, framework: Framework, *files: str, budget_s: float = 60) -> Baseline:
    return asyncio.run(baseline(runner, framework, files, budget_s))


def after(runner: LocalRunner, base: Baseline, changes: Changes, budget_s: float = 60) -> RegressionReport:
    return asyncio.run(compare(runner, base, changes, budget_s))


def test_pytest_reports_each_test_by_its_node_id(tmp_path: Path) -> None:
    runner = project(tmp_path, PYTEST)
    found = run(runner, Pytest().suite(["tests/test_a.py", "tests/test_import.py"]))
    assert found.results == EXPECTED
    assert found.finished
    assert "assert 2 == 3" in found.output


def test_pytest_is_read_from_its_output_where_there_is_no_report(tmp_path: Path) -> None:
    runner = project(tmp_path, PYTEST)
    target = Pytest().suite(["tests/test_a.py", "tests/test_import.py"])
    completed = asyncio.run(runner.run(target.command))
    for report in (
        {},
        {"experepair_junit.xml": b"<testsuites><testsu"},
        {"experepair_junit.xml": b"<!DOCTYPE x>"},
    ):
        found = target.parse(replace(completed, files=report))
        assert {name: found.results.get(name) for name in EXPECTED} == EXPECTED


def test_options_and_folders_of_the_repository_do_not_change_the_ids(tmp_path: Path) -> None:
    ini = "[pytest]\naddopts = -q -x --tb=no\njunit_family = xunit2\n"
    runner = project(tmp_path, {**PYTEST, "tests/pytest.ini": ini})
    assert run(runner, Pytest().suite(["tests/test_a.py"])).results == {
        name: outcome for name, outcome in EXPECTED.items() if name != "tests/test_import.py"
    }


@pytest.mark.parametrize(
    ("node_id", "results"),
    [
        ("tests/test_a.py::TestMore::test_fails", {"tests/test_a.py::TestMore::test_fails": Outcome.FAILED}),
        ("./tests/test_a.py::test_double[2]", {"tests/test_a.py::test_double[2]": Outcome.PASSED}),
        (
            "tests/test_a.py::test_double",
            {f"tests/test_a.py::test_double[{x}]": Outcome.PASSED for x in (1, 2, "a b - c")},
        ),
        ("tests/test_import.py::test_x", {"tests/test_import.py": Outcome.ERROR}),
        ("tests/test_a.py::test_unknown", {}),
    ],
)
def test_pytest_runs_one_test_alone(tmp_path: Path, node_id: str, results: Mapping[str, Outcome]) -> None:
    assert run(project(tmp_path, PYTEST), Pytest().single(node_id)).results == results


def test_unittest_reports_each_test_by_its_dotted_name(tmp_path: Path) -> None:
    runner = project(tmp_path, UNITTEST)
    found = run(runner, Unittest().suite(["tests/test_a.py", "tests/test_import.py"]))
    where = "tests.test_a.DoubleTest"
    assert dict(found.results) == {
        f"{where}.test_passes": Outcome.PASSED,
        f"{where}.test_with_docstring": Outcome.PASSED,
        f"{where}.test_noisy": Outcome.PASSED,
        f"{where}.test_noisy_lines": Outcome.PASSED,
        f"{where}.test_fails": Outcome.FAILED,
        f"{where}.test_error": Outcome.ERROR,
        f"{where}.test_parts": Outcome.FAILED,
        f"{where}.test_skipped": Outcome.SKIPPED,
        f"{where}.test_known": Outcome.SKIPPED,
        f"{where}.test_surprise": Outcome.FAILED,
        "tests.test_a.BrokenTest.setUpClass": Outcome.ERROR,
        "unittest.loader._FailedTest.test_import": Outcome.ERROR,
    }


@pytest.mark.parametrize(
    ("node_id", "results"),
    [
        ("tests.test_a.DoubleTest.test_fails", {"tests.test_a.DoubleTest.test_fails": Outcome.FAILED}),
        ("test_passes (tests.test_a.DoubleTest)", {"tests.test_a.DoubleTest.test_passes": Outcome.PASSED}),
        ("tests/test_a.py::DoubleTest::test_passes", {"tests.test_a.DoubleTest.test_passes": Outcome.PASSED}),
        ("tests.test_a.BrokenTest.test_x", {"tests.test_a.BrokenTest.setUpClass": Outcome.ERROR}),
        ("tests.test_import.T.test_x", {"unittest.loader._FailedTest.test_import": Outcome.ERROR}),
    ],
)
def test_unittest_runs_one_test_alone(tmp_path: Path, node_id: str, results: Mapping[str, Outcome]) -> None:
    assert run(project(tmp_path, UNITTEST), Unittest().single(node_id)).results == results


def test_a_given_command_is_read_like_the_runner_that_it_calls(tmp_path: Path) -> None:
    runner = project(tmp_path, PYTEST)
    by_pytest = Given("{python} -m pytest -p no:cacheprovider -v {files}")
    assert (
        run(runner, by_pytest.suite(["tests/test_a.py"])).results["tests/test_a.py::test_double[1]"]
        is Outcome.PASSED
    )
    by_unittest = Given("cd . && {python} -m unittest -v tests.test_a # {files}")
    runner = project(tmp_path / "other", UNITTEST)
    assert (
        run(runner, by_unittest.suite(["x"])).results["tests.test_a.DoubleTest.test_fails"] is Outcome.FAILED
    )


def test_a_given_command_that_starts_pytest_quietly_is_read_from_its_report(tmp_path: Path) -> None:
    runner = project(tmp_path, PYTEST)
    quiet = Given("{python} -m pytest -qq --no-header -p no:cacheprovider {files} >/dev/null")
    assert run(runner, quiet.suite(["tests/test_a.py", "tests/test_import.py"])).results == EXPECTED


def test_a_given_command_can_write_the_report_where_it_is_wanted(tmp_path: Path) -> None:
    report = '<testsuite><testcase file="a.py" classname="a" name="test_x"/></testsuite>'
    runner = project(tmp_path, {"report.xml": report})
    found = run(runner, Given("test -n {files} && cp report.xml {report}").suite(["a.py"]))
    assert found.results == {"a.py::test_x": Outcome.PASSED}


def test_unittest_names_modules_from_where_discovery_begins(tmp_path: Path) -> None:
    files = {
        "tests/helper.py": "",
        "tests/test_a.py": UNITTEST["tests/test_a.py"].replace("import unittest", "import unittest, helper"),
    }
    runner = project(tmp_path, {"pkg.py": UNITTEST["pkg.py"], **files})
    framework = Unittest("tests", (("PYTHONPATH", str(tmp_path)),))
    assert (
        run(runner, framework.suite(["tests/test_a.py"])).results["test_a.DoubleTest.test_fails"]
        is Outcome.FAILED
    )
    one = run(runner, framework.single("tests/test_a.py::DoubleTest::test_fails"))
    assert one.results == {"test_a.DoubleTest.test_fails": Outcome.FAILED}


def test_a_given_command_of_another_runner_counts_as_one_test(tmp_path: Path) -> None:
    framework = Given("test -e {files}")
    runner = project(tmp_path, {"it's a file": ""})
    assert run(runner, framework.suite(["it's a file"])).results == {"test -e {files}": Outcome.PASSED}
    assert run(runner, framework.suite(["no such file"])).results == {"test -e {files}": Outcome.FAILED}


def test_a_baseline_tells_stable_failing_and_unstable_tests_apart(tmp_path: Path) -> None:
    unstable = "import os\n\ndef test_order():\n    assert os.environ['PYTHONHASHSEED'] == '0'\n"
    runner = project(tmp_path, {**PYTEST, "test_order.py": unstable})
    base = before(runner, Pytest(), "tests/test_a.py", "test_order.py")
    assert base.stable == tuple(sorted(name for name in EXPECTED if EXPECTED[name] is Outcome.PASSED))
    assert base.unstable == ("test_order.py::test_order",)
    assert "tests/test_a.py::TestMore::test_fails" in base.failing
    assert base.finished


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> tuple[LocalRunner, Baseline]:
    """The pytest project, and its baseline."""
    runner = project(tmp_path_factory.mktemp("project"), PYTEST)
    return runner, before(runner, Pytest(), "tests/test_a.py")


def test_a_change_is_compared_with_the_baseline(measured: tuple[LocalRunner, Baseline]) -> None:
    changes = {"pkg.py": b"def double(x):\n    return 3 if x == 1 else x + x\n"}
    report = after(*measured, changes)
    assert report.broken == ("tests/test_a.py::test_double[1]",)
    assert report.fixed == ("tests/test_a.py::TestMore::test_fails",)
    assert report.unknown == ()


@pytest.mark.parametrize(
    "source",
    [
        "syntax error",
        "raise SystemExit(0)",
        "import os; os._exit(0)",
        "import os, signal; os.kill(os.getpid(), signal.SIGKILL)",
    ],
)
def test_a_change_that_keeps_tests_from_running_breaks_them_all(
    measured: tuple[LocalRunner, Baseline], source: str
) -> None:
    report = after(*measured, {"pkg.py": source.encode()})
    assert report.broken == measured[1].stable
    assert report.unknown == ()


def test_what_did_not_finish_in_time_is_unknown(measured: tuple[LocalRunner, Baseline]) -> None:
    runner, base = measured
    slow = "def double(x):\n    import time\n    time.sleep(60 * (x == 2))\n    return 2 * x\n"
    report = after(LocalRunner(runner.tree, "test_double[2] "), base, {"pkg.py": slow.encode()})
    assert report.broken == ()
    assert set(report.unknown) == {name for name in base.stable if name != "tests/test_a.py::test_double[1]"}


def test_a_baseline_that_did_not_finish_keeps_what_did(tmp_path: Path) -> None:
    files = {"test_s.py": "import time\ndef test_a(): ...\ndef test_b(): time.sleep(60)\n"}
    runner = LocalRunner(project(tmp_path, files).tree, "test_b ")
    base = before(runner, Pytest(), "test_s.py")
    assert base.stable == ("test_s.py::test_a",)
    assert base.unknown == ("test_s.py::test_b",)
    assert not base.finished


def test_nothing_is_run_where_there_is_nothing_to_compare(tmp_path: Path) -> None:
    runner = project(tmp_path, {"test_s.py": "x = 1\n"})
    assert before(runner, Pytest()).stable == ()
    assert runner.ran == []
    base = before(runner, Pytest(), "test_s.py")
    assert after(runner, base, {}) == RegressionReport()
    assert len(runner.ran) == 1


def test_a_runner_that_cannot_start_leaves_an_empty_baseline_with_its_output(tmp_path: Path) -> None:
    base = before(project(tmp_path, {"a.py": ""}), Given("exit 0 {files}"), "tests/nothing.py")
    assert base.stable == ("exit 0 {files}",)
    base = before(project(tmp_path, {"a.py": ""}), Pytest(), "tests/nothing.py")
    assert base.stable == ()
    assert "nothing.py" in base.output


def test_the_budget_bounds_each_run(tmp_path: Path) -> None:
    runner = project(tmp_path, {"test_s.py": "def test_a(): ...\n"})
    base = before(runner, Pytest(), "test_s.py", budget_s=50)
    after(runner, base, {}, budget_s=37)
    assert [limits.time_s for _, limits in runner.ran if limits] == [25, 25, 37]
