"""Several replies to one prompt."""

from __future__ import annotations

import asyncio

from experepair.domain.roles import Role
from experepair.errors import BudgetSpent, ExpeRepairError, ProviderError
from experepair.llm.config import Sampling
from experepair.llm.model import Model
from experepair.llm.request import Prompt, Reply, Request

Sampled = Reply | ExpeRepairError
"""What became of one sample: its reply, or the ProviderError or BudgetSpent in its place."""


async def samples(
    model: Model, role: Role, prompt: Prompt, n: int, *, strategy: Sampling = Sampling.PARALLEL
) -> list[Sampled]:
    """Ask n times for one prompt; a sample that fails, or that the budget forbids, doesn't lose the others.

    Args:
        model: should be journalled, so that samples are told apart and paid for.
        role: whom the replies serve.
        prompt: the same for all samples.
        n: how many.
        strategy: all at once, or the first alone so that the others find the prompt in the provider's cache.

    Returns:
        For each sample, in order, its reply, or why there is none.

    Raises:
        ExpeRepairError: what no sample could survive, a ReplayMiss or a full disk for example.
    """

    async def sample(number: int) -> Sampled:
        try:
            return await model.reply(Request(role, prompt, number, n))
        except (ProviderError, BudgetSpent) as error:
            return error

    alone = 1 if strategy is Sampling.FIRST_THEN_REST else 0
    first = [await sample(number) for number in range(min(alone, n))]
    rest = [asyncio.create_task(sample(number)) for number in range(len(first), n)]
    try:
        return [*first, *await asyncio.gather(*rest)]
    except BaseException:
        for task in rest:
            task.cancel()
        await asyncio.gather(*rest, return_exceptions=True)
        raise
