"""Judges the predictions of a whole dataset, several at once; what was judged is kept and not done again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from pydantic import ValidationError

from experepair.bench.evaluation.known import Known
from experepair.bench.evaluation.local import Evaluator, digest_of
from experepair.bench.evaluation.verdict import Judged, Verdict
from experepair.bench.instance import Answer, Instance
from experepair.bench.predictions import Prediction
from experepair.errors import ExpeRepairError
from experepair.steps.report import write_all

JUDGED = "judged"
"""Folder of the judgements, one file an instance."""


def in_order(instances: Sequence[Instance], known: Mapping[str, Known]) -> list[Instance]:
    """The quick ones first, so that much is known early; then those of which nothing is known."""

    def seconds(instance: Instance) -> float:
        entry = known.get(instance.id)
        return entry.seconds_gold if entry and entry.seconds_gold is not None else float("inf")

    return sorted(instances, key=seconds)


async def judge_all(
    evaluator: Evaluator,
    instances: Sequence[Instance],
    answers: Mapping[str, Answer],
    predictions: Mapping[str, Prediction],
    out: Path,
    *,
    known: Mapping[str, Known] | None = None,
    jobs: int = 1,
    run_empty: bool = False,
    tell: Callable[[Judged], None] = lambda judged: None,
) -> list[Judged]:
    """Judge every prediction for the given instances; those judged before, in `out`, are taken again.

    Args:
        evaluator: judges one.
        instances: which; those without a prediction are left out.
        answers: by instance id.
        predictions: by instance id.
        out: folder that keeps judgements and logs.
        known: tests to leave out.
        jobs: at once.
        run_empty: run the untouched code where the patch is empty, instead of saying so.
        tell: is called with each as it is judged.

    Returns:
        In the order of `instances`. An instance whose environment fails is an error of its own, and stops no other.
    """
    asked = [instance for instance in instances if instance.id in predictions]
    limit = asyncio.Semaphore(max(1, jobs))

    async def one(instance: Instance) -> Judged:
        async with limit:
            judged = await _judged(
                evaluator,
                instance,
                answers[instance.id],
                predictions[instance.id],
                out / JUDGED,
                (known or {}).get(instance.id, Known()),
                run_empty=run_empty,
            )
        tell(judged)
        return judged

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(one(instance)) for instance in asked]
    return [task.result() for task in tasks]


async def _judged(
    evaluator: Evaluator,
    instance: Instance,
    answer: Answer,
    prediction: Prediction,
    kept: Path,
    known: Known,
    *,
    run_empty: bool,
) -> Judged:
    patch = prediction.model_patch or ""
    if prediction.is_empty and not run_empty:
        return Judged(instance_id=instance.id, verdict=Verdict.EMPTY)
    if not known.runnable:
        return Judged(instance_id=instance.id, verdict=Verdict.ERROR, why=f"can't be run here: {known.why}")
    before = _before(kept / f"{instance.id}.json")
    if before and (before.patch_digest, before.left_out) == (digest_of(patch), known.excluded_tests):
        return before
    try:
        judged = await evaluator.evaluate(instance, answer, patch, known.excluded_tests, known.hash_seed)
    except ExpeRepairError as error:
        return Judged(instance_id=instance.id, verdict=Verdict.ERROR, why=str(error))
    write_all(kept, {f"{instance.id}.json": judged.model_dump_json(indent=2) + "\n"})
    return judged


def _before(path: Path) -> Judged | None:
    """What was judged before; errors are tried again."""
    try:
        judged = Judged.model_validate_json(path.read_bytes())
    except (OSError, ValidationError):
        return None
    return None if judged.verdict is Verdict.ERROR else judged.model_copy(update={"before": True})
