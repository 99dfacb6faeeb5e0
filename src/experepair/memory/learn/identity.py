"""Names for what is learned."""

from __future__ import annotations

from hashlib import sha256

from experepair.domain.roles import Agent


def identity(scope: str, key: str, agent: Agent, number: int) -> str:
    """The id of a demonstration: the same source gives the same, in every store."""
    text = "\0".join((scope, key, agent, str(number)))
    return sha256(text.encode("utf-8", "backslashreplace")).hexdigest()[:16]
