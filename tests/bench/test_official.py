from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

import toy_bench
from experepair.bench.evaluation import official
from experepair.bench.evaluation.official import judge_officially
from experepair.bench.evaluation.report import read_results, results_of, write_reports
from experepair.bench.evaluation.tools import SPECS, tool_python
from experepair.bench.evaluation.verdict import Verdict
from experepair.bench.instance import Answer
from experepair.bench.predictions import Prediction, read_predictions
from experepair.bench.rows import split_row
from experepair.errors import SandboxUnavailable, UsageError

IMAGES = {
    "image": "local:1",
    "eval_script": "#!/bin/bash",
    "log_parser": "pytest",
    "eval_type": "pass_and_fail",
}
HARNESS = """#!/bin/sh
# Stands in for `swebench eval DATASET -p PREDICTIONS --run-id ID …`: resolves a, not b, and leaves nothing of c.
test "$1 $2 $3 $4 $5" = "eval dataset.jsonl -p predictions.jsonl --run-id" || exit 2
env > environment
for one in a:true b:false; do
    logs=logs/run_evaluation/$6/some__model/${one%:*}; mkdir -p $logs
    printf '{"%s": {"resolved": %s, "tests_status": {"FAIL_TO_PASS": {"success": ["t"], "failure": []}}}}' \
        ${one%:*} ${one#*:} > $logs/report.json
done
"""


def answers(*names: str, **more: Any) -> dict[str, Answer]:
    made = {}
    for name in names:
        parted = split_row(toy_bench.row("a" * 40, instance_id=name, **more), name)
        assert isinstance(parted, tuple)
        made[name] = parted[1]
    return made


def predictions(**patches: str) -> dict[str, Prediction]:
    return {
        name: Prediction(instance_id=name, model_patch=patch, model_name_or_path="some/model")
        for name, patch in patches.items()
    }


def program(folder: Path, name: str, text: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text)
    (folder / name).chmod(0o755)
    return folder / name


def test_rows_without_images_are_refused_with_the_columns_that_are_missing(tmp_path: Path) -> None:
    with pytest.raises(
        UsageError, match="image, eval_script, log_parser, eval_type, which the row of a lacks"
    ):
        judge_officially(answers("a"), predictions(a="x"), tmp_path, cache=tmp_path)


def test_without_docker_it_says_so_before_anything_is_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(tmp_path / "bin", "docker", "#!/bin/sh\necho 'no service here' >&2\nexit 1\n")
    for path in (tmp_path / "bin", tmp_path / "nothing"):
        monkeypatch.setenv("PATH", str(path))
        with pytest.raises(SandboxUnavailable, match=r"no service here|No such file"):
            judge_officially(
                answers("a", **IMAGES), predictions(a="x"), tmp_path / "out", cache=tmp_path / "tools"
            )
    assert not (tmp_path / "tools").exists()


def test_the_harness_is_given_rows_and_predictions_and_no_keys_and_its_reports_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(tmp_path / "bin", "docker", "#!/bin/sh\necho 28.0\n")
    program(tmp_path / "tool", "swebench", HARNESS)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-planted")
    monkeypatch.setattr(official, "tool_python", lambda name, cache, tell: tmp_path / "tool" / "python")
    given = predictions(a="x", b="y", c="z", d="")
    judged = judge_officially(
        answers("a", "b", "c", "d", "e", **IMAGES), given, tmp_path / "out", cache=tmp_path
    )
    assert [(one.instance_id, one.verdict) for one in judged] == [
        ("a", Verdict.RESOLVED), ("b", Verdict.UNRESOLVED), ("c", Verdict.ERROR), ("d", Verdict.EMPTY),
    ]  # fmt: skip
    assert judged[0].fail_to_pass.passed == ("t",)
    folder = tmp_path / "out" / "harness"
    rows = [json.loads(line) for line in (folder / "dataset.jsonl").read_text().splitlines()]
    assert [row["instance_id"] for row in rows] == ["a", "b", "c", "d"]
    assert rows[0]["image"] == "local:1"
    assert read_predictions(folder / "predictions.jsonl") == given
    assert "sk-planted" not in (folder / "environment").read_text()


def test_a_harness_that_fails_is_an_error_with_its_last_word(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(tmp_path / "bin", "docker", "#!/bin/sh\necho 28.0\n")
    program(tmp_path / "tool", "swebench", "#!/bin/sh\necho it broke >&2\nexit 3\n")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    monkeypatch.setattr(official, "tool_python", lambda name, cache, tell: tmp_path / "tool" / "python")
    with pytest.raises(UsageError, match="the official harness failed: it broke"):
        judge_officially(answers("a", **IMAGES), predictions(a="x"), tmp_path / "out", cache=tmp_path)


def test_a_tool_that_cannot_be_installed_is_an_error_and_leaves_nothing_half_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    venv = """#!/bin/sh
mkdir -p "$3/bin"
printf '#!/bin/sh\\necho ERROR: no swebench 4 here\\nexit 1\\n' >"$3/bin/python"
chmod +x "$3/bin/python"
"""
    monkeypatch.setattr(sys, "executable", str(program(tmp_path, "python", venv)))
    told: list[str] = []
    with pytest.raises(
        UsageError, match=r"swebench-4 can't be installed: ERROR: no swebench 4 here; a package index"
    ):
        tool_python(SPECS, tmp_path / "tools", told.append)
    assert "swebench-4" in told[0]
    assert [path.suffix for path in (tmp_path / "tools").iterdir()] == [".lock"]


def test_results_have_the_names_of_the_leaderboard_and_are_read_again(tmp_path: Path) -> None:
    from experepair.bench.evaluation.verdict import Judged

    judged = [
        Judged(instance_id=name, verdict=verdict) for name, verdict in zip("dcba", Verdict, strict=True)
    ]
    given = predictions(a="x", b="", c="y", d="z")
    write_reports(tmp_path, judged, given)
    assert json.loads((tmp_path / "results.json").read_text()) == results_of(judged) == {
        "resolved": ["d"], "unresolved": ["c"], "no_generation": ["b"], "no_logs": ["a"],
    }  # fmt: skip
    assert read_results(tmp_path / "results.json") == {"d"}
    report = json.loads((tmp_path / "logs" / "d" / "report.json").read_text())["d"]
    assert report["resolved"] is report["patch_successfully_applied"] is True
    assert (tmp_path / "logs" / "d" / "patch.diff").read_text() == "z"
    (tmp_path / "theirs.json").write_text('{"resolved_ids": ["x"], "total_instances": 5}')
    assert read_results(tmp_path / "theirs.json") == {"x"}
    (tmp_path / "wrong.json").write_text('{"resolved": 3}')
    with pytest.raises(UsageError, match="no list of resolved"):
        read_results(tmp_path / "wrong.json")
