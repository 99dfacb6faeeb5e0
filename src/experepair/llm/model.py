"""The port to language models, and its fake."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from experepair.domain.roles import Role
from experepair.llm.fit import prompt_tokens
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


@dataclass(frozen=True, slots=True)
class Call:
    """How a request will be sent.

    Attributes:
        request: cut to the model's window, with an angle if the model needs one to vary.
        model: as configured, "provider:name".
        temperature: None when none is sent.
        max_output_tokens: None when no limit is sent.
        worst_case_tokens: upper estimate of prompt and answer together.
        worst_case_usd: None when the price is unknown.
    """

    request: Request
    model: str
    temperature: float | None = None
    max_output_tokens: int | None = None
    worst_case_tokens: int = 0
    worst_case_usd: float | None = None


@runtime_checkable
class PlanningModel(Model, Protocol):
    """A model that can say beforehand what it will send, and what that costs at most."""

    def plan(self, request: Request, *, shrink: bool = False) -> Call:
        """How the request will be sent; `reply` is then asked with the plan's request.

        Args:
            request: as the caller wants it.
            shrink: the provider found it too long: leave away about half of what can be left away.

        Raises:
            UsageError: what must never be cut doesn't fit.
        """
        ...


def plan(model: Model, request: Request, *, shrink: bool = False) -> Call:
    """How any model will send a request; one that can't say sends it as it is, at an unknown price."""
    if isinstance(model, PlanningModel):
        return model.plan(request, shrink=shrink)
    return Call(request, type(model).__name__, worst_case_tokens=prompt_tokens(request.prompt))


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
