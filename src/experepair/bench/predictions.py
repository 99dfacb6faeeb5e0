"""Predictions in SWE-bench's format, which its harness reads as they are, and the layout its leaderboard asks for."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from pydantic import BaseModel, ValidationError

from experepair.bench.reading import read_file
from experepair.errors import UsageError
from experepair.steps.report import write_all

PREDICTIONS = "all_preds.jsonl"
TRAJECTORIES = "trajs"


class Prediction(BaseModel, frozen=True, extra="ignore"):
    """What a system answers to one instance."""

    instance_id: str
    model_patch: str | None = None
    """A diff for `git apply`; None or "" when there is none."""
    model_name_or_path: str = "unknown"
    """Names the system; folders of the harness's logs are named after it."""

    @property
    def is_empty(self) -> bool:
        """Whether there is no patch to judge."""
        return not (self.model_patch or "").strip()


def read_predictions(path: Path) -> dict[str, Prediction]:
    """Read predictions from JSON (a list, or an object by instance) or JSON Lines; by instance id.

    Raises:
        UsageError: the file can't be read, an entry isn't a prediction, or an instance is there twice.
    """
    found: dict[str, Prediction] = {}
    for number, row in enumerate(read_file(path), 1):
        try:
            prediction = Prediction.model_validate(row)
        except ValidationError as error:
            first = error.errors()[0]
            name = ".".join(map(str, first["loc"]))
            raise UsageError(f"prediction {number} of {str(path)!r}: {name}: {first['msg']}") from error
        if prediction.instance_id in found:
            raise UsageError(f"{str(path)!r} has two predictions for {prediction.instance_id!r}")
        found[prediction.instance_id] = prediction
    return found


def write_predictions(path: Path, predictions: Iterable[Prediction]) -> None:
    """Write JSON Lines, all or nothing.

    Raises:
        OutputError: it can't be written.
    """
    # in ASCII: some readers take other characters for the end of a line
    lines = (f"{json.dumps(prediction.model_dump())}\n" for prediction in predictions)
    write_all(path.parent, {path.name: "".join(lines)})


def write_trajectory(folder: Path, instance_id: str, story: str) -> Path:
    """Write the trajectory of one instance where the leaderboard looks for it: trajs/INSTANCE.md.

    Args:
        folder: of the submission; it also holds `PREDICTIONS`.
        instance_id: whose trajectory it is.
        story: how the patch came about, readable by people.

    Raises:
        OutputError: it can't be written.
    """
    name = f"{instance_id}.md"
    write_all(folder / TRAJECTORIES, {name: story})
    return folder / TRAJECTORIES / name
