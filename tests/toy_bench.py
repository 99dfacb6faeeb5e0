"""A dataset of one toy issue, and a stand-in for the environment that knows SWE-bench's specs."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import toy
from experepair.bench.environments import Environments
from experepair.bench.evaluation.local import EvaluationConfig, Evaluator
from experepair.bench.evaluation.specs import Specs
from experepair.bench.mirrors import Mirrors

_BLANK = " "
"""An empty line in a diff."""
PATCH = f"""diff --git a/toy/stats.py b/toy/stats.py
--- a/toy/stats.py
+++ b/toy/stats.py
@@ -8,7 +8,7 @@ def total(values):
{_BLANK}
 def mean(values):
     \"\"\"Arithmetic mean of the values.\"\"\"
-    return total(values) / len(values)
+    return total(values) / len(values) if values else 0.0
{_BLANK}
{_BLANK}
 def spread(values):
"""
TEST_PATCH = f"""diff --git a/tests/test_stats.py b/tests/test_stats.py
--- a/tests/test_stats.py
+++ b/tests/test_stats.py
@@ -9,3 +9,6 @@ def test_mean(self):
{_BLANK}
     def test_total(self):
         self.assertEqual(stats.total([1, 2]), 3)
+
+    def test_mean_of_nothing(self):
+        self.assertEqual(stats.mean([]), 0.0)
"""
FAILING = "test_mean_of_nothing (tests.test_stats.StatsTest.test_mean_of_nothing)"
PASSING = (
    "test_mean (tests.test_stats.StatsTest.test_mean)",
    "test_total (tests.test_stats.StatsTest.test_total)",
)

_CONSTANTS = """
MAP_REPO_VERSION_TO_SPECS = {"toys/toy": {"1.0": {"test_cmd": "python -m unittest -v"}}}
NON_TEST_EXTS = [".txt"]
"""
_PARSERS = """
import re
from swebench.harness.test_spec.test_spec import TestSpec

def parse(log: str, test_spec: TestSpec) -> dict:
    seen = re.findall(r"^(\\w+ [(][\\w.]+[)]) [.]{3} (ok|FAIL|ERROR)", log, re.M)
    return {name: "PASSED" if status == "ok" else "FAILED" for name, status in seen}

MAP_REPO_TO_PARSER_PY = {"toys/toy": parse}
"""


def mirror(folder: Path) -> Path:
    """A mirror of the toy in the folder of mirrors."""
    return toy.repository(folder / "toys+toy" / "repo")


def row(commit: str, **more: Any) -> dict[str, Any]:
    """The row of the toy's issue, as SWE-bench writes rows."""
    return {
        "instance_id": "toys__toy-1",
        "repo": "toys/toy",
        "base_commit": commit,
        "problem_statement": toy.ISSUE,
        "created_at": "2024-05-06T07:08:09Z",
        "version": "1.0",
        "patch": PATCH,
        "test_patch": TEST_PATCH,
        "FAIL_TO_PASS": json.dumps([FAILING]),
        "PASS_TO_PASS": json.dumps(PASSING),
        "hints_text": "Somebody said something.",
    } | more


def write_rows(path: Path, *rows: Mapping[str, Any]) -> Path:
    """A dataset in JSON Lines."""
    path.write_text("".join(json.dumps(one) + "\n" for one in rows))
    return path


def specs(folder: Path) -> Specs:
    """Specs of the toy, from a package that is laid out as swebench 4 and whose own __init__ can't be imported."""
    files = {
        "swebench/__init__.py": "raise ImportError('its dependencies are not installed')\n",
        "swebench/harness/__init__.py": "",
        "swebench/harness/constants/__init__.py": _CONSTANTS,
        "swebench/harness/log_parsers/__init__.py": "raise ImportError('neither are these')\n",
        "swebench/harness/log_parsers/python.py": _PARSERS,
    }
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    python = folder / "python"
    start = f"import runpy, sys; sys.path.insert(0, {str(folder)!r}); runpy.run_path(sys.argv[1], run_name='__main__')"
    python.write_text(f'#!/bin/sh\nshift\nexec {sys.executable} -I -c "{start}" "$@"\n')
    python.chmod(0o755)
    return Specs(python)


def evaluator(folder: Path, known: Specs, entry: Mapping[str, Any] | None = None, **config: Any) -> Evaluator:
    """Judges the toy, whose mirror is below `folder`, on the interpreter of the tests."""
    environments = Environments({"toys/toy": {"python": sys.executable, **(entry or {})}}, folder)
    return Evaluator(
        Mirrors(folder / "clones", folder / "mirrors", ""),
        environments,
        known,
        folder / "checkouts",
        folder / "logs",
        EvaluationConfig(**({"time_s": 60.0} | config)),
    )
