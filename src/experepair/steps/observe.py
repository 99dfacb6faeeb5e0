"""What a reproduction executes, as evidence for the ranking."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import TypeAdapter, ValidationError

from experepair.domain.command import Changes, Command
from experepair.localize.executed import Lines, Observed
from experepair.sandbox.sandbox import Limits
from experepair.steps.cases import CaseRun
from experepair.steps.kit import Kit
from experepair.steps.target import source

_TRACE = "experepair_trace.json"
_LARGEST = 4 << 20
"""Bytes of a trace that are read; a larger one says nothing."""
_TRACES: TypeAdapter[dict[str, dict[str, frozenset[int]]]] = TypeAdapter(dict[str, dict[str, frozenset[int]]])
_PYTHON = "{python}"


async def traced(command: Command, tests: str, changes: Changes, kit: Kit) -> Mapping[str, Lines]:
    """Run a command again, noting which functions of the tree each test calls.

    It is evidence and no proof, so whatever goes wrong (a command that Python doesn't run itself, a runner that starts
    other processes, too little time) gives an empty answer and never an error.

    Args:
        command: the interpreter with a script or `-m MODULE`.
        tests: what the path of a file has in it that holds tests.
        changes: to the tree.
        kit: runs it.

    Returns:
        By name of a test function, a line in each function that it called.
    """
    time_s = kit.config.trace_time_s
    if not time_s or command.argv[0] != _PYTHON:
        return {}
    isolated, rest = (("-I",), command.argv[2:]) if command.argv[1] == "-I" else ((), command.argv[1:])
    argv = (_PYTHON, *isolated, "-c", source("tracing"), _TRACE, tests, *rest)
    again = Command(argv, command.env, cwd=command.cwd, collect=(_TRACE,))
    limits = Limits(time_s=min(time_s, kit.limits.time_s))
    completed = await kit.run(again, changes, limits=limits, purpose="functions that the reproduction calls")
    return read_traces(completed.files.get(_TRACE, b""))


def read_traces(content: bytes) -> Mapping[str, Lines]:
    """What the tracer wrote; empty when it isn't that."""
    if len(content) > _LARGEST:
        return {}
    try:
        return _TRACES.validate_json(content)
    except ValidationError:
        return {}


def observed(traces: Mapping[str, Lines], run: CaseRun) -> Observed:
    """What failing cases executed together, and each passing case; a test whose result isn't known by name failed."""
    failing: dict[str, set[int]] = {}
    passing: list[Lines] = []
    for name, executed in sorted(traces.items()):
        if run.results.get(name):
            passing.append(executed)
            continue
        for path, lines in executed.items():
            failing.setdefault(path, set()).update(lines)
    return Observed(failing, tuple(passing), run.output)
