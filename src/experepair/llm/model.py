"""The port to language models, and its fake."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from experepair.domain.roles import Role
from experepair.llm.request import Reply, Request, Usage


class Model(Protocol):
    """Something that answers a request with one reply."""

    async def reply(self, request: Request) -> Reply:
        """Answer once.

        Raises:
            ProviderError: no usable answer could be had.
            BudgetSpent: the call could exceed a cap.
        """
        ...


Script = Mapping[Role, Sequence[str]] | Callable[[Request], str]


class ScriptedModel:
    """Answers from a script and remembers what it was asked.

    Args:
        script: replies by role, taken in order (the last one is repeated), or a function of the request.
    """

    def __init__(self, script: Script) -> None:
        self._script = script
        self.asked: list[Request] = []

    async def reply(self, request: Request) -> Reply:
        """Answer with the next scripted reply; usage is counted as characters / 4."""
        before = sum(asked.role is request.role for asked in self.asked)
        self.asked.append(request)
        if callable(self._script):
            text = self._script(request)
        else:
            replies = self._script[request.role]
            text = replies[min(before, len(replies) - 1)]
        sent = len(request.prompt.system) + len(request.prompt.user)
        return Reply(text, usage=Usage(input=sent // 4, output=len(text) // 4), model="scripted")
