from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import toy
import toy_bench
from experepair.bench.evaluation import run
from experepair.cli.app import app
from experepair.errors import UsageError


@pytest.fixture
def dataset(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The toy and a second instance, an environments file, and specs that need no package index."""
    mirror = toy_bench.mirror(tmp_path / "mirrors")
    commit = toy.git(mirror, "rev-parse", "HEAD").strip()
    toy_bench.specs(tmp_path / "specs")
    monkeypatch.setattr(run, "tool_python", lambda name, cache, tell: tmp_path / "specs" / "python")
    environments = {"*": {"python": sys.executable}}
    (tmp_path / "environments.json").write_text(json.dumps(environments))
    return toy_bench.write_rows(
        tmp_path / "rows.jsonl",
        toy_bench.row(commit),
        toy_bench.row(commit, instance_id="toys__toy-2"),
        toy_bench.row(commit, instance_id="toys__toy-3", language="Rust"),
    )


def ran(*words: str) -> tuple[int, str, str]:
    done = CliRunner().invoke(app, ["bench", "eval", *words, "--environments", "environments.json"])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.exit_code, done.stdout, done.stderr


def test_gold_patches_are_judged_counted_and_kept(dataset: Path) -> None:
    code, shown, said = ran("gold", str(dataset), "--mirrors", "mirrors", "--out", "out", "--jobs", "2")
    assert code == 0
    assert "toys__toy-1  resolved" in said
    assert "toys__toy-3 refused: its language is Rust" in said
    assert shown.splitlines()[-1].split() == ["all", "2", "2", "0", "0", "0"]
    assert json.loads(Path("out/results.json").read_text())["resolved"] == ["toys__toy-1", "toys__toy-2"]
    code, _, said = ran("gold", str(dataset), "--mirrors", "mirrors", "--out", "out")
    assert said.count("(judged before)") == 2


def test_predictions_are_judged_for_their_instances_only(dataset: Path, tmp_path: Path) -> None:
    path = tmp_path / "preds.json"
    path.write_text(json.dumps({"toys__toy-2": {"model_patch": ""}, "elsewhere": {"model_patch": "x"}}))
    code, shown, said = ran(str(path), str(dataset), "--mirrors", "mirrors", "--json")
    assert code == 0
    assert "1 of 2 instances have no prediction" in said
    [judged] = json.loads(shown)
    assert (judged["instance_id"], judged["verdict"]) == ("toys__toy-2", "empty")


def test_what_cannot_be_meant_is_an_error(dataset: Path, tmp_path: Path) -> None:
    (tmp_path / "preds.json").write_text(json.dumps([{"instance_id": "elsewhere", "model_patch": "x"}]))
    with pytest.raises(UsageError, match="no prediction for an instance"):
        ran("preds.json", str(dataset))
    with pytest.raises(UsageError, match="--sandbox 'jail' is none of"):
        ran("gold", str(dataset), "--sandbox", "jail")
    with pytest.raises(UsageError, match="can't read the survey"):
        ran("gold", str(dataset), "--survey", "absent.json")


def test_the_official_harness_is_asked_without_an_environments_file(dataset: Path) -> None:
    done = CliRunner().invoke(app, ["bench", "eval", "gold", str(dataset)])
    assert isinstance(done.exception, UsageError)
    assert "needs the columns image" in str(done.exception)
    done = CliRunner().invoke(app, ["bench", "eval", "empty", str(dataset)])
    assert "runs no empty patches" in str(done.exception)
