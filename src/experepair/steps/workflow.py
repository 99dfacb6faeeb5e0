"""The repair of one issue, from top to bottom (paper, 3.2)."""

from __future__ import annotations

import asyncio

from experepair.domain.issue import Issue
from experepair.errors import BudgetSpent, ExpeRepairError, ProviderError
from experepair.journal.entries import RunEnded
from experepair.journal.trajectory import trajectory
from experepair.steps.conclude import conclude
from experepair.steps.concurrently import both
from experepair.steps.existing import ExistingTests
from experepair.steps.generate import generate
from experepair.steps.kit import Kit
from experepair.steps.localize import localize
from experepair.steps.progress import Progress
from experepair.steps.report import publish
from experepair.steps.reproduce import reproduce
from experepair.steps.result import Result
from experepair.steps.review import review
from experepair.steps.validate import validate


async def repair(issue: Issue, kit: Kit, failing_test: str | None = None) -> Result:
    """Reproduce, localize, generate, validate, select; then leave the results, then learn.

    A spent budget, a provider that gives out and an interruption end it before its time; what was found until
    then is published all the same.

    Raises:
        UsageError: something that the user gave can't be used.
        OutputError: the journal or a result can't be written.
        asyncio.CancelledError: after what was found has been published.
    """
    progress = Progress()
    try:
        await _steps(issue, kit, progress, failing_test)
    except (BudgetSpent, ProviderError) as error:
        return await _finish(issue, kit, progress, error)
    except asyncio.CancelledError as interruption:
        publish(conclude(issue, kit, progress, interruption), progress, kit)
        raise
    return await _finish(issue, kit, progress, None)


async def _steps(issue: Issue, kit: Kit, progress: Progress, failing_test: str | None) -> None:
    with kit.stage("reproduce and localize"):
        reproduction, places = await both(reproduce(issue, kit, failing_test), localize(issue, kit))
        progress.reproduction, progress.places = reproduction, places
    existing = progress.existing = ExistingTests.start(issue, places.files, kit)
    try:
        with kit.stage("generate"):
            passing = await generate(issue, places, reproduction, kit, progress)
        if passing:
            with kit.stage("validate"):
                await validate(issue, places, reproduction, existing, kit, progress)
            with kit.stage("review"):
                await review(issue, places, kit, progress)
    finally:
        await existing.close()


async def _finish(issue: Issue, kit: Kit, progress: Progress, error: ExpeRepairError | None) -> Result:
    result = conclude(issue, kit, progress, error)
    publish(result, progress, kit)
    kit.journal.append(RunEnded(status=result.status, detail=result.error or ""))
    await kit.memory.learn(trajectory(kit.journal.entries, issue, result.chosen))
    return result
