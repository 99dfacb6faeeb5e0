"""Answers questions about SWE-bench's specs and log parsers, a line of JSON each; run by the Python that has swebench 4.

Only the standard library and swebench itself are imported. swebench's top-level package imports its builders, which
need half a gigabyte of libraries; specs and parsers need none of them, so empty packages stand in for those.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import re
import sys
from types import ModuleType, SimpleNamespace
from typing import Any


def stand_in() -> None:
    """Make `swebench.harness.constants` and the Python log parsers importable without what the packages above them import."""
    found = importlib.util.find_spec("swebench")  # finds the package without running it
    folder = next(iter(found.submodule_search_locations or ())) if found else ""
    for name, inside in (
        ("swebench", ""),
        ("swebench.harness", "/harness"),
        ("swebench.harness.log_parsers", "/harness/log_parsers"),
        ("swebench.harness.test_spec", "/harness/test_spec"),
    ):
        package = ModuleType(name)
        package.__path__ = [folder + inside]
        sys.modules[name] = package
    spec_module = ModuleType("swebench.harness.test_spec.test_spec")
    spec_module.TestSpec = SimpleNamespace  # type: ignore[attr-defined] # the parsers' annotations name it
    sys.modules[spec_module.__name__] = spec_module


def plan(question: dict[str, Any]) -> dict[str, Any]:
    """The test command of a version, and which files of the test patch it is given."""
    constants = importlib.import_module("swebench.harness.constants")
    specs = constants.MAP_REPO_VERSION_TO_SPECS.get(question["repo"], {}).get(question["version"])
    paths = [
        path
        for path in re.findall(r"^diff --git a/.* b/(.*)$", question["test_patch"], re.MULTILINE)
        if not path.endswith(tuple(constants.NON_TEST_EXTS))
    ]
    return {"command": specs["test_cmd"] if specs else None, "paths": paths}


def statuses(question: dict[str, Any]) -> dict[str, Any]:
    """The status of every test that a log tells of; None when no parser is known."""
    parsers = importlib.import_module("swebench.harness.log_parsers.python").MAP_REPO_TO_PARSER_PY
    parser = parsers.get(question["repo"])
    facts = SimpleNamespace(repo=question["repo"], version=question["version"])
    return {"statuses": None if parser is None else parser(question["log"], facts)}


def main() -> None:
    """Answer until there are no more questions."""
    stand_in()
    for line in sys.stdin:
        question = json.loads(line)
        answer = {"plan": plan, "statuses": statuses}[question.pop("ask")](question)
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
