"""What the benchmark takes for gold: wrong gold would make every figure wrong."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from experepair.bench.metrics.gold import gold_of
from experepair.localize import GitSource
from repositories import make_repository

BEFORE = """import os

LIMIT = 1


class Box:
    size = 1

    def put(self, item):
        if item:
            return item

    def get(self):
        def inner():
            return 1

        return inner()


def free():
    return 3
"""


@pytest.mark.parametrize(
    ("old", "new", "functions", "lines"),
    [
        ("return item", "return [item]", {"Box.put"}, {11}),
        ("return 1", "return 2", {"Box.get"}, {15}),
        ("    return 3\n", "    x = 3\n    return x\n", {"free"}, {21}),
        ("        if item:\n", "        print(item)\n        if item:\n", {"Box.put"}, {9}),
        ("            return item\n", "            return item\n        return 5\n", {"Box.put"}, {11}),
        ("LIMIT = 1", "LIMIT = 2", set(), {3}),
        ("def free():", "def fresh():\n    return 4\n\n\ndef free():", set(), {19}),
        ("size = 1", "size = 2", set(), {7}),
    ],
)
def test_gold_is_the_outermost_function_with_a_changed_line(
    tmp_path: Path, old: str, new: str, functions: set[str], lines: set[int]
) -> None:
    root = make_repository(tmp_path / "r", {"a.py": BEFORE})
    (root / "a.py").write_text(BEFORE.replace(old, new, 1))
    patch = subprocess.run(["git", "diff"], cwd=root, capture_output=True, check=True, text=True).stdout
    gold = gold_of(patch, GitSource(root))
    assert gold.files == {"a.py"}
    assert gold.functions == {("a.py", name) for name in functions}
    assert {number for _, number in gold.lines} == lines
