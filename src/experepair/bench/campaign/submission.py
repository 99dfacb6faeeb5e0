"""What a campaign hands to an evaluation and to the leaderboard: predictions and trajectories of each variant."""

from __future__ import annotations

from pathlib import Path

from pydantic import ValidationError

from experepair.bench.campaign.state import Campaign, Folder, Phase, State, read_outcome
from experepair.bench.predictions import PREDICTIONS, Prediction, write_predictions, write_trajectory
from experepair.steps.report import REPORT, RESULT
from experepair.steps.result import Result

SUBMISSION = "submission"


def read_result(run: Path) -> Result | None:
    """The result of a repair; None when there is none to read."""
    try:
        return Result.model_validate_json((run / RESULT).read_bytes())
    except (OSError, ValidationError):
        return None


def write_submissions(campaign: Campaign, folder: Folder) -> None:
    """Write predictions and trajectories of all variants, of the repairs that are done.

    Raises:
        OutputError: a file can't be written.
    """
    for variant in campaign.variants:
        home = folder.line(Phase.INFERENCE, variant.name)
        predictions = []
        for name in campaign.instances:
            run = folder.run(Phase.INFERENCE, variant.name, name)
            outcome = read_outcome(run)
            if outcome is None or outcome.state is not State.DONE:
                continue
            result = read_result(run)
            diff = result.patch.diff if result and result.patch else ""
            predictions.append(
                Prediction(
                    instance_id=name, model_patch=diff, model_name_or_path=f"experepair-{variant.name}"
                )
            )
            if (run / REPORT).is_file():
                write_trajectory(home / SUBMISSION, name, (run / REPORT).read_text(encoding="utf-8"))
        if predictions:
            write_predictions(home / SUBMISSION / PREDICTIONS, predictions)
