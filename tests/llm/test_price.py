"""Prices that are given, known, or unknown; never guessed."""

from __future__ import annotations

import pytest

from experepair.errors import UsageError
from experepair.llm.config import Price
from experepair.llm.price import cost_of, tariff, worst_case
from experepair.llm.request import Usage

MILLION = Usage(input=1_000_000, output=1_000_000)


def test_a_known_model_at_its_providers_url_has_the_tables_price() -> None:
    prices = tariff("gpt-4o", "https://api.openai.com/v1/", None)
    assert prices is not None
    assert prices.version.startswith("genai-prices ")
    assert prices.cost(MILLION) == pytest.approx(12.5)


@pytest.mark.parametrize(
    ("model", "url"),
    [
        ("nonesuch", "https://api.openai.com/v1"),
        ("gpt-4o", "http://localhost:8000/v1"),
        ("gpt-4o", "https://api.openai.com.evil.example/v1"),
        ("gpt-4o", "https://proxy.example/https://api.openai.com/v1"),
        ("gpt-4o", "http://["),
        ("gpt-4o", ""),
        ("", "https://api.openai.com/v1"),
    ],
)
def test_an_unknown_model_or_url_has_an_unknown_price(model: str, url: str) -> None:
    prices = tariff(model, url, None)
    assert prices is None
    assert cost_of(MILLION, prices) is None
    assert worst_case(10, 10, prices) is None


def test_a_given_price_overrides_the_table() -> None:
    prices = tariff("gpt-4o", "https://api.openai.com/v1", Price.parse("1/2"))
    assert prices is not None
    assert prices.version == "given"
    assert prices.cost(MILLION) == pytest.approx(3.0)


def test_cached_tokens_are_cheaper() -> None:
    prices = tariff("gpt-4o", "https://api.openai.com/v1", None)
    cached = cost_of(Usage(input=1_000_000, cached=900_000), prices)
    plain = cost_of(Usage(input=1_000_000), prices)
    assert cached is not None
    assert plain is not None
    assert cached < 0.6 * plain


def test_the_worst_case_includes_writing_the_cache() -> None:
    prices = tariff("claude-haiku-4-5", "https://api.anthropic.com", None)
    plain = cost_of(Usage(input=1000, output=1000), prices)
    worst = worst_case(1000, 1000, prices)
    assert plain is not None
    assert worst is not None
    assert worst > plain


def test_missing_or_contradictory_usage_has_no_cost() -> None:
    prices = tariff("claude-haiku-4-5", "https://api.anthropic.com", None)
    assert cost_of(None, prices) is None
    assert cost_of(Usage(input=10, cached=1_000), prices) is None
    assert cost_of(Usage(input=-10), prices) is None


@pytest.mark.parametrize("text", ["", "3", "3/", "/15", "3/15/2", "a/b", "-1/2", "nan/1", "inf/1", "3,5/2"])
def test_a_price_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="IN/OUT"):
        Price.parse(text)


def test_a_price_is_two_numbers_per_million_tokens() -> None:
    assert Price.parse("0.5/ 15") == Price(input_usd=0.5, output_usd=15)
