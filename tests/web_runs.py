"""Runs and campaigns for tests of the viewer: a real repair of the toy repository, and folders made of it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from experepair.bench.campaign.arms import Arm
from experepair.bench.campaign.state import CAMPAIGN, OUTCOME, RUNS, Campaign, Order, Outcome, Phase, State
from experepair.domain.issue import Issue
from experepair.domain.memory import Demonstration, Failure, Insight, Origin
from experepair.domain.roles import Agent
from experepair.journal import entries
from experepair.journal.journal import Journal
from experepair.llm.recording import sent_part

SCOPE = "example.org/shop"
HOSTILE = (
    '<script>window.hacked = 1</script><img src=x onerror="window.hacked = 2"> {{ 7 * 7 }} \u202eevil\n\n'
    "</div></main>\"><svg onload=window.hacked=3> & 'quotes' \x1b[31m \ud800"
)
DIFF = """diff --git a/shop/cart.py b/shop/cart.py
--- a/shop/cart.py
+++ b/shop/cart.py
@@ -1,4 +1,6 @@
 def total(cart):
     \"\"\"Sum of all prices.\"\"\"
-    return sum(item.price for item in cart) / len(cart)
+    if not cart:
+        return 0
+    return sum(item.price for item in cart)
 # what a cart costs
"""
OTHER = DIFF.replace("        return 0\n", "        return 0.0\n")
SCRIPT = "def test_total_of_nothing():\n    from shop.cart import total\n\n    assert total([]) == 0\n"
INSIGHT = Insight("i-1", 1, "Ask what an empty collection should give before dividing by its length.", 3)
DEMONSTRATION = Demonstration(
    "example.org/shop/17/tuple",
    Agent.PATCH,
    "shop-17",
    "Average of an empty basket raises ZeroDivisionError\n\nIt should be 0.",
    DIFF.replace("cart", "basket"),
    Failure(DIFF.replace("cart", "basket").replace("if not", "if"), "FAIL test_average: ZeroDivisionError"),
    Origin.VALIDATED,
    run_id="run-17",
    commit="c0ffee0",
    paths=("shop/basket.py",),
)


def write_run(
    folder: Path,
    *,
    text: str = "Total of an empty cart\n\nIt raises.",
    run_id: str = "run-1",
    ended: bool = True,
) -> Journal:
    """A run as a repair leaves it; its journal stays open, so that it looks alive until it is closed."""
    folder.mkdir(parents=True, exist_ok=True)
    journal = Journal.create(folder / "journal.jsonl")
    journal.append(
        entries.RunStarted(
            run_id=run_id,
            experepair="0.1",
            repository=SCOPE,
            commit="0123456789abcdef",
            issue_id="shop-21",
            issue=text,
        )
    )
    journal.append(entries.StageStarted(stage="reproduce and localize"))
    call(journal, "reproduce", 0, f"```python\n{SCRIPT}```")
    journal.append(
        entries.Executed(
            key="k1",
            purpose="script S1",
            argv=("python", "s1.py"),
            exit_code=1,
            stdout="FAIL\n",
            duration_s=0.01,
        )
    )
    journal.append(
        entries.Tried(agent="test", number=1, name="S1", output=SCRIPT, feedback="FAIL", succeeded=True)
    )
    journal.append(entries.StageEnded(stage="reproduce and localize"))
    journal.append(entries.StageStarted(stage="generate"))
    remembered = sent_part_of("memory", f"{INSIGHT.text}\n{DEMONSTRATION.success}")
    journal.append(
        entries.Recalled(
            agent="patch",
            query="q1",
            considered=3,
            taken=(INSIGHT.id, DEMONSTRATION.id),
            data={"taken": [{"id": DEMONSTRATION.id, "score": 0.82}]},
            parts={remembered.sha256: (INSIGHT.id, DEMONSTRATION.id)},
            given={
                "insights": TypeAdapter(list[Insight]).dump_python([INSIGHT], mode="json"),
                "demonstrations": TypeAdapter(list[Demonstration]).dump_python([DEMONSTRATION], mode="json"),
            },
        )
    )
    if ended:
        finish(folder, journal, text, run_id)
    return journal


def finish(folder: Path, journal: Journal, text: str, run_id: str = "run-1") -> None:
    """The rest of the run, and its result."""
    remembered = sent_part_of("memory", f"{INSIGHT.text}\n{DEMONSTRATION.success}")
    for sample in range(2):
        call(journal, "patch", sample, f"<applied>1</applied> {sample}", remembered)
    journal.append(entries.Applied(agent="patch", where="P1.1", ids=(INSIGHT.id,)))
    for name, diff in (("P1.1", DIFF), ("P1.2", OTHER)):
        journal.append(
            entries.Tried(
                agent="patch", number=1, name=name, output=diff, feedback="1 passed", succeeded=True
            )
        )
    journal.append(entries.StageEnded(stage="generate"))
    journal.append(entries.StageStarted(stage="review"))
    call(journal, "review", 0, "P1.1 keeps whole numbers whole.")
    journal.append(
        entries.Decided(
            stage="review", what="P1.1 of P1.1, P1.2", data={"reasons": "P1.1 keeps whole numbers whole."}
        )
    )
    journal.append(entries.StageEnded(stage="review"))
    (folder / "result.json").write_text(json.dumps(result(text, run_id)))
    (folder / "patch.diff").write_text(DIFF)
    journal.append(entries.RunEnded(status="repaired"))


def call(journal: Journal, role: str, sample: int, reply: str, *more: entries.SentPart) -> None:
    """One answered call."""
    name = f"{role}-{sample}"
    journal.append(
        entries.Intent(
            call=name,
            key=name,
            role=role,
            sample=sample,
            model="openai:model",
            system=sent_part_of("system", "You repair code."),
            parts=(sent_part_of("issue", "the issue"), *more, sent_part_of("task", "Repair it.")),
        )
    )
    journal.append(entries.Attempt(call=name, number=1))
    usage = entries.Tokens(input=1200, output=80, cached=400)
    journal.append(
        entries.Replied(call=name, text=reply, usage=usage, cost_usd=0.0042, latency_s=1.5, model="model")
    )


def sent_part_of(name: str, text: str) -> entries.SentPart:
    """A part as it was sent."""
    from experepair.llm.request import Part

    return sent_part(Part(name, text))


def result(
    text: str = "Total of an empty cart", run_id: str = "run-1", status: str = "repaired", diff: str = DIFF
) -> dict[str, Any]:
    """What a repair publishes."""
    title = Issue("", "", text).title.encode("utf-8", "backslashreplace").decode()
    good = status == "repaired"
    return {
        "schema_version": 1,
        "experepair": "0.1",
        "run_id": run_id,
        "status": status,
        "issue": {"id": "shop-21", "title": title, "repository": SCOPE},
        "commit": "0123456789abcdef",
        "patch": {
            "name": "P1.1",
            "paths": ["shop/cart.py"],
            "lines_changed": 4,
            "diff": diff,
            "reasons": "P1.1 keeps whole numbers whole.",
        }
        if good
        else None,
        "reproduction": {
            "name": "S1",
            "existing_test": False,
            "trials": 1,
            "cases": ["test_total_of_nothing"],
            "failed_before": ["test_total_of_nothing"],
            "source": SCRIPT,
            "output_before": "FAIL test_total_of_nothing: ZeroDivisionError",
            "reasons": "It shows the failure.",
        },
        "places": {
            "ranked": [],
            "confidence": 0.5,
            "notes": [],
            "files": ["shop/cart.py"],
            "spans": ["shop/cart.py:1-3 total"],
        },
        "candidates": [
            {"name": name, "passed": good, "parent": None, "diff": each, "feedback": "1 passed"}
            for name, each in (("P1.1", DIFF), ("P1.2", OTHER))
        ],
        "table": {
            "header": [
                "candidate",
                "reproduction",
                "existing tests",
                "V1::test_whole_numbers_stay",
                "lines changed",
            ],
            "rows": [
                ["untouched", "FAIL", "", "FAIL", ""],
                ["P1.1", "pass", "12 compared, 0 broken", "pass", "4"],
                ["P1.2", "pass", "12 compared, 0 broken", "FAIL", "4"],
            ],
            "set_aside": [],
        },
        "existing_tests": ["tests/test_cart.py"],
        "spending": {
            "total": {
                "calls": 4,
                "answered": 4,
                "input_tokens": 4800,
                "output_tokens": 320,
                "usd": 0.0168,
                "latency_s": 6.0,
            }
        },
        "sandbox": "bubblewrap",
        "elapsed_s": 7.0,
    }


def campaign_folder(root: Path, issues: int) -> None:
    """A campaign of two arms, as far along as its newest issue, which still waits."""
    names = tuple(f"demo__demo-{number}" for number in range(issues))
    campaign = Campaign(
        dataset="demo.jsonl",
        instances=names,
        statements="",
        arms=(Arm.FULL, Arm.NO_MEMORY),
        order=Order.ONLINE,
        created="2026-11-21T00:00:00+00:00",
    )
    root.mkdir(parents=True)
    (root / CAMPAIGN).write_text(campaign.model_dump_json())
    model = root.parent / f"{root.name}-model"
    write_run(model).close()
    for line, every in (("full", 3), ("no-memory", 2)):
        for number, name in enumerate(names[:-1]):
            run = root / Phase.INFERENCE / line / RUNS / name
            shutil.copytree(model, run)
            status = "unresolved" if number % every == 1 else "repaired"
            (run / "result.json").write_text(json.dumps(result(run_id=f"{line}-{number}", status=status)))
            (run / OUTCOME).write_text(
                Outcome(instance_id=name, state=State.DONE, status=status).model_dump_json()
            )
    shutil.rmtree(model)
