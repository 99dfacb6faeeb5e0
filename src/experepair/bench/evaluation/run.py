"""An evaluation from outside: what `experepair bench eval` calls."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from experepair.bench.dataset import Dataset, Selection, load
from experepair.bench.environments import Environments
from experepair.bench.evaluation.known import Known, read_known
from experepair.bench.evaluation.local import EvaluationConfig, Evaluator
from experepair.bench.evaluation.many import in_order, judge_all
from experepair.bench.evaluation.official import judge_officially
from experepair.bench.evaluation.report import write_reports
from experepair.bench.evaluation.specs import Specs
from experepair.bench.evaluation.tools import SPECS, tool_python
from experepair.bench.evaluation.verdict import Judged
from experepair.bench.mirrors import Mirrors
from experepair.bench.predictions import Prediction, read_predictions
from experepair.errors import UsageError
from experepair.folders import cache_folder

GOLD, EMPTY = "gold", "empty"
"""Predictions that need no file: the dataset's own patches, and the untouched code."""


@dataclass(frozen=True)
class Evaluation:
    """What is to be judged, and by what.

    Attributes:
        predictions: a file, "gold", or "empty".
        dataset: see `load`.
        out: folder for results, reports and logs.
        selection: which instances.
        environments: an environments file; None asks the official harness.
        mirrors: folder of repositories.
        survey: a file of what is known of instances on this machine.
        jobs: instances at once.
        config: limits of the tests.
    """

    predictions: str
    dataset: str
    out: Path
    selection: Selection = field(default_factory=Selection)
    environments: Path | None = None
    mirrors: Path | None = None
    survey: Path | None = None
    jobs: int = 1
    config: EvaluationConfig = field(default_factory=EvaluationConfig)


def evaluate(
    asked: Evaluation,
    *,
    tell: Callable[[str], None] = lambda note: None,
    observer: Callable[[Judged], None] = lambda judged: None,
) -> tuple[Dataset, list[Judged]]:
    """Judge predictions; those that were judged before into the same folder are not run again.

    Args:
        asked: what and how.
        tell: is called with what takes a while.
        observer: is called with each judgement of the local evaluator as it comes.

    Raises:
        UsageError: something given can't be used; nothing was judged then.
        SandboxUnavailable: the official harness needs docker.
    """
    dataset = load(asked.dataset, asked.selection)
    predictions = _predictions(asked.predictions, dataset)
    known = {instance.id for instance in dataset.instances}
    if not known & predictions.keys():
        raise UsageError(f"{asked.predictions!r} has no prediction for an instance of {asked.dataset!r}")
    if lacking := len(known - predictions.keys()):
        tell(f"{lacking} of {len(known)} instances have no prediction; they are left out")
    if asked.environments is None:
        if asked.predictions == EMPTY:
            raise UsageError("the official harness runs no empty patches; judge them with --environments")
        judged = judge_officially(
            dataset.answers,
            predictions,
            asked.out,
            cache=cache_folder() / "tools",
            jobs=asked.jobs,
            time_s=asked.config.time_s,
            tell=tell,
        )
    else:
        environments = Environments.read(asked.environments)
        survey = read_known(asked.survey) if asked.survey else {}
        judged = _locally(asked, dataset, predictions, environments, survey, tell, observer)
    write_reports(asked.out, judged, predictions)
    return dataset, judged


def _locally(
    asked: Evaluation,
    dataset: Dataset,
    predictions: Mapping[str, Prediction],
    environments: Environments,
    known: Mapping[str, Known],
    tell: Callable[[str], None],
    observer: Callable[[Judged], None],
) -> list[Judged]:
    cache = cache_folder()
    with Specs(tool_python(SPECS, cache / "tools", tell)) as specs:
        evaluator = Evaluator(
            Mirrors(cache / "clones", asked.mirrors),
            environments,
            specs,
            cache / "checkouts",
            asked.out / "logs",
            asked.config,
        )
        return asyncio.run(
            judge_all(
                evaluator,
                in_order(dataset.instances, known),
                dataset.answers,
                predictions,
                asked.out,
                known=known,
                jobs=asked.jobs,
                run_empty=asked.predictions == EMPTY,
                tell=observer,
            )
        )


def _predictions(given: str, dataset: Dataset) -> Mapping[str, Prediction]:
    if given in (GOLD, EMPTY):
        return {
            name: Prediction(
                instance_id=name,
                model_patch=answer.patch if given == GOLD else "",
                model_name_or_path=given,
            )
            for name, answer in dataset.answers.items()
        }
    return read_predictions(Path(given))
