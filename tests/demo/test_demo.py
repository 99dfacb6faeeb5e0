"""The demo replays anywhere. `make test` has fetched its package; nothing here uses a network."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from experepair.demo import bug
from experepair.folders import cache_folder
from experepair.steps.result import Result, Status


@pytest.fixture(params=["here", "a longer folder, elsewhere"])
def elsewhere(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A working folder whose cache holds the fetched package."""
    fetched = cache_folder() / "demo"
    assert (fetched / "boltons").is_dir(), "not fetched: run `experepair demo --prepare` (make test does)"
    folder = tmp_path / str(request.param)
    shutil.copytree(fetched, folder / "cache" / "experepair" / "demo", symlinks=True)
    return folder


def test_the_demo_repairs_a_real_bug_from_any_folder_without_a_miss(elsewhere: Path) -> None:
    environment = {**os.environ, "XDG_CACHE_HOME": str(elsewhere / "cache"), "COLUMNS": "100"}
    command = [sys.executable, "-m", "experepair", "demo", "--out", "out"]
    done = subprocess.run(
        command, cwd=elsewhere, env=environment, capture_output=True, check=False, text=True
    )
    assert done.returncode == 0, done.stderr
    before, after = (
        line for line in done.stdout.splitlines() if "with the patch" in line or "without the" in line
    )
    assert "4 failed" in before
    assert "5 passed" in after
    assert "failed" not in after
    result = Result.model_validate_json((elsewhere / "out" / "result.json").read_text())
    assert result.status is Status.REPAIRED
    assert result.spending.executions > 10
    entries = [json.loads(line) for line in (elsewhere / "out" / "journal.jsonl").read_text().splitlines()]
    assert all(entry["replayed"] for entry in entries if entry["kind"] == "replied")


def test_the_committed_journal_holds_hashes_in_the_place_of_prompts_and_nothing_of_the_machine() -> None:
    text = bug.resource(bug.JOURNAL).read_text("utf-8")
    entries = [json.loads(line) for line in text.splitlines()]
    sent = [
        part for entry in entries if entry["kind"] == "intent" for part in (entry["system"], *entry["parts"])
    ]
    assert sent
    assert all(part["text"] is None and len(part["sha256"]) == 64 for part in sent)
    assert not {entry["kind"] for entry in entries} & {"executed", "decided", "tried", "recalled"}
    assert "/work/" not in text
    assert "/home/" not in text


def test_every_journal_in_the_tree_is_used() -> None:
    root = Path(__file__).parents[2]
    listed = subprocess.run(
        ["git", "ls-files", "*.jsonl"], cwd=root, capture_output=True, check=True, text=True
    )
    assert set(listed.stdout.split()) <= {"src/experepair/demo/journal.jsonl"}
