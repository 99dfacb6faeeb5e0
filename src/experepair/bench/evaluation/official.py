"""The official harness: swebench 5 in its own environment, on SWE-bench's images."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from experepair.bench.evaluation.tools import HARNESS, tool_python
from experepair.bench.evaluation.verdict import Judged, Tests, Verdict
from experepair.bench.instance import Answer
from experepair.bench.predictions import Prediction, write_predictions
from experepair.errors import SandboxUnavailable, UsageError
from experepair.steps.report import write_all

NEEDED = ("image", "eval_script", "log_parser", "eval_type", "version", "FAIL_TO_PASS", "PASS_TO_PASS")
"""Columns that the harness reads beside the instance's own."""

_INHERITED = ("PATH", "HOME", "TMPDIR", "DOCKER_HOST", "DOCKER_CONFIG", "DOCKER_CONTEXT", "XDG_RUNTIME_DIR")
_DOCKER_S = 30.0
_DATASET = "dataset.jsonl"
_PREDICTIONS = "predictions.jsonl"
_LOG = "harness.log"


def judge_officially(
    answers: Mapping[str, Answer],
    predictions: Mapping[str, Prediction],
    out: Path,
    *,
    cache: Path,
    jobs: int = 1,
    time_s: float = 1800.0,
    tell: Callable[[str], None] = lambda note: None,
) -> list[Judged]:
    """Have the official harness judge predictions; its containers run as root with the network open.

    Args:
        answers: rows of the instances, by id.
        predictions: by instance id.
        out: folder for the harness's files and logs.
        cache: folder of tools.
        jobs: containers at once.
        time_s: limit of one instance in seconds.
        tell: is called with what takes a while.

    Returns:
        For each instance with a prediction, in the order of `answers`.

    Raises:
        UsageError: rows lack columns that the harness needs, it can't be installed, or it fails.
        SandboxUnavailable: docker doesn't run here.
    """
    asked = [name for name in answers if name in predictions]
    check_rows([answers[name] for name in asked])
    check_docker()
    python = tool_python(HARNESS, cache, tell)
    folder = out / "harness"
    rows = (json.dumps(answers[name].row, default=str) + "\n" for name in asked)
    write_all(folder, {_DATASET: "".join(rows)})
    write_predictions(folder / _PREDICTIONS, [predictions[name] for name in asked])
    run_id = f"experepair-{_digest(predictions[name] for name in asked)}"
    # nothing but what docker needs: no keys of models
    env = {name: value for name, value in os.environ.items() if name in _INHERITED or _is_proxy(name)}
    done = subprocess.run(
        [
            *(str(python.with_name("swebench")), "eval", _DATASET, "-p", _PREDICTIONS, "--run-id", run_id),
            *("-j", str(jobs), "-t", str(int(time_s)), "--report-dir", "."),
        ],
        cwd=folder,
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    write_all(folder, {_LOG: done.stdout + done.stderr})
    if done.returncode:
        last = (done.stderr.strip() or done.stdout.strip()).splitlines()[-1:]
        raise UsageError(f"the official harness failed: {' '.join(last)}; see {str(folder / _LOG)!r}")
    return [_judged(folder, run_id, predictions[name]) for name in asked]


def check_rows(answers: Sequence[Answer]) -> None:
    """Refuse rows that the harness can't take.

    Raises:
        UsageError: says which columns are missing where.
    """
    for answer in answers:
        if missing := [column for column in NEEDED if answer.row.get(column) in (None, "")]:
            raise UsageError(
                f"the official harness (swebench 5) needs the columns {', '.join(missing)}, which the row of "
                f"{answer.instance_id} lacks; take the dataset as the hub has it now, or judge on this machine "
                "with --environments"
            )


def check_docker() -> None:
    """Refuse to begin where no docker answers.

    Raises:
        SandboxUnavailable: it isn't installed, or its service doesn't run.
    """
    try:
        done = subprocess.run(
            ["docker", "version", "--format", "{{.Server.Version}}"],
            capture_output=True,
            text=True,
            timeout=_DOCKER_S,
            check=False,
        )
        said = done.stderr.strip() if done.returncode else ""
    except (OSError, subprocess.TimeoutExpired) as error:
        said = str(error)
    if said:
        raise SandboxUnavailable(
            f"the official harness needs docker, which doesn't answer: {said.splitlines()[0]}; start its service, "
            "or judge on this machine with --environments"
        )


def _judged(folder: Path, run_id: str, prediction: Prediction) -> Judged:
    """What the harness left of one instance."""
    name = prediction.instance_id
    if prediction.is_empty:
        return Judged(instance_id=name, verdict=Verdict.EMPTY)
    model = prediction.model_name_or_path.replace("/", "__")
    path = folder / "logs" / "run_evaluation" / run_id / model / name / "report.json"
    try:
        report = json.loads(path.read_text(encoding="utf-8"))[name]
        verdict = Verdict.RESOLVED if report["resolved"] else Verdict.UNRESOLVED
        status: dict[str, Any] = report.get("tests_status", {})
        parts = [
            Tests(passed=tuple(part.get("success", ())), failed=tuple(part.get("failure", ())))
            for part in (status.get("FAIL_TO_PASS", {}), status.get("PASS_TO_PASS", {}))
        ]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        log = path.with_name("run_instance.log") if path.parent.is_dir() else folder / _LOG
        why = f"the harness left no report ({type(error).__name__}); see {str(log)!r}"
        return Judged(instance_id=name, verdict=Verdict.ERROR, why=why)
    return Judged(instance_id=name, verdict=verdict, fail_to_pass=parts[0], pass_to_pass=parts[1])


def _digest(predictions: Any) -> str:
    """The harness keeps results by run id and instance, whatever the patch was: other patches, another id."""
    text = "".join(prediction.model_dump_json() for prediction in predictions)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]


def _is_proxy(name: str) -> bool:
    return name.lower().endswith("_proxy")
