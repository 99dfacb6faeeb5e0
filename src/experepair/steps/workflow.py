"""The repair of one issue, from top to bottom (paper, 3.2)."""

from __future__ import annotations

import asyncio

from experepair.domain.issue import Issue
from experepair.domain.place import Ranking
from experepair.errors import BudgetSpent, ExpeRepairError, OutputError, ProviderError
from experepair.journal.entries import RunEnded
from experepair.steps.conclude import conclude
from experepair.steps.concurrently import both
from experepair.steps.existing import ExistingTests
from experepair.steps.generate import generate
from experepair.steps.kit import Kit
from experepair.steps.learn import learn
from experepair.steps.localize import localize, sharpen
from experepair.steps.progress import Progress
from experepair.steps.remember import ranked
from experepair.steps.report import publish
from experepair.steps.reproduce import existing_reproduction, reproduce
from experepair.steps.result import Result
from experepair.steps.review import review
from experepair.steps.validate import validate


async def repair(issue: Issue, kit: Kit, failing_test: str | None = None) -> Result:
    """Reproduce, localize, generate, validate, select; then leave the results, then learn.

    Whatever ends it before its time, what was found until then is published. After a spent budget or a provider that
    gives out that is the result; other errors are raised then.

    Raises:
        UsageError: the failing test that the user named can't be used, or the issue is too long for a model's window.
        OutputError: the journal or a result can't be written, or another process has taken the run over.
        asyncio.CancelledError: the user interrupted it.
    """
    progress = Progress()
    if failing_test is not None:
        progress.reproduction = await existing_reproduction(failing_test, kit)
    try:
        await _steps(issue, kit, progress)
    except OutputError:
        raise
    except (BudgetSpent, ProviderError) as error:
        return await _finish(issue, kit, progress, error)
    except (ExpeRepairError, asyncio.CancelledError) as error:
        _publish(issue, kit, progress, error)
        raise
    return await _finish(issue, kit, progress, None)


async def _steps(issue: Issue, kit: Kit, progress: Progress) -> None:
    with kit.stage("reproduce and localize"):
        ranking = asyncio.create_task(ranked(kit, issue))
        try:
            await both(_reproduce(issue, ranking, kit, progress), _localize(issue, ranking, kit, progress))
        finally:
            ranking.cancel()
    reproduction, places = progress.reproduction, progress.places
    if places is None:
        return
    if reproduction is not None:
        places = progress.places = await sharpen(issue, places, reproduction.observed, kit)
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


async def _reproduce(issue: Issue, ranking: asyncio.Task[Ranking], kit: Kit, progress: Progress) -> None:
    if progress.reproduction is None:
        progress.reproduction = await reproduce(issue, ranking, kit)


async def _localize(issue: Issue, ranking: asyncio.Task[Ranking], kit: Kit, progress: Progress) -> None:
    progress.places = await localize(issue, await ranking, kit)


async def _finish(issue: Issue, kit: Kit, progress: Progress, error: ExpeRepairError | None) -> Result:
    result = _publish(issue, kit, progress, error)
    if await learn(issue, result, progress.table, kit) is None:
        return result
    result = conclude(issue, kit, progress, error)  # with what was learned, and what that cost
    publish(result, progress, kit)
    return result


def _publish(issue: Issue, kit: Kit, progress: Progress, error: BaseException | None) -> Result:
    result = conclude(issue, kit, progress, error)
    kit.journal.check_held()
    publish(result, progress, kit)
    kit.journal.append(RunEnded(status=result.status, detail=result.error or ""))
    return result
