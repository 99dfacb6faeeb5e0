"""The repository's own tests that belong to the change: run before and after."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

from experepair.domain.candidate import Candidate
from experepair.domain.command import Changes
from experepair.domain.issue import Issue
from experepair.steps.kit import Kit
from experepair.testing.explained import explain
from experepair.testing.framework import Framework, is_test_file
from experepair.testing.regression import Baseline, baseline, compare
from experepair.testing.related import related_tests


@dataclass(frozen=True, slots=True)
class Regression:
    """What existing tests say of a candidate.

    Attributes:
        compared: tests that passed on the untouched code, twice.
        broken: of these, the ones that fail with the candidate.
        unfinished: of these, the ones that did not finish in time.
    """

    compared: int = 0
    broken: tuple[str, ...] = ()
    unfinished: int = 0


@dataclass
class ExistingTests:
    """Related tests, run beside everything else: while models are being waited for, processors are idle."""

    files: tuple[str, ...] = ()
    _baseline: asyncio.Task[Baseline] | None = field(default=None, repr=False)
    _reports: dict[str, asyncio.Task[Regression]] = field(default_factory=dict, repr=False)

    @classmethod
    def start(cls, issue: Issue, touched: Sequence[str], kit: Kit) -> ExistingTests:
        """Choose the tests by the issue and the suspected files, and begin to run them on the untouched code."""
        if kit.framework is None or not kit.config.existing_tests:
            kit.decide("existing", "no existing tests are run", known=kit.framework is not None)
            return cls()
        tests = cls()
        tests._baseline = asyncio.create_task(tests._measure(issue, touched, kit, kit.framework))
        return tests

    async def _measure(
        self, issue: Issue, touched: Sequence[str], kit: Kit, framework: Framework
    ) -> Baseline:
        checkout, limit = kit.checkout, kit.config.existing_tests
        files = await asyncio.to_thread(
            related_tests, issue.text, touched, checkout.files(), checkout.read, limit
        )
        self.files = files
        kit.decide("existing", f"{len(files)} related test files", files=files)
        return await baseline(kit, framework, files, 2 * kit.config.existing_tests_time_s)

    def begin(self, candidate: Candidate, kit: Kit) -> None:
        """Run them on a candidate, as soon as the untouched code has been measured; once a candidate."""
        if self._baseline is not None and candidate.name not in self._reports:
            self._reports[candidate.name] = asyncio.create_task(self._compare(self._baseline, candidate, kit))

    async def compare(self, candidate: Candidate, kit: Kit) -> Regression:
        """What they say of a candidate."""
        self.begin(candidate, kit)
        report = self._reports.get(candidate.name)
        return await report if report else Regression()

    @property
    def compared(self) -> tuple[str, ...]:
        """The files, if any of their tests passes on the untouched code and could be compared."""
        return () if self.note else self.files

    @property
    def note(self) -> str:
        """What the user should know: that none of the tests passes on the untouched code, and why."""
        measured = self._baseline
        if measured is None or not measured.done() or measured.cancelled() or measured.exception():
            return ""
        before = measured.result()
        if before.stable or not before.files:
            return ""
        said = [line for line in before.output.strip().splitlines() if line.strip()]
        why = explain(before.output) or f"the last line: {said[-1] if said else 'none'}"
        return f"no related existing test passes on the untouched code; {why}"

    async def close(self) -> None:
        """Stop what is still running."""
        tasks = [task for task in (self._baseline, *self._reports.values()) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    @staticmethod
    async def _compare(measured: asyncio.Task[Baseline], candidate: Candidate, kit: Kit) -> Regression:
        before = await measured
        if not before.stable:
            return Regression()
        changes = with_tests_restored(candidate.changes, kit)
        report = await compare(kit, before, changes, kit.config.existing_tests_time_s)
        # what came to its end on the untouched code, twice in the same time, hangs because of the patch
        hanging = tuple(f"{name} (did not finish)" for name in report.unknown) if before.finished else ()
        return Regression(len(before.stable), (*report.broken, *hanging), len(report.unknown) - len(hanging))


def with_tests_restored(changes: Changes, kit: Kit) -> Changes:
    """The changes without those to tests that were there: a patch is judged by the tests as they are."""
    return {
        path: content
        for path, content in changes.items()
        if not ((is_test_file(path) or path.endswith("conftest.py")) and kit.checkout.read(path) is not None)
    }
