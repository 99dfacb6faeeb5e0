"""Judgements as files: SWE-bench's results and per-instance reports, and what a table needs."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from experepair.bench.evaluation.verdict import Judged, Tests, Verdict
from experepair.bench.instance import Instance
from experepair.bench.predictions import Prediction
from experepair.errors import UsageError
from experepair.steps.report import write_all

RESULTS = "results.json"
_LISTS = {
    "resolved": Verdict.RESOLVED,
    "unresolved": Verdict.UNRESOLVED,
    "no_generation": Verdict.EMPTY,
    "no_logs": Verdict.ERROR,
}
"""The leaderboard's names; its own files lack the unresolved."""


def results_of(judged: Iterable[Judged]) -> dict[str, list[str]]:
    """Instance ids by verdict, in the form of the leaderboard's results.json."""
    judged = list(judged)
    return {
        name: sorted(one.instance_id for one in judged if one.verdict is verdict)
        for name, verdict in _LISTS.items()
    }


def read_results(path: Path) -> frozenset[str]:
    """The resolved instances of a results.json, or of a report of the official harness.

    Raises:
        UsageError: the file holds no such list.
    """
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(f"can't read the results in {str(path)!r}: {error}") from error
    ids = value.get("resolved", value.get("resolved_ids")) if isinstance(value, dict) else None
    if not isinstance(ids, list) or not all(isinstance(one, str) for one in ids):
        raise UsageError(f"{str(path)!r} has no list of resolved instances (resolved, or resolved_ids)")
    return frozenset(ids)


def write_reports(out: Path, judged: Sequence[Judged], predictions: Mapping[str, Prediction]) -> None:
    """Write results.json, and for each instance logs/ID/ with report.json and patch.diff, as the leaderboard asks.

    Raises:
        OutputError: a file can't be written.
    """
    for one in judged:
        prediction = predictions[one.instance_id]
        report = {one.instance_id: _report(one, prediction)}
        write_all(
            out / "logs" / one.instance_id,
            {"report.json": json.dumps(report, indent=4), "patch.diff": prediction.model_patch or ""},
        )
    write_all(out, {RESULTS: json.dumps(results_of(judged), indent=2) + "\n"})


def counts(judged: Iterable[Judged], instances: Iterable[Instance]) -> list[tuple[str, Counter[Verdict]]]:
    """Verdicts by repository, sorted; the last row, named "all", is their sum."""
    repos = {instance.id: instance.repo for instance in instances}
    table: dict[str, Counter[Verdict]] = {}
    for one in judged:
        table.setdefault(repos[one.instance_id], Counter())[one.verdict] += 1
    total = sum(table.values(), Counter[Verdict]())
    return [*sorted(table.items()), ("all", total)]


def _report(judged: Judged, prediction: Prediction) -> dict[str, Any]:
    applied = judged.verdict in (Verdict.RESOLVED, Verdict.UNRESOLVED)

    def parted(tests: Tests) -> dict[str, list[str]]:
        return {"success": list(tests.passed), "failure": list(tests.failed)}

    return {
        "patch_is_None": prediction.model_patch is None,
        "patch_exists": not prediction.is_empty,
        "patch_successfully_applied": applied,
        "resolved": judged.verdict is Verdict.RESOLVED,
        "tests_status": {
            "FAIL_TO_PASS": parted(judged.fail_to_pass),
            "PASS_TO_PASS": parted(judged.pass_to_pass),
        },
    }
