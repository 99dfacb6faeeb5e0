"""The demo replays anywhere. `make test` has fetched its package; nothing here uses a network."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from experepair.demo.bugs import DATES, PLACEHOLDERS, Bug
from experepair.demo.effort import Effort
from experepair.folders import cache_folder
from experepair.journal.entries import Intent, Replied
from experepair.journal.reading import read_journal
from experepair.steps.result import Result, Status

JOURNALS = (DATES.journal, PLACEHOLDERS.journal, PLACEHOLDERS.journal_without_memory)


@dataclass(frozen=True)
class Ran:
    """The demo, run once."""

    out: Path
    printed: str

    def result(self, bug: Bug) -> Result:
        return Result.model_validate_json((self.out / bug.name / "result.json").read_text())


@pytest.fixture(scope="module", params=["here", "a longer folder, elsewhere"])
def ran(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Ran:
    """The demo in a working folder whose cache holds the fetched package."""
    fetched = cache_folder() / "demo"
    assert (fetched / "boltons").is_dir(), "not fetched: run `experepair demo --prepare` (make test does)"
    folder = tmp_path_factory.mktemp("demo") / str(request.param)
    shutil.copytree(fetched, folder / "cache" / "experepair" / "demo", symlinks=True)
    environment = {**os.environ, "XDG_CACHE_HOME": str(folder / "cache"), "COLUMNS": "200"}
    command = [sys.executable, "-m", "experepair", "demo", "--out", "out"]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, check=False, text=True)
    assert done.returncode == 0, done.stderr
    return Ran(folder / "out", done.stdout)


def test_the_demo_repairs_two_real_bugs_from_any_folder_without_a_miss(ran: Ran) -> None:
    lines = ran.printed.splitlines()
    judged = [line for line in lines if "with the patch" in line or "without the" in line]
    assert ["failed" in line for line in judged] == [True, False, True, False]
    assert "5 passed" in judged[1]
    for bug in (DATES, PLACEHOLDERS):
        assert ran.result(bug).status is Status.REPAIRED
        assert ran.result(bug).spending.executions > 10
        entries = read_journal(ran.out / bug.name / "journal.jsonl")
        assert all(entry.replayed for entry in entries if isinstance(entry, Replied))


def test_the_second_repair_remembers_the_first(ran: Ran) -> None:
    memory = ran.result(PLACEHOLDERS).memory
    assert memory is not None
    assert "insight" in {one.kind for one in memory.remembered}
    assert all(one.prompts for one in memory.remembered)
    assert "What it remembered" in ran.printed
    for journal in (PLACEHOLDERS.journal_without_memory, PLACEHOLDERS.journal):
        assert f"{Effort.of(read_journal(journal)).tokens:,}" in ran.printed


def test_the_effort_of_a_repair_leaves_out_the_summary_for_memory() -> None:
    entries = read_journal(PLACEHOLDERS.journal)
    roles = [entry.role for entry in entries if isinstance(entry, Intent)]
    effort = Effort.of(entries)
    assert effort.calls == len(roles) - roles.count("summarize")
    assert effort.scripts == roles.count("reproduce") >= 1
    assert effort.rounds == 1


@pytest.mark.parametrize("journal", JOURNALS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_committed_journal_holds_hashes_in_the_place_of_prompts_and_nothing_of_the_machine(
    journal: Path,
) -> None:
    text = journal.read_text("utf-8")
    entries = [json.loads(line) for line in text.splitlines()]
    sent = [
        part for entry in entries if entry["kind"] == "intent" for part in (entry["system"], *entry["parts"])
    ]
    assert sent
    assert all(part["text"] is None and len(part["sha256"]) == 64 for part in sent)
    assert not {entry["kind"] for entry in entries} & {"executed", "decided", "tried", "recalled", "learned"}
    assert "/work/" not in text
    assert "/home/" not in text


def test_every_journal_in_the_tree_is_used() -> None:
    root = Path(__file__).parents[2]
    listed = subprocess.run(
        ["git", "ls-files", "src/*.jsonl"], cwd=root, capture_output=True, check=True, text=True
    )
    assert {root / path for path in listed.stdout.split()} <= set(JOURNALS)
