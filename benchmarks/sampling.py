"""Cost and delay of both ways to ask for several samples, against a provider that caches prefixes.

    python benchmarks/sampling.py [--samples 4] [--rounds 3] [--prompt-tokens 20000]

The stub keeps a prompt once it has read it, if it is told to, bills cached tokens at a tenth and written ones
at a quarter more than plain ones (as Anthropic does), and takes time for each token that it has to read and for
each that it writes. Both ways are asked for the same prompts in the same run; their order alternates.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import threading
import time
from dataclasses import dataclass, field

from experepair.domain.roles import Role
from experepair.journal.entries import Replied
from experepair.journal.journal import Journal
from experepair.llm.config import ModelConfig, ModelsConfig, Price, Sampling
from experepair.llm.ledger import Ledger
from experepair.llm.request import Part, Prompt, Reply, Usage
from experepair.llm.roles import Models
from experepair.llm.stub import Answer, Asked, StubProvider

READ_S = 0.2 / 10_000
"""Seconds per prompt token that isn't cached."""
WRITE_S = 1.0 / 1_000
"""Seconds per generated token."""
OUTPUT_TOKENS = 800
INPUT_USD, CACHED_USD, WRITTEN_USD, OUTPUT_USD = 3.0, 0.3, 3.75, 15.0
"""Per million tokens."""


@dataclass
class CachingProvider:
    """Keeps a prompt that is marked for its cache from the moment it has read it."""

    known: set[str] = field(default_factory=set)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def answer(self, asked: Asked) -> Answer:
        """Read, remember, write."""
        tokens = len(asked.text) // 4
        marked = "cache_control" in asked.body["messages"][-1]["content"][-1]
        with self.lock:
            cached = asked.text in self.known
        if not cached:
            time.sleep(tokens * READ_S)
            if marked:
                with self.lock:
                    self.known.add(asked.text)
        usage = Usage(
            input=tokens,
            output=OUTPUT_TOKENS,
            cached=tokens if cached else 0,
            cache_written=tokens if marked and not cached else 0,
        )
        return Answer("ok", usage=usage, delay_s=OUTPUT_TOKENS * WRITE_S)


@dataclass
class Total:
    """What one way took."""

    usd: float = 0.0
    seconds: float = 0.0
    cached: int = 0
    input: int = 0


def bill(usage: Usage) -> float:
    """US dollars of one call."""
    plain = usage.input - usage.cached - usage.cache_written
    return (
        plain * INPUT_USD
        + usage.cached * CACHED_USD
        + usage.cache_written * WRITTEN_USD
        + usage.output * OUTPUT_USD
    ) / 1e6


async def ask(strategy: Sampling, number: int, samples: int, tokens: int, url: str, total: Total) -> None:
    """One prompt of its own, asked for all its samples."""
    config = ModelsConfig(
        default=ModelConfig(name="anthropic:claude-haiku-4-5", base_url=url, price=Price.parse("3/15")),
        sampling=strategy,
    )
    prompt = Prompt("Repair it.", (Part("issue", f"{strategy} {number} " + "word" * tokens),))
    journal = Journal.in_memory()
    async with Models.live(config, journal, Ledger()) as models:
        began = time.perf_counter()
        replies = await models.samples(Role.PATCH, prompt, samples)
        total.seconds += time.perf_counter() - began
    assert all(isinstance(reply, Reply) for reply in replies), replies
    for entry in journal.entries:
        if isinstance(entry, Replied) and entry.usage is not None:
            usage = Usage(**entry.usage.model_dump())
            total.usd += bill(usage)
            total.cached += usage.cached
            total.input += usage.input


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="Cost and delay of both ways to ask for several samples.")
    parser.add_argument("--samples", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--prompt-tokens", type=int, default=20_000)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    os.environ.setdefault("ANTHROPIC_API_KEY", "none is needed here")
    totals = {strategy: Total() for strategy in Sampling}
    with StubProvider(CachingProvider().answer) as stub:
        asyncio.run(ask(Sampling.PARALLEL, -1, 1, 10, stub.url, Total()))  # imports and connections
        for number in range(given.rounds):
            order = list(Sampling) if number % 2 else list(Sampling)[::-1]
            for strategy in order:
                asyncio.run(
                    ask(strategy, number, given.samples, given.prompt_tokens, stub.url, totals[strategy])
                )
    report(totals, given)


def report(totals: dict[Sampling, Total], given: argparse.Namespace) -> None:
    """A line for each way, then how they compare."""
    parallel, first = totals[Sampling.PARALLEL], totals[Sampling.FIRST_THEN_REST]
    ratios = {"cost": first.usd / parallel.usd, "delay": first.seconds / parallel.seconds}
    if given.json:
        print(json.dumps({**{name: vars(total) for name, total in totals.items()}, "ratios": ratios}))
        return
    print(f"{given.rounds} prompts of {given.prompt_tokens:,} tokens, {given.samples} samples each")
    for name, total in totals.items():
        each = total.seconds / given.rounds
        share = total.cached / total.input
        print(f"{name:16} {total.usd / given.rounds:8.4f} USD {each:6.2f} s a prompt, {share:4.0%} cached")
    print(f"first-then-rest / parallel: cost {ratios['cost']:.2f}, delay {ratios['delay']:.2f}")


if __name__ == "__main__":
    main()
