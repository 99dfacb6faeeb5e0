from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import toy
import toy_bench
from experepair.bench.campaign.arms import Arm
from experepair.bench.campaign.progress import Progress
from experepair.bench.campaign.run import Asked, run
from experepair.bench.campaign.state import Folder, Order, Phase, State, read_outcome
from experepair.bench.predictions import read_predictions
from experepair.domain.roles import Role
from experepair.errors import UsageError
from experepair.journal.entries import Executed, Intent, Recalled, Replied
from experepair.journal.reading import read_journal
from experepair.llm.model import Model, ScriptedModel
from experepair.llm.request import Request
from experepair.memory.store import Store

SCOPE = "github.com/toys/toy"


@pytest.fixture
def asked(tmp_path: Path) -> Asked:
    """Three issues of one repository, in time order."""
    mirror = toy_bench.mirror(tmp_path / "mirrors")
    base = toy.git(mirror, "rev-parse", "HEAD").strip()
    rows = [
        toy_bench.row(
            base,
            instance_id=f"toys__toy-{number}",
            created_at=f"2024-05-0{number}T00:00:00Z",
            problem_statement=f"{toy.ISSUE}\nSeen {WORDS[number]}.\n",
        )
        for number in (3, 1, 2)
    ]
    dataset = toy_bench.write_rows(tmp_path / "rows.jsonl", *rows)
    settings = {"python": sys.executable, "repair": {"existing_tests": 0}}
    return Asked(str(dataset), tmp_path / "campaign", mirrors=tmp_path / "mirrors", settings=settings)


WORDS = {
    1: "while averaging the marks of a school class that nobody attends since the holidays began there",
    2: "by a colleague whose sensors sent not one measurement through all of last Tuesday's long outage",
    3: "in the nightly report about orders, on the rare days when the shop sells nothing to anyone at all",
}
"""So different that no issue is a near-duplicate of another."""


def scripted(work: object) -> Model:
    del work
    return toy.model()


def runs(campaign: Path, line: str, phase: str = "inference") -> list[Path]:
    return sorted((campaign / phase / line / "runs").iterdir())


def test_issues_are_repaired_in_time_order_each_with_what_the_earlier_ones_taught(asked: Asked) -> None:
    progress = run(asked, replay=scripted)
    assert (progress.left, progress.failed, progress.stopped) == (0, [], "")
    folders = runs(asked.out, "full")
    assert [path.name for path in folders] == ["toys__toy-1", "toys__toy-2", "toys__toy-3"]
    entries = [read_journal(path / "journal.jsonl") for path in folders]
    assert [journal[-1].at for journal in entries] == sorted(journal[-1].at for journal in entries)
    issues = [
        {one["issue_id"] for entry in journal if isinstance(entry, Recalled) and entry.given
         for one in entry.given["demonstrations"]}
        for journal in entries
    ]  # fmt: skip
    assert issues[0] == set()
    assert issues[1] == {"toys__toy-1"}
    assert issues[2] == {"toys__toy-1", "toys__toy-2"}
    with Store.open(str(asked.out / "inference/full/memory.db")) as store:
        assert sum(store.stats(SCOPE).lessons.values()) == 3
