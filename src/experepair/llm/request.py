"""What is sent to a model, and what comes back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from experepair.domain.roles import Role


class Cut(StrEnum):
    """What may be done to a part of a prompt that doesn't fit into a model's window."""

    NEVER = "never"
    """Nothing: the issue, the target spans, the task."""
    MIDDLE = "middle"
    """Its middle may go, down to nothing: output and feedback. Earlier parts are older and go first."""
    DROP = "drop"
    """It may go as a whole: a demonstration. Later parts go first."""


@dataclass(frozen=True, slots=True)
class Part:
    """A named stretch of a prompt; the parts of one prompt are sent in order, joined by a blank line.

    Attributes:
        name: what it holds (issue, code, memory, task, feedback, angle); shown by report and viewer.
        text: as sent.
        cut: what may be done to it when the prompt is too long.
    """

    name: str
    text: str
    cut: Cut = Cut.NEVER


@dataclass(frozen=True, slots=True)
class Prompt:
    """One system message, and one user message in parts, what is common to many calls first."""

    system: str
    parts: tuple[Part, ...]

    @property
    def user(self) -> str:
        """The user message as sent."""
        return "\n\n".join(part.text for part in self.parts if part.text)


@dataclass(frozen=True, slots=True)
class Request:
    """One call: a prompt for a role, which of the samples of this prompt it is (from 0), and of how many."""

    role: Role
    prompt: Prompt
    sample: int = 0
    samples: int = 1


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one call, as the provider counts them.

    Attributes:
        input: all prompt tokens, those from the cache included.
        output: all generated tokens, reasoning included.
        cached: prompt tokens that were read from the provider's cache.
        cache_written: prompt tokens that were written to it.
    """

    input: int = 0
    output: int = 0
    cached: int = 0
    cache_written: int = 0


@dataclass(frozen=True, slots=True)
class Reply:
    """One model answer.

    Attributes:
        text: as received; may be empty, and is hostile input.
        usage: None when the provider gave none.
        model: what the provider says has answered.
        cost_usd: None when the price is unknown.
        latency_s: wall time of the call, retries included, in seconds.
        replayed: whether it came from a journal, not from a provider.
        finish: why generation ended ("stop", "length", …), if known.
        prices: version of the price table behind `cost_usd`.
        raw_usage: usage as the provider wrote it.
    """

    text: str
    usage: Usage | None = None
    model: str = ""
    cost_usd: float | None = None
    latency_s: float = 0.0
    replayed: bool = False
    finish: str | None = None
    prices: str | None = None
    raw_usage: Mapping[str, Any] = field(default_factory=dict, hash=False, compare=False)
