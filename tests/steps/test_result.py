from __future__ import annotations

from pathlib import Path

from experepair.journal.entries import Executed, Intent, Replied, SentPart, Tokens
from experepair.steps.result import Result, Status
from experepair.steps.spending import spending


def test_every_field_and_status_of_the_result_is_documented() -> None:
    documented = (Path(__file__).parents[2] / "docs" / "result.md").read_text()
    schema = Result.model_json_schema()
    fields = [
        *schema["properties"],
        *(name for part in schema["$defs"].values() for name in part.get("properties", ())),
    ]
    missing = [
        name
        for name in (*fields, *Status)
        if f"`{name}`" not in documented and name not in ("out", "not_applied")
    ]
    assert not missing


def intent(call: str, role: str) -> Intent:
    return Intent(
        call=call,
        key="k",
        role=role,
        model="m:m",
        system=SentPart(name="system", text="", sha256=""),
        parts=(),
    )


def test_spending_is_summed_by_role_and_unknown_as_soon_as_one_price_is() -> None:
    usage = Tokens(input=100, output=10, cached=40)
    entries = (
        intent("1", "patch"), Replied(call="1", text="", usage=usage, cost_usd=0.5, latency_s=1.0),
        intent("2", "patch"), Replied(call="2", text="", usage=usage, cost_usd=0.25, latency_s=2.0),
        intent("3", "judge"), Replied(call="3", text="", usage=None, cost_usd=None),
        intent("4", "review"),
        Executed(key="e", purpose="", argv=(), duration_s=0.5),
    )  # fmt: skip
    spent = spending(entries)
    assert (spent.by_role["patch"].calls, spent.by_role["patch"].usd) == (2, 0.75)
    assert (spent.by_role["patch"].input_tokens, spent.by_role["patch"].cached_tokens) == (200, 80)
    assert spent.by_role["judge"].usd is None
    assert (spent.by_role["review"].calls, spent.by_role["review"].answered) == (1, 0)
    assert (spent.total.calls, spent.total.answered, spent.total.usd) == (4, 3, None)
    assert (spent.executions, spent.execution_s) == (1, 0.5)
