"""Names for what is learned."""

from __future__ import annotations

from hashlib import sha256

from experepair.domain.roles import Agent


def identity(scope: str, key: str, agent: Agent, number: int) -> str:
    """The id of a demonstration: the same source gives the same, in every store.

    Ids of one source sort by number: where likeness is equal, the order in which recall takes them must not depend on
    the run's random name.
    """
    digest = sha256("\0".join((scope, key, agent)).encode("utf-8", "backslashreplace")).hexdigest()
    return f"{digest[:12]}{number:04x}"
