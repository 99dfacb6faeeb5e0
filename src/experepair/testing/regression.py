"""Runs existing tests before and after a change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from experepair.domain.command import NO_CHANGES, Changes, Command, Completed
from experepair.domain.outcome import Outcome
from experepair.sandbox.sandbox import Limits
from experepair.testing.framework import Framework
from experepair.testing.run import Target, TestRun

OUTPUT_KB = 8192
"""How much of a test run's output is kept: enough that no outcome is cut out of a verbose report."""


class Runner(Protocol):
    """What a sandbox does, as far as it is needed here."""

    async def run(
        self, command: Command, changes: Changes = NO_CHANGES, *, limits: Limits | None = None
    ) -> Completed:
        """Run to completion on a private copy of the tree."""
        ...


@dataclass(frozen=True, slots=True)
class Baseline:
    """Existing tests on the untouched code, run twice.

    Attributes:
        files: the test files that were run.
        target: what runs them.
        stable: tests that passed both times, sorted.
        failing: tests that failed both times, sorted.
        unstable: tests that ended differently, left out of every comparison, sorted.
        unknown: tests that had begun, and others of their files, weren't finished in time.
        finished: whether both runs came to their end.
    """

    files: tuple[str, ...]
    target: Target
    stable: tuple[str, ...] = ()
    failing: tuple[str, ...] = ()
    unstable: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    finished: bool = True
    output: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class RegressionReport:
    """Existing tests after a change, beside the baseline.

    Attributes:
        broken: passed before, and not now.
        fixed: failed before, and pass now.
        unknown: passed before, and did not finish now.
        run: the run after the change; None when there was nothing to run.
    """

    broken: tuple[str, ...] = ()
    fixed: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    run: TestRun | None = field(default=None, repr=False)


async def baseline(sandbox: Runner, framework: Framework, files: Sequence[str], budget_s: float) -> Baseline:
    """Run tests twice on the untouched code, each time within half of the budget (seconds of wall time)."""
    target = framework.suite(files)
    if not files:
        return Baseline((), target)
    first = await _run(sandbox, target, NO_CHANGES, budget_s / 2)
    if not first.results:
        return Baseline(tuple(files), target, finished=first.finished, output=first.output)
    second = await _run(sandbox, _other_hash_order(target), NO_CHANGES, budget_s / 2)
    both = {
        name: (outcome, second.results.get(name, Outcome.UNKNOWN)) for name, outcome in first.results.items()
    }
    both |= {name: (Outcome.UNKNOWN, outcome) for name, outcome in second.results.items() if name not in both}
    kinds = {
        name: _kind(*outcomes, ended=first.finished and second.finished) for name, outcomes in both.items()
    }
    names = {
        kind: tuple(sorted(name for name in kinds if kinds[name] == kind)) for kind in set(kinds.values())
    }
    return Baseline(
        tuple(files),
        target,
        stable=names.get("stable", ()),
        failing=names.get("failing", ()),
        unstable=names.get("unstable", ()),
        unknown=names.get("unknown", ()),
        finished=first.finished and second.finished,
        output=first.output,
    )


async def compare(sandbox: Runner, baseline: Baseline, changes: Changes, budget_s: float) -> RegressionReport:
    """Run the same tests once with `changes` laid over, within the budget (seconds of wall time)."""
    if not baseline.stable and not baseline.failing:
        return RegressionReport()
    run = await _run(sandbox, baseline.target, changes, budget_s)
    now = {name: _now(run, name) for name in (*baseline.stable, *baseline.failing)}
    return RegressionReport(
        broken=tuple(name for name in baseline.stable if now[name] not in {Outcome.PASSED, Outcome.UNKNOWN}),
        fixed=tuple(name for name in baseline.failing if now[name] is Outcome.PASSED),
        unknown=tuple(name for name in baseline.stable if now[name] is Outcome.UNKNOWN),
        run=run,
    )


def _now(run: TestRun, name: str) -> Outcome:
    """A test that a finished run doesn't report is gone, or what it is in can't be set up."""
    return run.results.get(name, Outcome.ERROR if run.finished else Outcome.UNKNOWN)


def _kind(first: Outcome, second: Outcome, *, ended: bool) -> str:
    bad = {Outcome.FAILED, Outcome.ERROR}
    if first is second is Outcome.PASSED:
        return "stable"
    if first in bad and second in bad:
        return "failing"
    if Outcome.UNKNOWN in (first, second) and not ended:
        return "unknown"
    return "skipped" if first is second else "unstable"


def _other_hash_order(target: Target) -> Target:
    """The same with sets and dicts of strings in another order, which some tests depend on unknowingly."""
    command = target.command
    env: Mapping[str, str] = {**dict(command.env), "PYTHONHASHSEED": "1"}
    return Target(
        Command(command.argv, tuple(env.items()), command.stdin, command.cwd, command.collect), target.parse
    )


async def _run(sandbox: Runner, target: Target, changes: Changes, time_s: float) -> TestRun:
    limits = Limits(time_s=time_s, output_kb=OUTPUT_KB)
    return target.parse(await sandbox.run(target.command, changes, limits=limits))
