"""The models of a run, by role: what the steps of a repair ask."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from experepair.domain.roles import Role
from experepair.errors import UsageError
from experepair.journal.journal import Journal
from experepair.llm.config import ModelConfig, ModelsConfig, RetryPolicy, Sampling
from experepair.llm.journalled import JournalledModel, Mode
from experepair.llm.ledger import Ledger
from experepair.llm.manual import NAME as MANUAL
from experepair.llm.manual import ManualModel
from experepair.llm.model import Model, ScriptedModel
from experepair.llm.provider import ProviderModel
from experepair.llm.request import Prompt, Reply, Request
from experepair.llm.sampling import Sampled, samples

_PATIENCE_S = 30 * 24 * 3600.0


class Models:
    """Answers by role.

    Make one with `live`, `of` or `scripted`. As an async context manager it keeps connections to providers
    open between calls.

    Args:
        by_role: a model for each role.
        sampling: how several samples of one prompt are asked for.
    """

    def __init__(self, by_role: Mapping[Role, Model], sampling: Sampling = Sampling.PARALLEL) -> None:
        self._by_role, self._sampling = dict(by_role), sampling
        self._connections: Sequence[ProviderModel] = ()
        self._open = contextlib.AsyncExitStack()

    @classmethod
    def live(
        cls,
        config: ModelsConfig,
        journal: Journal,
        ledger: Ledger,
        *,
        replay: Model | None = None,
        manual_folder: Path | None = None,
        on_prompt: Callable[[Path], object] | None = None,
        seed: int | None = None,
    ) -> Models:
        """Models as configured, journalled and paid from the ledger.

        Args:
            config: which model serves which role.
            journal: of the run; replies that it holds are not asked for again.
            ledger: of the run, with what the journal says was spent (`Ledger.restore`).
            replay: answers in the place of every configured model (a ReplayModel, say), which then needs no key.
            manual_folder: where prompts and replies go for the model "manual".
            on_prompt: told the path of each prompt that waits for a reply by hand.
            seed: of the jitter in pauses; None means a different one each time.

        Raises:
            UsageError: a model can't be used as configured; nothing has been called yet.
        """
        rng = random.Random(seed)  # noqa: S311 - jitter is no secret
        made: dict[ModelConfig, Model] = {}
        by_role: dict[Role, Model] = {}
        for role in Role:
            wanted = config.for_role(role)
            if replay is not None:
                behind, retry = replay, config.retry
            elif wanted.name == MANUAL:
                if manual_folder is None:
                    raise UsageError("the model 'manual' needs a folder for prompts and replies")
                behind = made.setdefault(wanted, ManualModel(manual_folder, on_prompt))
                retry = RetryPolicy(attempts=1, attempt_s=_PATIENCE_S, deadline_s=_PATIENCE_S)
            else:
                if wanted not in made:
                    made[wanted] = ProviderModel(
                        wanted, sampling=config.sampling, call_s=config.retry.attempt_s
                    )
                behind, retry = made[wanted], config.retry
            by_role[role] = JournalledModel(behind, journal, ledger, Mode.LIVE, retry=retry, rng=rng)
        models = cls(by_role, config.sampling)
        models._connections = [model for model in made.values() if isinstance(model, ProviderModel)]
        return models

    @classmethod
    def of(cls, model: Model, sampling: Sampling = Sampling.PARALLEL) -> Models:
        """One model for every role, asked as it is: no journal, no budget."""
        return cls(dict.fromkeys(Role, model), sampling)

    @classmethod
    def scripted(cls, model: ScriptedModel) -> Models:
        """A scripted model for every role; it remembers what it was asked."""
        return cls.of(model)

    async def reply(self, role: Role, prompt: Prompt) -> Reply:
        """One reply.

        Raises:
            ProviderError: no usable answer could be had.
            BudgetSpent: the call could exceed a cap.
            ReplayMiss: when replaying, the journal holds no reply.
        """
        return await self._by_role[role].reply(Request(role, prompt))

    async def samples(self, role: Role, prompt: Prompt, n: int) -> list[Sampled]:
        """For each of n samples its reply, or the ProviderError or BudgetSpent in its place.

        Raises:
            ReplayMiss: when replaying, the journal holds no reply.
        """
        return await samples(self._by_role[role], role, prompt, n, strategy=self._sampling)

    async def __aenter__(self) -> Models:
        for connection in self._connections:
            await self._open.enter_async_context(connection)
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self._open.aclose()


def check_affordable(config: ModelsConfig) -> list[str]:
    """Whether caps can be kept with what is known of prices. Makes the models, but calls nothing.

    Returns:
        Warnings: for each model without a known price, that its cost will not be known.

    Raises:
        UsageError: a model can't be used, or there is a cap on cost, none on tokens, and an unknown price.
    """
    asked = {config.for_role(role).model_copy(update={"temperature": None}) for role in Role}
    unpriced = sorted({one.name for one in asked if one.name != MANUAL and ProviderModel(one).tariff is None})
    if unpriced and config.max_cost_usd is not None and config.max_tokens is None:
        raise UsageError(
            f"the cost can't be kept below {config.max_cost_usd:g} USD: the price of {', '.join(unpriced)} is "
            "unknown; give it with --price IN/OUT (US dollars per million tokens), or cap tokens with --max-tokens"
        )
    return [
        f"the price of {name} is unknown: its cost will not be known, tokens are counted; "
        "give it with --price IN/OUT"
        for name in unpriced
    ]
