from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import toy
import toy_bench
from experepair.bench.campaign.arms import Arm
from experepair.bench.campaign.run import Asked, run
from experepair.bench.campaign.work import Work
from experepair.bench.dataset import load
from experepair.bench.metrics.scripts import read_shown
from experepair.llm.model import Model, ScriptedModel

CANARY = "canary-in-the-sealed-part"


def test_nothing_sealed_reaches_a_request_a_journal_or_a_tree_of_a_campaign_though_scripts_are_run_with_the_fix(
    tmp_path: Path,
) -> None:
    mirror = toy_bench.mirror(tmp_path / "mirrors")
    base = toy.git(mirror, "rev-parse", "HEAD").strip()
    fixed = f"if values else 0.0  # {CANARY}-patch"
    row = toy_bench.row(
        base,
        patch=toy_bench.PATCH.replace("if values else 0.0", fixed),
        test_patch=f"{toy_bench.TEST_PATCH}+# {CANARY}-test-patch\n",
        FAIL_TO_PASS=[f"{CANARY}-fail-to-pass"],
        PASS_TO_PASS=[f"{CANARY}-pass-to-pass"],
        hints_text=f"{CANARY}-hints",
    )
    rows = toy_bench.write_rows(tmp_path / "rows.jsonl", row)
    models: list[ScriptedModel] = []

    def scripted(work: Work) -> Model:
        assert CANARY not in repr(work)
        models.append(toy.model())
        return models[-1]

    asked = Asked(
        str(rows), tmp_path / "campaign", mirrors=tmp_path / "mirrors", settings={"python": sys.executable}
    )
    run(replace(asked, arms=(Arm.FULL, Arm.NO_MEMORY)), replay=scripted)
    assert CANARY in load(str(rows)).answers["toys__toy-1"].patch
    shown = read_shown(tmp_path / "campaign/inference/full/runs/toys__toy-1")
    assert shown is not None
    assert shown.reproduces, "the script was run with the fix"
    requests = [request for model in models for request in model.asked]
    assert requests
    assert not [request for request in requests if CANARY in repr(request)]
    searched = [
        path for place in ("campaign", "cache") for path in (tmp_path / place).rglob("*") if path.is_file()
    ]
    assert searched
    assert not [path for path in searched if CANARY.encode() in path.read_bytes() or CANARY in path.name]
