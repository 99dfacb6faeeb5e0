"""From the name of a model to pydantic-ai's object for it, or to the reason why not."""

from __future__ import annotations

import inspect
import os
import re
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from experepair.errors import UsageError
from experepair.llm.config import ModelConfig

if TYPE_CHECKING:
    from pydantic_ai.models import Model
    from pydantic_ai.profiles import ModelProfile
    from pydantic_ai.providers import Provider

_VARIABLE = re.compile(r"\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\b")


def connect(config: ModelConfig) -> Model[Any]:
    """Make the client of a model; nothing is called yet.

    Raises:
        UsageError: the name, the base URL or the environment doesn't allow it.
    """
    provider, _, model = config.name.partition(":")
    if not provider or not model:
        raise UsageError(
            f"the model {config.name!r} isn't PROVIDER:NAME, as in anthropic:claude-sonnet-5-5, "
            "openai:gpt-4.1 or ollama:qwen3-coder"
        )
    _check_url(config)
    from pydantic_ai.exceptions import UserError
    from pydantic_ai.models import infer_model

    # "openai" alone would mean the Responses API, which compatible servers rarely have
    kind = "openai-chat" if provider == "openai" else provider
    try:
        return infer_model(f"{kind}:{model}", provider_factory=lambda _: _provider(provider, config))
    except ImportError as error:
        raise UsageError(
            f"the model {config.name!r} needs a package that isn't installed; "
            f"pip install 'pydantic-ai-slim[{provider}]' brings it"
        ) from error
    except (UserError, ValueError, TypeError) as error:
        raise UsageError(_refusal(str(error), config)) from error
    except Exception as error:  # SDKs raise errors of their own for a missing key
        if variables := _VARIABLE.findall(str(error)):
            raise UsageError(_missing(variables, config)) from error
        raise


def _provider(name: str, config: ModelConfig) -> Provider[Any]:
    from pydantic_ai.providers import infer_provider, infer_provider_class

    if config.base_url is None:
        return infer_provider(name)
    made = infer_provider_class(name)
    if name in ("openai", "openai-chat"):
        return _compatible(config.base_url)
    if "base_url" in inspect.signature(made.__init__).parameters:
        return made(base_url=config.base_url)  # type: ignore[call-arg]  # just looked up
    provider = made()
    if not hasattr(provider.client, "base_url"):
        raise UsageError(f"the provider of {config.name!r} takes no base URL; try openai:NAME with it")
    provider.client.base_url = config.base_url
    return provider


def _compatible(base_url: str) -> Provider[Any]:
    """A server with OpenAI's chat API; a key is sent if there is one, local servers need none."""
    from pydantic_ai.profiles import merge_profile
    from pydantic_ai.profiles.openai import OpenAIModelProfile, openai_model_profile
    from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider

    def profile(model: str) -> ModelProfile:
        # the older field is the one that all servers know; OpenAI's reasoning models want the newer
        reasons = bool(openai_model_profile(model).get("openai_supports_reasoning"))
        newer = OpenAIModelProfile(openai_chat_supports_max_completion_tokens=reasons)
        return merge_profile(OpenAICompatibleProvider.model_profile(model), newer)

    return OpenAICompatibleProvider(
        "openai", base_url=base_url, api_key=os.environ.get("OPENAI_API_KEY"), profile=profile
    )


def _check_url(config: ModelConfig) -> None:
    if config.base_url is None:
        return
    try:
        url = urlsplit(config.base_url)
        usable = url.scheme in ("http", "https") and bool(url.hostname) and url.port != 0
    except ValueError:
        usable = False
    if not usable:
        raise UsageError(
            f"the base URL {config.base_url!r} isn't one: give it with scheme and host, "
            "as in http://localhost:11434/v1"
        )


def _refusal(reason: str, config: ModelConfig) -> str:
    if reason.lower().startswith(("unknown provider", "unknown model")):
        provider = config.name.partition(":")[0]
        return (
            f"unknown provider {provider!r} in the model {config.name!r}; known are anthropic, openai, google, "
            "deepseek, ollama, vllm, openrouter, mistral and the others of pydantic-ai; for a server with "
            "OpenAI's API give openai:NAME and a base URL"
        )
    if variables := _VARIABLE.findall(reason):
        return _missing(variables, config)
    return f"the model {config.name!r} can't be used: {reason}"


def _missing(variables: list[str], config: ModelConfig) -> str:
    names = list(dict.fromkeys(variables))
    return f"the model {config.name!r} needs {' or '.join(names)} in the environment"
