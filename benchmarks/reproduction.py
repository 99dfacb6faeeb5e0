"""Run the hidden tests of instances on the untouched code, and note what each test executes.

    python benchmarks/reproduction.py LITEEVAL OUT -- --dataset … --mirror … --chroot … --work … --empty [--ids …]

LITEEVAL is the evaluator (a Python script with `test_command`, `run_tests` and `main`); what follows -- are its own arguments.
The gold test patch stands in for a perfect reproduction: tests that must fail before and pass after are the
failing run, the other tests of the same files are runs that pass. This looks at the answer: it shows what
dynamic evidence could add at best, and nothing of it may enter a normal run. Lines are appended to OUT.
"""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
import sys
from collections.abc import Callable, Mapping
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import Any

_NAME = re.compile(r"(\w+)(?:\[.*)?$")
_MOST_PASSING, _MOST_OUTPUT = 200, 100_000
_TRACER = Path(__file__).with_name("tracing") / "sitecustomize.py"


def load(path: Path) -> ModuleType:
    """The evaluator as a module."""
    loader = SourceFileLoader("liteeval", str(path))
    spec = importlib.util.spec_from_loader("liteeval", loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


def traced(run_tests: Callable[..., Any], out: Path) -> Callable[..., Any]:
    """The evaluator's runner, with the tracer laid into the tree and its findings kept."""

    def run(
        instance: Mapping[str, Any], spec: Any, chroot: Any, env: Any, folder: Path, log: Path, *rest: Any
    ) -> Any:
        traces = folder / ".traced"
        traces.mkdir()
        shutil.copy(_TRACER, traces)
        done = run_tests(instance, spec, chroot, env, folder, log, *rest)
        seen: dict[str, dict[str, list[int]]] = {}
        for path in sorted(traces.glob("*.json")):
            seen |= json.loads(path.read_text())
        observed = split(instance, seen)
        if observed is not None:
            observed["output"] = log.read_text(errors="replace")[-_MOST_OUTPUT:]
            with out.open("a") as lines:
                lines.write(json.dumps(observed) + "\n")
        return done

    return run


def split(instance: Mapping[str, Any], seen: Mapping[str, dict[str, list[int]]]) -> dict[str, Any] | None:
    """What the failing tests executed together, and each of the others; None if no failing test was seen."""
    names = instance["FAIL_TO_PASS"]
    wanted = {
        match[1]
        for name in (json.loads(names) if isinstance(names, str) else names)
        if (match := _NAME.search(name.partition(" (")[0].strip()))
    }
    failing: dict[str, set[int]] = {}
    passing = []
    for name, lines in sorted(seen.items()):
        if name.rpartition("::")[2] in wanted:
            for path, numbers in lines.items():
                failing.setdefault(path, set()).update(numbers)
        else:
            passing.append(lines)
    if not failing:
        return None
    found = {path: sorted(numbers) for path, numbers in failing.items()}
    return {"id": instance["instance_id"], "failing": found, "passing": passing[:_MOST_PASSING]}


def with_tracer(test_command: Callable[..., Any]) -> Callable[..., Any]:
    """The evaluator's command, with the tracer on the interpreter's path."""

    def command(*arguments: Any) -> Any:
        line, env = test_command(*arguments)
        return line, {**env, "PYTHONPATH": "/testbed/.traced"}

    return command


def main() -> None:
    """Patch the evaluator and let it run."""
    evaluator, out = Path(sys.argv[1]), Path(sys.argv[2])
    module = load(evaluator)
    module.run_tests = traced(module.run_tests, out)  # type: ignore[attr-defined]
    module.test_command = with_tracer(module.test_command)  # type: ignore[attr-defined]
    sys.argv = [str(evaluator), *sys.argv[sys.argv.index("--") + 1 :]]
    sys.exit(module.main())


if __name__ == "__main__":
    main()
