"""Recognises how a repository runs its tests."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Sequence
from pathlib import PurePosixPath
from typing import Protocol

from experepair.testing.run import Target, TestRun
from experepair.testing.runners import django, sympy
from experepair.testing.runners.django import Django
from experepair.testing.runners.given import Given
from experepair.testing.runners.pytest import Pytest
from experepair.testing.runners.sympy import Sympy
from experepair.testing.runners.unittest import Unittest

__all__ = ["Framework", "Read", "Target", "TestRun", "is_test_file", "recognise"]

Read = Callable[[str], bytes | None]
"""Content of a file by path, None for what isn't there."""

_TEST_FILE = re.compile(r"(unit)?test_.*\.py|.*_tests?\.py|tests?\.py")
_PYTEST_SECTIONS = {
    "pytest.ini": rb"",
    ".pytest.ini": rb"",
    "setup.cfg": rb"(?m)^\[tool:pytest\]",
    "tox.ini": rb"(?m)^\[pytest\]",
}
_USES_PYTEST = re.compile(rb"(?m)^\s*(import|from) (pytest|_pytest)\b|^def test_|^async def test_")
_USES_UNITTEST = re.compile(rb"(?m)^\s*(import|from) (unittest|django\.test)\b")
_FILES_LOOKED_AT = 200


class Framework(Protocol):
    """A way to run tests."""

    @property
    def name(self) -> str:
        """Names it in reports."""
        ...

    def suite(self, files: Sequence[str]) -> Target:
        """Runs all tests of some files."""
        ...

    def single(self, node_id: str) -> Target:
        """Runs one test, named by an id that `suite` reports or that the framework's users would write."""
        ...


def recognise(files: Sequence[str], read: Read, test_command: str = "") -> Framework | None:
    """How this repository runs its tests; None when nothing says so.

    Args:
        files: all tracked files.
        read: their content.
        test_command: the user's own command, which overrides what is found; `{files}` in it is replaced.
    """
    if test_command.strip():
        return Given(test_command)
    present = set(files)
    if {django.RUNNER, "django/__init__.py"} <= present:
        return Django()
    if {sympy.RUNNER, "sympy/__init__.py"} <= present:
        return Sympy.of_script((read(sympy.RUNNER) or b"").decode(errors="replace"))
    if _configures_pytest(present, read):
        return Pytest()
    tests = [file for file in files if is_test_file(file)][:_FILES_LOOKED_AT]
    contents = [read(file) or b"" for file in tests]
    if any(map(_USES_PYTEST.search, contents)):
        return Pytest()
    if any(map(_USES_UNITTEST.search, contents)):
        return Unittest()
    return None


def is_test_file(path: str) -> bool:
    """Whether a runner would look for tests in this file, going by its name."""
    return bool(_TEST_FILE.fullmatch(PurePosixPath(path).name))


def _configures_pytest(present: set[str], read: Read) -> bool:
    for name, section in _PYTEST_SECTIONS.items():
        if name in present and re.search(section, read(name) or b""):
            return True
    if any(PurePosixPath(file).name == "conftest.py" for file in present):
        return True
    try:
        project = tomllib.loads((read("pyproject.toml") or b"").decode())
    except (UnicodeDecodeError, tomllib.TOMLDecodeError):
        return False
    tool = project.get("tool", {})
    return isinstance(tool, dict) and "pytest" in tool
