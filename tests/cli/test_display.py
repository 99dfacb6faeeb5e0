from __future__ import annotations

from io import StringIO

import pytest
from rich.console import Console

from experepair.cli.display import LiveDisplay, PlainDisplay, Tally, display, line
from experepair.journal.entries import (
    Attempt,
    CallFailed,
    Decided,
    Entry,
    Executed,
    Intent,
    Learned,
    Recalled,
    Replied,
    RunEnded,
    SentPart,
    StageEnded,
    StageStarted,
    Tokens,
    Tried,
)

INTENT = Intent(
    call="c1", key="k", role="patch", model="m", system=SentPart(name="system", text="", sha256=""), parts=()
)
ENTRIES: tuple[Entry, ...] = (
    StageStarted(stage="generate"),
    INTENT,
    Attempt(call="c1", number=1, error="429 too many requests", wait_s=2.0),
    Replied(call="c1", text="", usage=Tokens(input=100, output=20), cost_usd=0.5),
    Executed(key="e", purpose="", argv=()),
    Tried(agent="patch", number=1, name="P1.1", output="", feedback="\x1b[2Jit fails\nmore", succeeded=False),
    Tried(agent="patch", number=1, name="P1.2", output="", feedback="", succeeded=True),
    Decided(stage="generate", what="1 distinct of 2 candidates"),
    StageEnded(stage="generate"),
    CallFailed(call="c2", reason="gone"),
    Recalled(agent="patch", query="q", taken=("i1", "d1"), given={}),
    Recalled(agent="patch", query="q", taken=("i1", "d1")),
    Learned(new=True, demonstrations=("d2",), operations=("ADD as i2",), quarantined=True),
    Learned(new=False, failed="no insights were drawn: gone"),
    RunEnded(status="repaired"),
)


def test_plain_lines_tell_stages_trials_waits_and_the_end() -> None:
    said = StringIO()
    with PlainDisplay(Console(file=said, width=60)) as shown:
        for entry in ENTRIES:
            shown(entry)
    texts = [text.split("s ", 1)[1].strip() for text in said.getvalue().splitlines()]
    assert texts == [
        "generate …",
        "the model's provider: 429 too many requests; next attempt in 2 s",
        "P1.1 failed: \\x1b[2Jit fails",
        "P1.2 works",
        "1 distinct of 2 candidates",
        "generate: done",
        "a call failed: gone",
        "memory gives the patch agent 2 of its entries",
        "learned 1 demonstrations, 1 changes to insights; they wait to be accepted",
        "no insights were drawn: gone",
        "ended: repaired",
    ]


def test_the_live_panel_shows_stage_calls_under_way_and_cost() -> None:
    said = StringIO()
    console = Console(file=said, force_terminal=True, width=120)
    with LiveDisplay(console) as shown:
        shown(ENTRIES[0])
        shown(INTENT)
        console.print(shown)
        under_way = said.getvalue()
        shown(ENTRIES[3])
        console.print(shown)
    assert "generate  patch" in under_way
    assert "1 calls, 120 tokens, $0.5000, 0 executions" in said.getvalue()


def test_a_console_that_is_no_terminal_gets_plain_lines() -> None:
    assert isinstance(display(Console(file=StringIO())), PlainDisplay)
    assert isinstance(display(Console(file=StringIO(), force_terminal=True)), LiveDisplay)


def test_the_cost_is_unknown_as_soon_as_one_price_is() -> None:
    tally = Tally()
    for entry in (INTENT, Replied(call="c1", text="", cost_usd=None)):
        tally.add(entry)
    assert tally.in_flight == {}
    assert tally.facts == "1 calls, 0 tokens, cost unknown, 0 executions"


@pytest.mark.parametrize("entry", ENTRIES)
def test_no_line_is_long_or_holds_terminal_control(entry: Entry) -> None:
    text = line(entry) or ""
    assert "\x1b" not in text
    assert len(text) <= 300
