"""Reports of runners that can't be installed here, written down by hand in the form that they have."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from experepair.domain.command import Completed, Ended
from experepair.domain.outcome import Outcome
from experepair.testing.framework import Framework
from experepair.testing.runners import pytest as pytest_runner
from experepair.testing.runners import sympy, unittest
from experepair.testing.runners.django import Django
from experepair.testing.runners.pytest import Pytest
from experepair.testing.runners.sympy import Sympy
from experepair.testing.runners.unittest import Unittest

DJANGO = """Testing against Django installed in '/tree/django'
Importing application shapes
Operations to perform:
  Synchronize unmigrated apps: shapes
Running migrations:
  Applying sites.0001_initial... OK
System check identified no issues (0 silenced).
test_round (shapes.tests.ShapeTests) ... ok
test_square (shapes.tests.ShapeTests)
A square has four corners (#123). ... ok
test_long (shapes.test_more.MoreTests.test_long)
Two lines ... are here ... FAIL
test_db (shapes.tests.ShapeTests) ... skipped 'Database has no feature, ok'
test_sub (shapes.tests.ShapeTests) ... test_next (shapes.tests.ShapeTests) ... ok
test_raises (shapes.tests.ShapeTests) ... ERROR

======================================================================
ERROR: test_raises (shapes.tests.ShapeTests)
----------------------------------------------------------------------
Traceback (most recent call last):
  File "/tree/tests/shapes/tests.py", line 3, in test_raises
ValueError: test_round (shapes.tests.ShapeTests) ... FAIL

======================================================================
FAIL: test_long (shapes.test_more.MoreTests.test_long)
Two lines
----------------------------------------------------------------------
AssertionError: 1 != 2

======================================================================
FAIL: test_sub (shapes.tests.ShapeTests) (name='round')
----------------------------------------------------------------------
AssertionError: 1 != 2

----------------------------------------------------------------------
Ran 7 tests in 0.010s

FAILED (failures=2, errors=1, skipped=1)
"""
SYMPY = """============================= test process starts ==============================
executable:         /env/bin/python  (3.9.2-final-0) [CPython]
architecture:       64-bit
cache:              yes
ground types:       python
random seed:        1
hash randomization: on (PYTHONHASHSEED=0)

sympy/shapes/tests/test_round.py[7]
test_circle ok
test_ellipse F
test_arc some printed words
more of them ok
test_chord E
test_sector f
test_segment no numpy s
test_ring X                                                              [FAIL]

sympy/shapes/tests/test_gone.py[?]   Failed to import                     [FAIL]
sympy/shapes/tests/test_square.py[2]
test_side Slow w
test_corner ok                                                             [OK]

________________________________________________________________________________
_______________ sympy/shapes/tests/test_round.py:test_chord ____________________
Traceback (most recent call last):
TypeError: test_circle F
________________________________________________________________________________
_______________ sympy/shapes/tests/test_round.py:test_ellipse __________________
AssertionError
 tests finished: 3 passed, 1 failed, 1 skipped, 1 expected to fail,
1 expected to fail but passed, 1 exceptions, in 0.38 seconds
DO *NOT* COMMIT!
"""


def ended(stdout: str = "", stderr: str = "", *, how: Ended = Ended.EXITED) -> Completed:
    return Completed(1 if how is Ended.EXITED else None, stdout, stderr, 1.0, how)


def test_djangos_report_is_read_with_docstrings_subtests_and_traps() -> None:
    run = Django().suite(["tests/shapes/tests.py"]).parse(ended("noise", DJANGO))
    assert run.results == {
        "shapes.tests.ShapeTests.test_round": Outcome.PASSED,
        "shapes.tests.ShapeTests.test_square": Outcome.PASSED,
        "shapes.test_more.MoreTests.test_long": Outcome.FAILED,
        "shapes.tests.ShapeTests.test_db": Outcome.SKIPPED,
        "shapes.tests.ShapeTests.test_sub": Outcome.FAILED,
        "shapes.tests.ShapeTests.test_next": Outcome.PASSED,
        "shapes.tests.ShapeTests.test_raises": Outcome.ERROR,
    }
    assert run.finished


def test_a_test_of_django_that_was_cut_off_is_unknown() -> None:
    cut = DJANGO[: DJANGO.index(" ... skipped")]
    run = Django().suite(["tests/shapes/tests.py"]).parse(ended(stderr=cut, how=Ended.TIMED_OUT))
    assert run.results["shapes.tests.ShapeTests.test_round"] is Outcome.PASSED
    assert run.results["shapes.tests.ShapeTests.test_db"] is Outcome.UNKNOWN
    assert not run.finished


def test_djangos_files_and_node_ids_become_labels() -> None:
    suite = Django().suite(["tests/shapes/tests.py", "tests/a/b/test_c.py", "django/x/tests.py"]).command
    assert suite.argv[:2] == ("{python}", "tests/runtests.py")
    assert suite.argv[-3:] == ("shapes.tests", "a.b.test_c", "django.x.tests")
    for node_id in ("test_x (shapes.tests.T)", "shapes.tests.T.test_x", "tests/shapes/tests.py::T::test_x"):
        assert Django().single(node_id).command.argv[-1] == "shapes.tests.T.test_x"


def test_sympys_report_is_read_with_printed_text_and_traps() -> None:
    run = Sympy().suite(["sympy/shapes/tests/test_round.py"]).parse(ended(SYMPY))
    where = "sympy/shapes/tests/test_round.py"
    assert run.results == {
        f"{where}::test_circle": Outcome.PASSED,
        f"{where}::test_ellipse": Outcome.FAILED,
        f"{where}::test_arc": Outcome.PASSED,
        f"{where}::test_chord": Outcome.ERROR,
        f"{where}::test_sector": Outcome.SKIPPED,
        f"{where}::test_segment": Outcome.SKIPPED,
        f"{where}::test_ring": Outcome.PASSED,
        "sympy/shapes/tests/test_gone.py": Outcome.ERROR,
        "sympy/shapes/tests/test_square.py::test_side": Outcome.SKIPPED,
        "sympy/shapes/tests/test_square.py::test_corner": Outcome.PASSED,
    }


def test_a_test_of_sympy_that_was_cut_off_is_unknown() -> None:
    cut = SYMPY[: SYMPY.index("test_ellipse F") + len("test_ellipse ")]
    run = Sympy().suite(["x"]).parse(ended(cut, how=Ended.TIMED_OUT))
    assert list(run.results.values()) == [Outcome.PASSED, Outcome.UNKNOWN]


def test_sympy_is_given_the_options_that_its_script_knows() -> None:
    assert Sympy.of_script("add_option('--seed')").suite(["f"]).command.argv[-2:] == ("--seed=1", "f")
    new = Sympy.of_script("'--seed' '-s', '--use-sympy-runner'").single("a/test_b.py::test_c").command
    assert new.argv[-5:] == ("--seed=1", "--use-sympy-runner", "a/test_b.py", "-k", "test_c")


def test_one_test_of_sympy_is_told_from_others_that_k_selects_too() -> None:
    text = "a/test_b.py[2]\ntest_c ok\ntest_c_more F   [FAIL]\n"
    run = Sympy().single("a/test_b.py::test_c").parse(ended(text))
    assert run.results == {"a/test_b.py::test_c": Outcome.PASSED}


@pytest.mark.parametrize(
    ("line", "results"),
    [
        ("tests/a.py::test_x PASSED", {"tests/a.py::test_x": Outcome.PASSED}),
        ("tests/a.py::T::test_x[a b] FAILED        [ 50%]", {"tests/a.py::T::test_x[a b]": Outcome.FAILED}),
        ("tests/a.py::test_x SKIPPED (no: reason)  [100%]", {"tests/a.py::test_x": Outcome.SKIPPED}),
        ("tests/a.py::test_x xfail", {"tests/a.py::test_x": Outcome.SKIPPED}),
        ("\x1b[32mtests/a.py::test_x PASSED\x1b[0m", {"tests/a.py::test_x": Outcome.PASSED}),
        ("[gw1] [ 25%] PASSED tests/a.py::test_x ", {"tests/a.py::test_x": Outcome.PASSED}),
        ("ERROR tests/a.py - ImportError: no", {"tests/a.py": Outcome.ERROR}),
        ("ERROR tests/a.py::test_x - Runtime", {"tests/a.py::test_x": Outcome.ERROR}),
        ("tests/a.py::test_x PASSED\ntests/a.py::test_x ERROR", {"tests/a.py::test_x": Outcome.ERROR}),
        ("tests/a.py::test_x PASSED\ntests/a.py::test_y", None),
        ("PASSED with flying colours\nsome FAILED prose", {}),
        ("", {}),
    ],
)
def test_lines_of_pytest_are_read(line: str, results: dict[str, Outcome] | None) -> None:
    expected = {"tests/a.py::test_x": Outcome.PASSED, "tests/a.py::test_y": Outcome.UNKNOWN}
    assert pytest_runner.from_output(line) == (expected if results is None else results)


@pytest.mark.parametrize("framework", [Pytest(), Unittest(), Django(), Sympy()], ids=lambda f: str(f.name))
@settings(derandomize=True)
@given(
    text=st.lists(
        st.one_of(
            st.text(max_size=30),
            st.sampled_from(
                [*DJANGO.splitlines(), *SYMPY.splitlines(), "a.py::t PASSED", "ok", "F", "=" * 70]
            ),
        ),
        max_size=20,
    ).map("\n".join),
    report=st.sampled_from(
        [b"", b"<a><testcase/></a>", b"<testcase name='x' file='f'><error/></testcase>", b"\xff"]
    ),
)
def test_no_output_upsets_a_parser(framework: Framework, text: str, report: bytes) -> None:
    files = {"experepair_junit.xml": report}
    for target in (framework.suite(["a.py"]), framework.single("a.py::test_x")):
        run = target.parse(Completed(0, text, text, 1.0, files=files))
        assert all(isinstance(outcome, Outcome) for outcome in run.results.values())


PARSERS = {
    "pytest": pytest_runner.from_output,
    "unittest": unittest.from_output,
    "sympy": sympy.from_output,
}
PIECES = ["a.py::", "a.py::x\n", "test_x (a.B) ... ", "a.py[1] test_x ok\n", "_", " ", "=", "x" * 50 + "\n"]


@pytest.mark.parametrize("parser", PARSERS)
@pytest.mark.parametrize("piece", PIECES, ids=range(len(PIECES)))
def test_long_output_is_read_in_time_linear_in_its_length(parser: str, piece: str) -> None:
    start = time.process_time()
    PARSERS[parser](piece * (1_000_000 // len(piece)))
    assert time.process_time() - start < 5
