"""Which model serves which role, and within which limits."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from pydantic import BaseModel, Field

from experepair.domain.roles import Role
from experepair.errors import UsageError


class Price(BaseModel, frozen=True, extra="forbid"):
    """A price that the user gave; cached prompt tokens count as others."""

    input_usd: float = Field(ge=0, allow_inf_nan=False)
    """US dollars per million prompt tokens; 0 means free."""
    output_usd: float = Field(ge=0, allow_inf_nan=False)
    """US dollars per million generated tokens; 0 means free."""

    @classmethod
    def parse(cls, text: str) -> Price:
        """Read "IN/OUT".

        Raises:
            UsageError: it isn't two numbers, or one is negative.
        """
        try:
            given_in, given_out = text.split("/")
            return cls(input_usd=float(given_in), output_usd=float(given_out))
        except ValueError as error:
            raise UsageError(
                f"the price {text!r} isn't IN/OUT, two numbers in US dollars per million tokens, as in 3/15"
            ) from error


class ModelConfig(BaseModel, frozen=True, extra="forbid"):
    """One model of one provider. Keys are no part of it: they come from the environment."""

    name: str = Field(min_length=1)
    """"provider:name", as in "anthropic:claude-sonnet-5-5"; "manual" waits for replies in files."""
    base_url: str | None = None
    """Where an API compatible with the provider's is served; None means the provider's own."""
    temperature: float | None = Field(default=None, ge=0, le=2)
    """0 to 2; None means that of `ModelsConfig.temperatures`, or else the provider's default."""
    max_output_tokens: int = Field(default=0, ge=0)
    """Most tokens of a reply; 0 means 8,192, or 32,768 for a model that reasons."""
    context_window: int = Field(default=0, ge=0)
    """Most tokens of prompt and reply together; 0 means what is known of the model, else 128,000."""
    price: Price | None = None
    """Overrides the price table; None means the table, where a model or a base URL may be unknown."""


class Sampling(StrEnum):
    """How several samples of one prompt are asked for."""

    PARALLEL = "parallel"
    """All at once: quickest."""
    FIRST_THEN_REST = "first-then-rest"
    """One, then the others at once, so that they find the prompt in the provider's cache: cheapest."""


class RetryPolicy(BaseModel, frozen=True, extra="forbid"):
    """How often and how long one call is tried."""

    attempts: int = Field(default=6, ge=1)
    """Most attempts at one call, the first included."""
    garbled_attempts: int = Field(default=3, ge=1)
    """Most attempts when the answers are no answers (a page instead of JSON, an empty choice list)."""
    first_wait_s: float = Field(default=1.0, ge=0)
    """Longest first pause in seconds; it doubles with every attempt. 0 means no pauses but those asked for."""
    max_wait_s: float = Field(default=60.0, ge=0)
    """Longest pause in seconds, unless the provider asks for a longer one."""
    attempt_s: float = Field(default=600.0, gt=0)
    """Longest single attempt in seconds."""
    deadline_s: float = Field(default=1200.0, gt=0)
    """When a call is given up, in seconds after it began, pauses included."""
    unreachable_s: float = Field(default=10.0, ge=0)
    """How long a provider is tried that can't be connected to, in seconds; 0 means once."""


class ModelsConfig(BaseModel, frozen=True, extra="forbid"):
    """The models of a run."""

    default: ModelConfig
    """Serves every role that has none of its own."""
    roles: Mapping[Role, ModelConfig] = {}
    """Models of single roles; nothing is inherited from `default`."""
    temperatures: Mapping[Role, float] = {
        Role.PATCH: 0.8,
        Role.REFINE: 0.8,
        Role.JUDGE: 0.0,
        Role.REVIEW: 0.0,
        Role.SUMMARIZE: 0.0,
    }
    """Temperature by role where the model's config gives none; other roles get the provider's default."""
    sampling: Sampling = Sampling.PARALLEL
    retry: RetryPolicy = RetryPolicy()
    max_cost_usd: float | None = Field(default=None, ge=0)
    """Cap on the cost of the run in US dollars; None means no cap, 0 that nothing may be spent."""
    max_tokens: int | None = Field(default=None, ge=0)
    """Cap on prompt and generated tokens of the run together; None means no cap."""

    def for_role(self, role: Role) -> ModelConfig:
        """The model of a role, with the temperature that it will be asked at."""
        config = self.roles.get(role, self.default)
        if config.temperature is None and role in self.temperatures:
            return config.model_copy(update={"temperature": self.temperatures[role]})
        return config
