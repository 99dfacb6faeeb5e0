"""SWE-bench's specs and log parsers, asked of the process that has them."""

from __future__ import annotations

import json
import subprocess
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from experepair.bench.instance import Answer, Instance
from experepair.errors import UsageError


@dataclass(frozen=True, slots=True)
class Plan:
    """How the hidden tests of an instance are run.

    Attributes:
        command: SWE-bench's for the version, without the files; "" when it has none.
        paths: files of the test patch that hold tests.
    """

    command: str
    paths: tuple[str, ...]


class Specs:
    """Asks a process of its own, in a `with` block; threads may share it.

    Args:
        python: interpreter of the environment with swebench 4, see `tool_python`.
    """

    def __init__(self, python: Path) -> None:
        self._python = python
        self._lock = threading.Lock()
        self._process: subprocess.Popen[str]

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            [str(self._python), "-I", str(Path(__file__).with_name("questions.py"))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.communicate()

    def plan(self, instance: Instance, answer: Answer) -> Plan:
        """How the hidden tests are run."""
        said = self._ask("plan", repo=instance.repo, version=instance.version, test_patch=answer.test_patch)
        return Plan(said["command"] or "", tuple(said["paths"]))

    def statuses(self, repo: str, version: str, log: str) -> Mapping[str, str]:
        """PASSED, FAILED, and so on, by test.

        Raises:
            UsageError: there is no parser for the repository.
        """
        statuses = self._ask("statuses", repo=repo, version=version, log=log)["statuses"]
        if statuses is None:
            raise UsageError(
                f"no parser reads the logs of {repo!r}; name a repository whose tests print the same as `parser` "
                "in the environments file (pytest-dev/pytest for pytest -rA)"
            )
        return {str(test): str(status) for test, status in statuses.items()}

    def _ask(self, what: str, **facts: str) -> dict[str, Any]:
        with self._lock:
            assert self._process.stdin is not None  # noqa: S101 # both are pipes
            assert self._process.stdout is not None  # noqa: S101
            try:
                self._process.stdin.write(json.dumps({"ask": what, **facts}) + "\n")
                self._process.stdin.flush()
                line = self._process.stdout.readline()
            except OSError:
                line = ""
            if not line:
                raise UsageError(
                    f"the process that knows SWE-bench's specs ended ({self._process.poll()}); "
                    f"remove {str(self._python.parent.parent)!r} and try again"
                )
            answer: dict[str, Any] = json.loads(line)
            return answer
