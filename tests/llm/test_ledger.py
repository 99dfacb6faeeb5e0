"""Caps that hold over parallel calls."""

from __future__ import annotations

import asyncio
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from experepair.errors import BudgetSpent, UsageError
from experepair.journal.entries import Attempt, CallFailed, Intent, Replied, SentPart, Tokens
from experepair.llm.ledger import Ledger

SYSTEM = SentPart(name="system", text="", sha256="")


def dice(seed: int) -> random.Random:
    return random.Random(seed)  # noqa: S311 - delays are no secret


def intent(call: str, usd: float | None = 1.0) -> Intent:
    return Intent(
        call=call,
        key=call,
        role="patch",
        model="m",
        system=SYSTEM,
        parts=(),
        worst_case_usd=usd,
        worst_case_tokens=100,
    )


async def spend(ledger: Ledger, worst: int, actual: int, rng: random.Random) -> bool:
    try:
        reservation = await ledger.reserve(worst / 100, worst)
    except BudgetSpent:
        return False
    await asyncio.sleep(rng.random() / 1000)
    ledger.settle(reservation, actual / 100, actual)
    return True


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 3_000), st.integers(0, 2**32))
def test_200_concurrent_calls_stay_within_the_cap(cap: int, seed: int) -> None:
    rng = dice(seed)
    ledger = Ledger(max_tokens=cap)

    async def run() -> list[bool]:
        worst = [rng.randint(1, 50) for _ in range(200)]
        return await asyncio.gather(*(spend(ledger, one, rng.randint(0, one), rng) for one in worst))

    asyncio.run(run())
    assert ledger.spent_tokens <= cap
    assert ledger.reserved_tokens == 0


def test_a_provider_that_counts_more_exceeds_the_cap_by_no_more_than_the_calls_in_flight() -> None:
    ledger = Ledger(max_cost_usd=1.0)
    rng = dice(7)

    async def run() -> list[bool]:
        return await asyncio.gather(*(spend(ledger, 10, 30, rng) for _ in range(200)))

    made = sum(asyncio.run(run()))
    assert made <= 10  # that many reservations of 0.10 fit into 1.00
    assert ledger.spent_usd <= 1.0 + made * 0.2 + 1e-9


def test_a_call_waits_for_reservations_of_others_instead_of_failing() -> None:
    ledger = Ledger(max_tokens=100)
    rng = dice(7)

    async def run() -> list[bool]:
        return await asyncio.gather(*(spend(ledger, 60, 10, rng) for _ in range(5)))

    assert asyncio.run(run()) == [True] * 5
    assert ledger.spent_tokens == 50


def test_a_call_that_waits_can_be_cancelled() -> None:
    ledger = Ledger(max_tokens=100)

    async def run() -> None:
        held = await ledger.reserve(None, 100)
        waiting = asyncio.create_task(ledger.reserve(None, 1))
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        ledger.settle(held, None, 0)

    asyncio.run(run())
    assert (ledger.spent_tokens, ledger.reserved_tokens) == (0, 0)


def test_a_spent_budget_names_what_is_spent_reserved_and_allowed() -> None:
    ledger = Ledger(max_cost_usd=2.0)

    async def run() -> None:
        ledger.settle(await ledger.reserve(1.5, 10), 1.5, 10)
        await ledger.reserve(0.25, 10)
        await ledger.reserve(0.75, 10)

    with pytest.raises(
        BudgetSpent, match=r"cap of 2 USD.*1\.5000 spent.*0\.2500 reserved.*0\.7500.*--max-cost"
    ):
        asyncio.run(run())


def test_a_cap_of_zero_allows_nothing_that_costs() -> None:
    ledger = Ledger(max_cost_usd=0.0)
    asyncio.run(ledger.reserve(0.0, 10))
    with pytest.raises(BudgetSpent):
        asyncio.run(ledger.reserve(0.01, 10))


def test_an_unknown_price_is_refused_under_a_cap_on_cost_alone() -> None:
    with pytest.raises(UsageError, match="--price"):
        asyncio.run(Ledger(max_cost_usd=1.0).reserve(None, 10))
    asyncio.run(Ledger(max_cost_usd=1.0, max_tokens=100).reserve(None, 10))


def test_a_second_settlement_does_nothing() -> None:
    ledger = Ledger()
    reservation = asyncio.run(ledger.reserve(1.0, 10))
    ledger.settle(reservation, 0.5, 5)
    ledger.settle(reservation, 1.0, 10)
    assert (ledger.spent_usd, ledger.spent_tokens) == (0.5, 5)


def test_a_journal_counts_answers_unanswered_intents_and_charged_attempts() -> None:
    ledger = Ledger()
    ledger.restore(
        [
            intent("answered"),
            Replied(call="answered", text="", usage=Tokens(input=10, output=5), cost_usd=0.1),
            intent("without usage"),
            Replied(call="without usage", text=""),
            intent("refused"),
            Attempt(call="refused", number=1, error="429", status=429),
            CallFailed(call="refused", reason="429", status=429),
            intent("timed out"),
            Attempt(call="timed out", number=1, error="time", charged=True),
            CallFailed(call="timed out", reason="time"),
            intent("replayed"),
            Replied(call="replayed", text="", usage=Tokens(input=10, output=5), cost_usd=0.1, replayed=True),
            intent("unpriced", usd=None),
            intent("cut off"),
        ]
    )
    assert ledger.spent_usd == pytest.approx(0.1 + 1 + 0 + 1 + 0 + 1)
    assert ledger.spent_tokens == 15 + 100 + 0 + 100 + 0 + 100 + 100
    assert ledger.unpriced_calls == 1
