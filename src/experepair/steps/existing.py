"""The repository's own tests that belong to the change: run before and after."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

from experepair.domain.candidate import Candidate
from experepair.domain.issue import Issue
from experepair.steps.kit import Kit
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
        checkout = kit.checkout
        files = related_tests(issue.text, touched, checkout.files(), checkout.read, kit.config.existing_tests)
        kit.decide("existing", f"{len(files)} related test files", files=files)
        if not files:
            return cls()
        budget = 2 * kit.config.existing_tests_time_s
        return cls(files, asyncio.create_task(baseline(kit, kit.framework, files, budget)))

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
    def note(self) -> str:
        """What the user should know: that none of the tests passes on the untouched code, and why."""
        measured = self._baseline
        if measured is None or not measured.done() or measured.cancelled() or measured.exception():
            return ""
        before = measured.result()
        if before.stable:
            return ""
        said = [line for line in before.output.strip().splitlines() if line.strip()]
        return f"no related existing test passes on the untouched code; the last line: {said[-1] if said else 'none'}"

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
        report = await compare(kit, before, candidate.changes, kit.config.existing_tests_time_s)
        return Regression(len(before.stable), report.broken, len(report.unknown))
