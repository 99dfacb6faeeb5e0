"""One adapter to every provider that pydantic-ai knows, and to any URL with a compatible API.

pydantic-ai and the providers' SDKs are imported when a model is made, never before.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from experepair.errors import UsageError
from experepair.llm.angles import with_angle
from experepair.llm.config import ModelConfig, Sampling
from experepair.llm.connect import connect
from experepair.llm.fit import fit, prompt_tokens
from experepair.llm.model import Call
from experepair.llm.price import Tariff, cost_of, tariff, worst_case
from experepair.llm.recording import ANGLE
from experepair.llm.request import Cut, Prompt, Reply, Request, Usage
from experepair.llm.translate import fault_of

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelResponse, UserContent
    from pydantic_ai.settings import ModelSettings

UNKNOWN_WINDOW = 128_000
"""Tokens; what most hosted models have at least."""
OUTPUT_TOKENS = 8_192
REASONING_OUTPUT_TOKENS = 32_768
_ANGLE_TOKENS = 64
_SURROGATES = re.compile("[\ud800-\udfff]")


class ProviderModel:
    """A model of a provider. `reply` is one attempt; `JournalledModel` adds retries, budget and journal.

    Keys are read from the environment once, here. Used as an async context manager it keeps its
    connections; otherwise it makes new ones for calls that don't overlap.

    Args:
        config: which model, where, and how it is asked.
        sampling: whether samples find each other's prompt in the provider's cache.
        call_s: longest call in seconds, for the SDK's own limit on silence.

    Raises:
        UsageError: unknown provider, missing key, unusable base URL; nothing has been called yet.
    """

    def __init__(
        self, config: ModelConfig, *, sampling: Sampling = Sampling.PARALLEL, call_s: float = 600.0
    ) -> None:
        self.config = config
        self._sampling, self._call_s = sampling, call_s
        self._model = connect(config)
        profile = self._model.profile
        # OpenAI fills its cache by itself, and would stop doing so if it were told where
        self._caches = bool(
            profile.get("supports_cache") and not profile.get("openai_supports_prompt_cache_breakpoints")
        )
        reasons = bool(profile.get("thinking_always_enabled") or profile.get("thinking_enabled_by_default"))
        self.max_output_tokens = config.max_output_tokens or (
            REASONING_OUTPUT_TOKENS if reasons else OUTPUT_TOKENS
        )
        """Most tokens of a reply, reasoning included."""
        self.context_window = config.context_window or self._model.context_window or UNKNOWN_WINDOW
        """Most tokens of prompt and reply together."""
        if self.max_output_tokens >= self.context_window:
            raise UsageError(
                f"{config.name!r}: max_output_tokens ({self.max_output_tokens:,}) leaves no room for a prompt "
                f"in a window of {self.context_window:,} tokens; lower it, or give the right context_window"
            )
        self.takes_temperature = _takes_temperature(self._model)
        """Whether a temperature reaches the model; samples are told apart by angles otherwise."""
        base_url = config.base_url or self._model.base_url or ""
        self.tariff: Tariff | None = tariff(self._model.model_name, base_url, config.price)
        """How calls are priced; None when the price is unknown."""

    async def __aenter__(self) -> ProviderModel:
        await self._model.__aenter__()
        return self

    async def __aexit__(self, *exc_info: Any) -> None:
        await self._model.__aexit__(*exc_info)

    def plan(self, request: Request, *, shrink: bool = False) -> Call:
        """How the request will be sent: cut to the window, with an angle where it needs one."""
        budget = self.context_window - self.max_output_tokens - _ANGLE_TOKENS
        prompt = fit(request.prompt, budget)
        if shrink:
            prompt = fit(prompt, _half_of_what_can_go(prompt))
        sent = replace(request, prompt=prompt)
        if not self.takes_temperature:
            sent = with_angle(sent)
        tokens = prompt_tokens(sent.prompt)
        return Call(
            sent,
            self.config.name,
            temperature=self.config.temperature if self.takes_temperature else None,
            max_output_tokens=self.max_output_tokens,
            worst_case_tokens=tokens + self.max_output_tokens,
            worst_case_usd=worst_case(tokens, self.max_output_tokens, self.tariff),
        )

    async def reply(self, request: Request) -> Reply:
        """Ask once.

        Raises:
            Fault: no usable answer; says whether another attempt is worth it.
        """
        from pydantic_ai.direct import model_request
        from pydantic_ai.messages import ModelRequest, SystemPromptPart, UserPromptPart

        message = ModelRequest(
            parts=[SystemPromptPart(_sendable(request.prompt.system)), UserPromptPart(self._content(request))]
        )
        try:
            async with self._model:
                response = await model_request(self._model, [message], model_settings=self._settings())
            return self._reply(response)
        except Exception as error:
            raise fault_of(error, self.config) from error

    def _settings(self) -> ModelSettings:
        from pydantic_ai.settings import ModelSettings

        settings = ModelSettings(max_tokens=self.max_output_tokens, max_retries=0, timeout=self._call_s)
        if self.config.temperature is not None and self.takes_temperature:
            settings["temperature"] = self.config.temperature
        if self._caches:
            settings["cache"] = {"messages": False}  # the system message; the rest is marked in the prompt
        return settings

    def _content(self, request: Request) -> str | list[UserContent]:
        """The user message; in pieces for a provider that must be told what to keep in its cache."""
        parts = [part for part in request.prompt.parts if part.text]
        ends = _cache_ends(request, self._sampling) if self._caches else []
        if not ends:
            return _sendable(request.prompt.user)
        from pydantic_ai.messages import CachePoint

        content: list[UserContent] = []
        begin = 0
        for end in [*ends, len(parts)]:
            if piece := "\n\n".join(part.text for part in parts[begin:end]):
                content += [_sendable(piece + ("\n\n" if end < len(parts) else "")), CachePoint()]
            begin = end
        return content if ends[-1] == len(parts) else content[:-1]

    def _reply(self, response: ModelResponse) -> Reply:
        from pydantic_ai.messages import TextPart

        counted = response.usage
        known = not counted.unmeasured_requests and (counted.input_tokens or counted.output_tokens)
        usage = Usage(
            input=counted.input_tokens,
            output=counted.output_tokens,
            cached=counted.cache_read_tokens,
            cache_written=counted.cache_write_tokens,
        )
        return Reply(
            "".join(part.content for part in response.parts if isinstance(part, TextPart)),
            usage=usage if known else None,
            model=response.model_name or self._model.model_name,
            cost_usd=cost_of(usage, self.tariff) if known else None,
            finish=response.finish_reason,
            prices=self.tariff.version if self.tariff else None,
            raw_usage=_raw(counted) if known else {},
        )


def _cache_ends(request: Request, sampling: Sampling) -> list[int]:
    """After which parts the provider's cache should be filled.

    What stands before the first part that changes from trial to trial is found again by the next trial;
    the whole prompt by the other samples, if they come later.
    """
    parts = [part for part in request.prompt.parts if part.text and part.name != ANGLE]
    lasting = next((index for index, part in enumerate(parts) if part.cut is not Cut.NEVER), len(parts))
    ends = [lasting] if 0 < lasting < len(parts) else []
    if parts and request.samples > 1 and sampling is Sampling.FIRST_THEN_REST:
        ends.append(len(parts))
    return ends


def _half_of_what_can_go(prompt: Prompt) -> int:
    never = replace(prompt, parts=tuple(part for part in prompt.parts if part.cut is Cut.NEVER))
    least = prompt_tokens(never)
    return least + (prompt_tokens(prompt) - least) // 2


def _takes_temperature(model: Any) -> bool:
    """Whether a temperature would reach the model; pydantic-ai drops it otherwise, with a warning."""
    profile = model.profile
    if profile.get("anthropic_disallows_sampling_settings"):
        return False
    if "temperature" in model.unsupported_settings:
        return False
    if "temperature" in (profile.get("openai_unsupported_model_settings") or ()):
        return False
    if not profile.get("openai_supports_reasoning"):
        return True
    efforts = profile.get("openai_reasoning_efforts")
    can_be_off = (
        profile.get("openai_supports_reasoning_effort_none") if efforts is None else "none" in efforts
    )
    return bool(can_be_off) and not profile.get("thinking_enabled_by_default")


def _sendable(text: str) -> str:
    """Lone surrogates can't be sent as JSON."""
    return _SURROGATES.sub("\N{REPLACEMENT CHARACTER}", text)


def _raw(usage: Any) -> dict[str, Any]:
    return {
        name: value for name, value in vars(usage).items() if isinstance(value, int | float | dict) and value
    }
