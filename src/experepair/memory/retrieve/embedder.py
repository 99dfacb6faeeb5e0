"""The port to embedding models, and any endpoint with OpenAI's API behind it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from experepair.errors import ProviderError, UsageError

if TYPE_CHECKING:
    from openai import OpenAI

_TOGETHER = 64
"""Texts in one request."""
_TIMEOUT_S = 60.0


class Embedder(Protocol):
    """Makes vectors of texts."""

    @property
    def name(self) -> str:
        """Of the model; vectors of different models don't compare."""
        ...

    def embed(self, texts: Sequence[str]) -> list[Sequence[float]]:
        """One vector for each text, all of one length.

        Raises:
            ProviderError: the model can't be asked, or its answer is none.
        """
        ...


class OpenAIEmbedder:
    """Asks an endpoint that has OpenAI's embeddings API; a key is sent if the environment holds one.

    Args:
        name: PROVIDER:NAME, with a provider whose API is OpenAI's (openai, ollama, vllm, openrouter, …).
        base_url: of the endpoint; None means the provider's own.

    Raises:
        UsageError: the name, the base URL or the environment doesn't allow it.
    """

    def __init__(self, name: str, base_url: str | None = None) -> None:
        provider, _, model = name.partition(":")
        if not provider or not model:
            raise UsageError(
                f"the embedding model {name!r} isn't PROVIDER:NAME, as in openai:text-embedding-3-small or "
                "ollama:nomic-embed-text"
            )
        self.name, self._model = name, model
        self._url, self._key = _endpoint(provider, name, base_url)

    def embed(self, texts: Sequence[str]) -> list[Sequence[float]]:
        """By as many requests as it takes."""
        from openai import APIError, OpenAI

        found: list[Sequence[float]] = []
        try:
            with OpenAI(base_url=self._url, api_key=self._key, timeout=_TIMEOUT_S) as client:
                for start in range(0, len(texts), _TOGETHER):
                    found += self._asked(client, texts[start : start + _TOGETHER])
        except APIError as error:
            raise ProviderError(
                f"the embedding model {self.name!r} can't be asked: {error.message}"
            ) from error
        if len(found) != len(texts) or len({len(vector) for vector in found}) > 1 or not all(found):
            raise ProviderError(
                f"the embedding model {self.name!r} gave {len(found)} vectors for {len(texts)} texts, "
                "or vectors of different lengths"
            )
        return found

    def _asked(self, client: OpenAI, texts: Sequence[str]) -> list[Sequence[float]]:
        answer = client.embeddings.create(model=self._model, input=list(texts), encoding_format="float")
        if not isinstance(getattr(answer, "data", None), list):
            raise ProviderError(f"the embedding model {self.name!r} didn't answer with vectors")
        return [each.embedding for each in sorted(answer.data, key=lambda each: each.index)]


def _endpoint(provider: str, name: str, base_url: str | None) -> tuple[str, str]:
    """Address and key; local servers need no key, but the client wants one."""
    if base_url is not None:
        return base_url, os.environ.get("OPENAI_API_KEY", "none")
    from openai import AsyncOpenAI, OpenAIError
    from pydantic_ai.exceptions import UserError
    from pydantic_ai.providers import infer_provider

    try:
        client = infer_provider(provider).client
    except (UserError, OpenAIError, ValueError, ImportError) as error:
        raise UsageError(f"the embedding model {name!r} can't be used: {error}") from error
    if not isinstance(client, AsyncOpenAI):
        raise UsageError(
            f"the provider {provider!r} of the embedding model {name!r} doesn't have OpenAI's API; "
            "give openai:NAME and a base URL that has"
        )
    return str(client.base_url), client.api_key
