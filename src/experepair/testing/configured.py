"""What tox, nox, hatch, pdm, poe and make run underneath for the tests: they themselves need the network and environments."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from experepair.testing.project import Read, at, ini_of, text_of, toml_of

_SECTIONS = ("testenv", "testenv:test", "testenv:tests", "testenv:py", "testenv:py3", "testenv:unit")
_TARGETS = ("test", "tests", "unittest", "check", "unit")
_RULE = re.compile(r"^(?P<target>[\w.-]+)\s*:(?!=)")
_VARIABLE = re.compile(r"^(?P<name>\w+)\s*[:?]?=\s*(?P<value>.*?)\s*(?:#.*)?$")
_USED = re.compile(r"\$\((\w+)\)|\$\{(\w+)\}")
_TOX = re.compile(r"\{env:\w+:([^{}]*)\}|\{(?:posargs|args)[^{}]*\}")
_ASSIGNED = re.compile(r"\s*(\w+)\s*=\s*([^{}\s]+)\s*")
_LEAST_PARTS = 2
_DEEPEST = 3


@dataclass(frozen=True, slots=True)
class Underneath:
    """A command that some configuration runs for the tests.

    Attributes:
        source: the file that says so.
        words: the command.
        env: variables that it sets.
    """

    source: str
    words: tuple[str, ...]
    env: tuple[tuple[str, str], ...] = ()


def commands(read: Read) -> tuple[Underneath, ...]:
    """Commands that look like test runs, the likeliest first; files that can't be read say nothing."""
    found = [*_tox(read), *_nox(read), *_pyproject(read), *_make(read)]
    return tuple(one for one in found if one.words)


def _tox(read: Read) -> Iterator[Underneath]:
    texts = {name: text_of(read(name)) for name in ("tox.ini", "setup.cfg")}
    legacy = at(toml_of(read("pyproject.toml")), "tool", "tox", "legacy_tox_ini")
    texts["pyproject.toml"] = legacy if isinstance(legacy, str) else ""
    for source, text in texts.items():
        parser = ini_of(text)
        for section in _SECTIONS:
            if not parser.has_section(section) or (source == "setup.cfg" and "tox:tox" not in parser):
                continue
            env = _assignments(parser[section].get("setenv") or parser[section].get("set_env") or "")
            for line in _joined(parser[section].get("commands") or ""):
                yield Underneath(source, _words(_TOX.sub(_default, _after_factor(line))), env)
    for source, table in (
        ("tox.toml", toml_of(read("tox.toml"))),
        ("pyproject.toml", at(toml_of(read("pyproject.toml")), "tool", "tox")),
    ):
        for line in at(table, "env_run_base", "commands") or ():
            if isinstance(line, list):
                yield Underneath(source, tuple(word for word in line if isinstance(word, str)))


def _default(found: re.Match[str]) -> str:
    return found[1] or ""


def _after_factor(line: str) -> str:
    """A line without the condition in front, as in "py3,cov: pytest"."""
    return re.sub(r"^[\w,!{}. -]+:\s+", "", line)


def _joined(text: str) -> list[str]:
    return re.sub(r"\\\n\s*", " ", text).splitlines()


def _assignments(text: str) -> tuple[tuple[str, str], ...]:
    """Plain ones; PYTHONPATH is left alone, since the private tree comes first on it."""
    found = filter(None, map(_ASSIGNED.fullmatch, text.splitlines()))
    return tuple((one[1], one[2]) for one in found if one[1] != "PYTHONPATH")


def _nox(read: Read) -> Iterator[Underneath]:
    try:
        module = ast.parse(read("noxfile.py") or b"")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    functions = [node for node in module.body if isinstance(node, ast.FunctionDef) and node.decorator_list]
    for function in sorted(functions, key=lambda node: "test" not in node.name):
        for call in ast.walk(function):
            if (
                isinstance(call, ast.Call)
                and isinstance(call.func, ast.Attribute)
                and call.func.attr == "run"
            ):
                words = [
                    arg.value
                    for arg in call.args
                    if isinstance(arg, ast.Constant) and isinstance(arg.value, str)
                ]
                yield Underneath("noxfile.py", tuple(words))


def _pyproject(read: Read) -> Iterator[Underneath]:
    project, hatch = toml_of(read("pyproject.toml")), toml_of(read("hatch.toml"))
    for source, envs in (
        ("pyproject.toml", at(project, "tool", "hatch", "envs")),
        ("hatch.toml", at(hatch, "envs")),
    ):
        for env in (envs or {}).values() if isinstance(envs, dict) else ():
            yield from _scripts(source, at(env, "scripts"))
    yield from _scripts("pyproject.toml", at(project, "tool", "pdm", "scripts"))
    yield from _scripts("pyproject.toml", at(project, "tool", "poe", "tasks"))


def _scripts(source: str, scripts: Any) -> Iterator[Underneath]:
    if not isinstance(scripts, dict):
        return
    for name in sorted(scripts, key=lambda name: not name.startswith("test")):
        script = scripts[name]
        if isinstance(script, dict):
            script = script.get("cmd")
        for line in script if isinstance(script, list) else [script]:
            if "test" in name and isinstance(line, str):
                yield Underneath(source, _words(_TOX.sub(_default, line)))


def _make(read: Read) -> Iterator[Underneath]:
    for source in ("Makefile", "GNUmakefile", "makefile"):
        recipes, variables = _recipes(text_of(read(source)))
        for target in _TARGETS:
            for line in recipes.get(target, ()):
                yield Underneath(source, _words(_expanded(line.lstrip("@- "), variables)))


def _recipes(text: str) -> tuple[dict[str, list[str]], dict[str, str]]:
    recipes: dict[str, list[str]] = {}
    variables: dict[str, str] = {}
    target = ""
    for line in _joined(text):
        if line.startswith("\t"):
            if target:
                recipes.setdefault(target, []).append(line.strip())
        elif rule := _RULE.match(line):
            target = rule["target"]
        elif found := _VARIABLE.match(line):
            variables.setdefault(found["name"], found["value"])
    return recipes, variables


def _expanded(line: str, variables: Mapping[str, str]) -> str:
    for _ in range(_DEEPEST):
        line = _USED.sub(lambda found: variables.get(found[1] or found[2], ""), line)
    return line


def _words(line: str) -> tuple[str, ...]:
    """The last of several commands on a line; what a shell would do beyond that isn't followed."""
    try:
        words = shlex.split(line, comments=True)
    except ValueError:
        return ()
    for end in ("&&", ";", "||"):
        if end in words:
            words = words[len(words) - words[::-1].index(end) :]
    return tuple(words)


def program(words: Sequence[str]) -> tuple[str, ...]:
    """The command without what only prepares it: launchers, coverage, the interpreter, assignments.

    A module run by `-m` is named as if it were a program: "python -m pytest -q" comes to ("pytest", "-q").
    """
    rest = list(words)
    while rest:
        name = rest[0].rpartition("/")[2].lower()
        if re.fullmatch(r"\w+=.*|-m", rest[0]) or name in {"env", "time", "exec", "xvfb-run", "dotenv"}:
            rest = rest[1:]
        elif len(rest) >= _LEAST_PARTS and name in {
            "poetry",
            "uv",
            "pdm",
            "pipenv",
            "hatch",
            "rye",
            "coverage",
        }:
            rest = _launched(rest)
        elif re.fullmatch(r"(python|pypy)[\d.]*|\{?envpython\}?|py", name):
            rest = _launched(rest)
            if rest and rest[0].endswith(".py"):
                return tuple(rest)
        else:
            return tuple(rest)
    return ()


def _launched(words: Sequence[str]) -> list[str]:
    """What a launcher runs: after its own options; `-m MODULE` becomes the module."""
    rest = list(words[1:])
    if rest and rest[0] in {"run", "exec"}:
        rest = rest[1:]
    while rest and rest[0].startswith("-"):
        if rest[0] == "-m":
            return rest[1:]
        with_value = rest[0] in {
            "-W",
            "-X",
            "--source",
            "--include",
            "--omit",
            "--rcfile",
            "--with",
            "--python",
        }
        rest = rest[2:] if with_value else rest[1:]
    return rest
