"""What is sent to a model, and what comes back."""

from __future__ import annotations

from dataclasses import dataclass

from experepair.domain.roles import Role


@dataclass(frozen=True, slots=True)
class Part:
    """A named stretch of a prompt; the parts of one prompt are sent in order, joined by a blank line.

    Attributes:
        name: what it holds (issue, code, memory, task, feedback, angle); shown by report and viewer.
        text: as sent.
    """

    name: str
    text: str


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
    """One call: a prompt for a role, and which of the samples of this prompt it is (from 0)."""

    role: Role
    prompt: Prompt
    sample: int = 0


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
    """

    text: str
    usage: Usage | None = None
    model: str = ""
    cost_usd: float | None = None
    latency_s: float = 0.0
    replayed: bool = False
