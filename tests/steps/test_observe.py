"""What a reproduction executes: the tracer in a process of its own, and how its findings are read."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from experepair.steps.cases import CaseRun
from experepair.steps.observe import observed, read_traces
from experepair.steps.target import source

SHAPES = '''"""Shapes."""


def area(side):
    return square(side)


def square(side):
    return [each * side for each in (side,)][0]


def unused():
    return square(1)


class Box:
    """A box."""

    def volume(self):
        return max((square(2), square(3)), key=lambda each: each)


unused()
'''
SCRIPT = """import sys


def test_area():
    from shapes import area

    assert area(2) == 5


def test_volume():
    from shapes import Box

    eval("Box().volume()")


for case in (test_area, test_volume):
    try:
        case()
    except AssertionError:
        pass
sys.exit(1)
"""
TEST = "import unittest\n\nimport shapes\n\n\nclass ShapesTest(unittest.TestCase):\n    def test_area(self):\n        self.assertEqual(shapes.area(2), 5)\n"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "shapes.py").write_text(SHAPES)
    (tmp_path / "script.py").write_text(SCRIPT)
    (tmp_path / "test_shapes.py").write_text(TEST)
    return tmp_path


def trace(tree: Path, *arguments: str) -> dict[str, dict[str, frozenset[int]]]:
    command = [sys.executable, "-B", *arguments]
    subprocess.run(command, cwd=tree, check=False, capture_output=True, env={}, timeout=60)
    out = tree / "trace.json"
    return dict(read_traces(out.read_bytes() if out.exists() else b""))  # type: ignore[arg-type]


def test_the_functions_that_each_case_calls_are_noted_but_not_what_an_import_runs(tree: Path) -> None:
    found = trace(tree, "-I", "-c", source("tracing"), "trace.json", "script.py", "script.py")
    assert found == {"test_area": {"shapes.py": {5, 9}}, "test_volume": {"shapes.py": {9, 20}}}


@pytest.mark.parametrize(
    "runner", [("unittest", "test_shapes"), ("pytest", "-p", "no:cacheprovider", "test_shapes.py")]
)
def test_a_test_of_the_repository_is_traced_through_its_own_runner(
    tree: Path, runner: tuple[str, ...]
) -> None:
    found = trace(tree, "-c", source("tracing"), "trace.json", "test", "-m", *runner)
    assert found == {"test_area": {"shapes.py": {5, 9}}}


def test_a_script_that_is_killed_leaves_no_trace(tree: Path) -> None:
    (tree / "script.py").write_text("import os\n\ndef test_it():\n    os._exit(3)\n\ntest_it()\n")
    assert trace(tree, "-I", "-c", source("tracing"), "trace.json", "script.py", "script.py") == {}


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b'{"a": 1}', b'{"a": {"b": ["c"]}}', b"[" * 100_000, b" " * (5 << 20)]
)
def test_a_trace_that_is_none_says_nothing(content: bytes) -> None:
    assert read_traces(content) == {}


def test_cases_that_passed_stand_apart_and_the_others_are_one_failing_run() -> None:
    traces = read_traces(
        json.dumps(
            {"test_a": {"x.py": [1]}, "test_b": {"x.py": [2], "y.py": [3]}, "test_c": {"x.py": [4]}}
        ).encode()
    )
    run = CaseRun({"test_a": True, "test_b": False}, {}, 2, finished=True, exit_code=1, output="said")
    seen = observed(traces, run)
    assert seen.failing == {"x.py": {2, 4}, "y.py": {3}}
    assert seen.passing == ({"x.py": {1}},)
    assert seen.output == "said"
