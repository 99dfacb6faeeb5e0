"""Recognises how a repository runs its tests."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Protocol

from experepair.testing.configured import Underneath, commands, program
from experepair.testing.project import Read, at, toml_of
from experepair.testing.run import Target, TestRun
from experepair.testing.runners import django, sympy
from experepair.testing.runners.django import Django
from experepair.testing.runners.given import Given
from experepair.testing.runners.manage import SCRIPT, manage
from experepair.testing.runners.pytest import Pytest
from experepair.testing.runners.sympy import Sympy
from experepair.testing.runners.unittest import Unittest

__all__ = ["Framework", "Read", "Recognition", "Target", "TestRun", "is_test_file", "look", "recognise"]

_TEST_FILE = re.compile(r"(unit)?test_.*\.py|.*_tests?\.py|tests?\.py")
_PYTEST_SECTIONS = {
    "pytest.ini": rb"",
    ".pytest.ini": rb"",
    "setup.cfg": rb"(?m)^\[tool:pytest\]",
    "tox.ini": rb"(?m)^\[pytest\]",
}
_USES_PYTEST = re.compile(rb"(?m)^\s*(import|from) (pytest|_pytest)\b|^def test_|^async def test_")
_USES_UNITTEST = re.compile(rb"(?m)^\s*(import|from) (unittest|django\.test)\b")
_USES_DJANGO = re.compile(rb"(?m)^\s*(import|from) django\.test\b")
_FILES_LOOKED_AT = 200
_KEPT = ("--ds", "--dc", "-c", "--config-file", "-p", "--import-mode", "--asyncio-mode", "--confcutdir")
"""Options of pytest that decide whether tests can run at all."""
_OTHER_RUNNERS = {
    "nose",
    "nose2",
    "nosetests",
    "trial",
    "stestr",
    "green",
    "ward",
    "avocado",
    "behave",
    "zope-testrunner",
    "testr",
}
_LONGEST_COMMAND = 120


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


@dataclass(frozen=True, slots=True)
class Recognition:
    """How a repository runs its tests, and what says so.

    Attributes:
        framework: None when it isn't known.
        source: the file, or kind of file, that says so.
        unknown: a command that the configuration runs and that isn't known here, "" when there is none.
    """

    framework: Framework | None
    source: str = ""
    unknown: str = ""


def recognise(files: Sequence[str], read: Read, test_command: str = "") -> Framework | None:
    """How this repository runs its tests; None when nothing says so. See `look`."""
    return look(files, read, test_command).framework


def look(files: Sequence[str], read: Read, test_command: str = "") -> Recognition:
    """How this repository runs its tests, and what says so.

    Args:
        files: all tracked files.
        read: their content.
        test_command: the user's own command, which overrides what is found; `{files}` in it is replaced.

    Raises:
        UsageError: `test_command` has no `{files}`.
    """
    if test_command.strip():
        return Recognition(Given(test_command), "--test-command")
    present = set(files)
    if {django.RUNNER, "django/__init__.py"} <= present:
        return Recognition(Django(), django.RUNNER)
    if {sympy.RUNNER, "sympy/__init__.py"} <= present:
        script = (read(sympy.RUNNER) or b"").decode(errors="replace")
        return Recognition(Sympy.of_script(script), sympy.RUNNER)
    unknown = ""
    for command in commands(read):
        framework, other = _known(command, present)
        if framework is not None:
            return Recognition(framework, command.source)
        unknown = unknown or (f"{other} (in {command.source})" if other else "")
    return _by_files(files, read, unknown)


def _by_files(files: Sequence[str], read: Read, unknown: str) -> Recognition:
    present = set(files)
    if configured := _configures_pytest(present, read):
        return Recognition(Pytest(), configured)
    contents = {file: read(file) or b"" for file in [*filter(is_test_file, files)][:_FILES_LOOKED_AT]}
    if file := next((file for file, content in contents.items() if _USES_PYTEST.search(content)), ""):
        return Recognition(Pytest(), file)
    scripts = [file for file in files if PurePosixPath(file).name == SCRIPT]
    uses_django = any(_USES_DJANGO.search(content) for content in contents.values())
    if uses_django and (script := min(scripts, key=len, default="")):
        return Recognition(manage(_folder(script)), script)
    if file := next((file for file, content in contents.items() if _USES_UNITTEST.search(content)), ""):
        return Recognition(Unittest(), file)
    return Recognition(None, unknown=unknown)


def _known(command: Underneath, present: set[str]) -> tuple[Framework | None, str]:
    """The framework that a configured command runs, or the name of a test runner that isn't known here."""
    name, *rest = program(command.words) or ("",)
    base = PurePosixPath(name).name
    if base in {"pytest", "py.test"}:
        return Pytest(_kept(rest), command.env), ""
    if base == "unittest":
        return Unittest(_start_folder(rest, present), command.env), ""
    if base == SCRIPT and rest[:1] == ["test"] and name in present:
        return manage(_folder(name), command.env), ""
    if base in _OTHER_RUNNERS or (base.endswith(".py") and "test" in base):
        return None, " ".join((name, *rest))[:_LONGEST_COMMAND]
    return None, ""


def _kept(words: Sequence[str]) -> tuple[str, ...]:
    """Options of pytest that decide whether tests can run at all."""
    kept: list[str] = []
    for word, following in _pairs(words):
        if word.startswith(tuple(f"{option}=" for option in _KEPT)):
            kept.append(word)
        elif word in _KEPT and following and not following.startswith("-"):
            kept += [word, following]
    return tuple(kept)


def _start_folder(words: Sequence[str], present: set[str]) -> str:
    """Where `discover` begins, unless that is a package, whose modules are named from above."""
    if list(words[:1]) != ["discover"]:
        return ""
    folder = ""
    for word, following in _pairs(words[1:]):
        if word in {"-s", "--start-directory"}:
            folder = following
        elif word.startswith("--start-directory="):
            folder = word.partition("=")[2]
    if not folder and len(words) > 1 and not words[1].startswith("-"):
        folder = words[1]
    folder = folder.removeprefix("./").strip("/")
    inside = folder and any(file.startswith(f"{folder}/") for file in present)
    return folder if inside and f"{folder}/__init__.py" not in present else ""


def _pairs(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Each word with the one that follows it, "" after the last."""
    return zip(words, (*words, "")[1:], strict=True)


def _folder(path: str) -> str:
    return path.rpartition("/")[0]


def is_test_file(path: str) -> bool:
    """Whether a runner would look for tests in this file, going by its name."""
    return bool(_TEST_FILE.fullmatch(PurePosixPath(path).name))


def _configures_pytest(present: set[str], read: Read) -> str:
    """The file that configures pytest, "" when none does."""
    for name, section in _PYTEST_SECTIONS.items():
        if name in present and re.search(section, read(name) or b""):
            return name
    if at(toml_of(read("pyproject.toml")), "tool", "pytest") is not None:
        return "pyproject.toml"
    return next((file for file in sorted(present) if PurePosixPath(file).name == "conftest.py"), "")
