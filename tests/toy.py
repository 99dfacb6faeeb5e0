"""A small repository with a bug, and a model that knows its repair: for tests of whole repairs."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path

from experepair.domain.roles import Role
from experepair.llm.model import ScriptedModel
from experepair.llm.request import Request

ISSUE = "mean([]) raises ZeroDivisionError\n\n`stats.mean` should return 0.0 for an empty list, but it divides by zero.\n"

STATS = '''"""Small statistics."""


def total(values):
    """Sum of the values."""
    return sum(values)


def mean(values):
    """Arithmetic mean of the values."""
    return total(values) / len(values)


def spread(values):
    """Largest minus smallest."""
    return max(values) - min(values)
'''
TESTS = """import unittest

from toy import stats


class StatsTest(unittest.TestCase):
    def test_mean(self):
        self.assertEqual(stats.mean([1, 2, 3]), 2)

    def test_total(self):
        self.assertEqual(stats.total([1, 2]), 3)
"""
REPRODUCTION = """It should be 0.0.
```python
def test_mean_of_nothing_is_zero():
    from toy import stats

    assert stats.mean([]) == 0.0
```
"""
VALIDATION = """<analysis>Edge cases.</analysis>
```python
def test_nothing():
    from toy import stats

    assert stats.mean([]) == 0.0


def test_one():
    from toy import stats

    assert stats.mean([4]) == 4


def test_generous_expectation_that_nobody_meets():
    from toy import stats

    assert stats.mean([]) is None
```
"""


def patch(replacement: str, original: str = "    return total(values) / len(values)") -> str:
    """A reply of the patch agent that replaces the faulty line."""
    return (
        "The length may be zero.\n<file>toy/stats.py</file>\n<original>\n"
        f"{original}\n</original>\n<patched>\n{replacement}\n</patched>\n"
    )


GOOD = patch("    return total(values) / len(values) if values else 0.0")
OTHER = patch("    if not values:\n        return 0.0\n    return total(values) / len(values)")
WRONG = patch("    return total(values) / len(values) or 0.0")
BROKEN = patch("    return total(values) / (len(values)")

REPLIES: Mapping[Role, tuple[str, ...]] = {
    Role.REPRODUCE: (REPRODUCTION,),
    Role.JUDGE: ("It divides by zero, as the issue says.\n<verdict>yes</verdict>",),
    Role.LOCALIZE: ("<files>\ntoy/stats.py\n</files>", "<places>\ntoy/stats.py: mean\n</places>"),
    Role.PATCH: (GOOD, OTHER, WRONG, BROKEN),
    Role.REFINE: (GOOD, OTHER),
    Role.VALIDATE: (VALIDATION, "I would rather not.", VALIDATION),
    Role.REVIEW: ("P1.2 is the clearest.\n<choice>P1.2</choice>",),
    Role.SUMMARIZE: (
        "The guard was missing.\n```json\n"
        '{"agent": "test", "operation": "ADD", "insight": "Try empty inputs first."}\n'
        '{"agent": "patch", "operation": "ADD", "insight": "Guard a division where its divisor is made."}\n```',
    ),
}


def repository(folder: Path) -> Path:
    """The repository, with one commit."""
    (folder / "toy").mkdir(parents=True)
    (folder / "tests").mkdir()
    (folder / "toy" / "__init__.py").write_text("")
    (folder / "toy" / "stats.py").write_text(STATS)
    (folder / "toy" / "unrelated.py").write_text("def colour():\n    return 'blue'\n")
    (folder / "tests" / "__init__.py").write_text("")
    (folder / "tests" / "test_stats.py").write_text(TESTS)
    git(folder, "init", "--quiet", "--initial-branch=main")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message=as it is")
    return folder


def git(folder: Path, *arguments: str) -> str:
    """Run git with a made-up identity and without the settings of this machine."""
    identity = ("-c", "user.name=toy", "-c", "user.email=toy@example.invalid", "-c", "commit.gpgsign=false")
    done = subprocess.run(
        ["git", *identity, *arguments], cwd=folder, check=True, capture_output=True, text=True
    )
    return done.stdout


def model(**replies: str | tuple[str, ...]) -> ScriptedModel:
    """A model that repairs the toy, with other replies for some roles; samples get theirs by number.

    Scripted replies are taken by sample, so that the order in which parallel calls arrive doesn't matter.
    """
    given = {Role(role): (texts,) if isinstance(texts, str) else texts for role, texts in replies.items()}
    script = {**REPLIES, **given}
    asked: dict[Role, int] = {}

    def answer(request: Request) -> str:
        texts = script[request.role]
        if request.samples > 1:
            return texts[min(request.sample, len(texts) - 1)]
        number = asked.get(request.role, 0)
        asked[request.role] = number + 1
        return texts[min(number, len(texts) - 1)]

    return ScriptedModel(answer)


_TASKS = {
    "write a minimal Python script that reproduces": Role.REPRODUCE,
    "decide whether the failure that its output shows": Role.JUDGE,
    "choose the files that must be changed": Role.LOCALIZE,
    "name the places in these files": Role.LOCALIZE,
    "resolve the issue, in two phases": Role.PATCH,
    "review a candidate patch for this issue": Role.REFINE,
    "write a validation test": Role.VALIDATE,
    "choose the patch that resolves the issue best": Role.REVIEW,
    "bring their insights up to date": Role.SUMMARIZE,
}


def role_of(prompt: str) -> Role:
    """Which role a prompt is for, by its task."""
    return next(role for task, role in _TASKS.items() if task in prompt)


def reply_to(prompt: str) -> str:
    """A good reply to a prompt of the toy's repair, for a stub that sees only what is on the wire."""
    role = role_of(prompt)
    if role is Role.LOCALIZE:
        return REPLIES[role]["name the places in these files" in prompt]
    return OTHER if role is Role.REFINE else REPLIES[role][0]
