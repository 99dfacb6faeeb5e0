"""How a call to a provider can fail, and what may be done about it."""

from __future__ import annotations

from enum import StrEnum

from experepair.errors import ProviderError


class FaultKind(StrEnum):
    """What a failed attempt tells about the next one."""

    REFUSED = "refused"
    """The same request will be refused again: key, model name, quota, a malformed request."""
    BUSY = "busy"
    """Overloaded or broken for now (429, 5xx, 529): worth waiting for."""
    UNREACHABLE = "unreachable"
    """No connection: the request was not sent."""
    LOST = "lost"
    """Sent, but no whole answer came: it may have been charged."""
    GARBLED = "garbled"
    """Answered with something that is no answer (a page, an empty choice list): may have been charged."""


class Fault(ProviderError):
    """One attempt at a call failed.

    Args:
        message: for the user.
        kind: what it tells about the next attempt.
        status: HTTP status, if there was an answer at all.
        retry_after_s: pause that the provider asks for, in seconds.
    """

    def __init__(
        self, message: str, kind: FaultKind, *, status: int | None = None, retry_after_s: float | None = None
    ) -> None:
        super().__init__(message)
        self.kind, self.status, self.retry_after_s = kind, status, retry_after_s

    @property
    def charged(self) -> bool:
        """Whether the provider may have charged for the attempt."""
        return self.kind in (FaultKind.LOST, FaultKind.GARBLED)


class ContextTooLong(Fault):
    """The provider says that the prompt doesn't fit into the model's window."""

    def __init__(self, message: str, *, status: int | None = None) -> None:
        super().__init__(message, FaultKind.REFUSED, status=status)
