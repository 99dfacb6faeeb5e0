"""What a call costs: by the user's price, by the bundled table, or unknown; never guessed."""

from __future__ import annotations

import re
from typing import Protocol
from urllib.parse import urlsplit

from experepair.llm.config import Price
from experepair.llm.request import Usage


class Tariff(Protocol):
    """The price of one model."""

    version: str
    """Names the table, or says that the user gave the price."""

    def cost(self, usage: Usage) -> float:
        """US dollars."""
        ...


class GivenTariff:
    """A price that the user gave."""

    version = "given"

    def __init__(self, price: Price) -> None:
        self._price = price

    def cost(self, usage: Usage) -> float:
        """US dollars."""
        return (usage.input * self._price.input_usd + usage.output * self._price.output_usd) / 1_000_000


class TableTariff:
    """The bundled table's price of a model that it knows; make one with `tariff`."""

    def __init__(self, model: str, base_url: str) -> None:
        from genai_prices import __version__

        self.version = f"genai-prices {__version__}"
        self._model, self._base_url = model, base_url

    def cost(self, usage: Usage) -> float:
        """US dollars.

        Raises:
            LookupError: the table doesn't know the model at this URL.
        """
        import genai_prices

        counted = genai_prices.Usage(
            input_tokens=usage.input,
            output_tokens=usage.output,
            cache_read_tokens=usage.cached,
            cache_write_tokens=usage.cache_written,
        )
        price = genai_prices.calc_price(counted, self._model, provider_api_url=self._base_url)
        return float(price.total_price)


def tariff(model: str, base_url: str, given: Price | None) -> Tariff | None:
    """How calls of a model at a URL are priced; None when the price is unknown.

    A URL that isn't that of the provider itself has no known price, whatever the model is called there.
    """
    if given is not None:
        return GivenTariff(given)
    if not _is_providers_own(base_url):
        return None
    table = TableTariff(model, base_url)
    return table if cost_of(Usage(input=1, output=1), table) is not None else None


def cost_of(usage: Usage | None, prices: Tariff | None) -> float | None:
    """US dollars of a call; None when the price or the usage is unknown."""
    if usage is None or prices is None:
        return None
    try:
        return prices.cost(usage)
    except (LookupError, ValueError, ArithmeticError):
        return None  # counts that contradict each other, or a model renamed in between


def worst_case(input_tokens: int, output_tokens: int, prices: Tariff | None) -> float | None:
    """The most a call can cost: prompt tokens may be plain, or written to the cache, which can cost more."""
    plain = cost_of(Usage(input=input_tokens, output=output_tokens), prices)
    written = cost_of(Usage(input=input_tokens, output=output_tokens, cache_written=input_tokens), prices)
    known = [cost for cost in (plain, written) if cost is not None]
    return max(known, default=None)


def _is_providers_own(base_url: str) -> bool:
    """Whether the table has a provider with exactly this host; its patterns alone match prefixes of hosts."""
    from genai_prices.data_snapshot import get_snapshot

    try:
        url = urlsplit(base_url)
        provider = get_snapshot().find_provider(None, None, base_url)
    except (LookupError, ValueError):
        return False
    match = re.match(provider.api_pattern, base_url)
    return match is not None and match.end() >= len(f"{url.scheme}://{url.netloc}")
