"""From whatever a provider's SDK raises to one fault of ours."""

from __future__ import annotations

import os
import re

from experepair.llm.config import ModelConfig
from experepair.llm.faults import ContextTooLong, Fault, FaultKind

_TOO_LONG = re.compile(
    r"context (length|window|size)|maximum context|prompt is too long|too many (input |prompt )?tokens"
    r"|exceed\w* .{0,40}(context|token)|input is too long|reduce the length",
    re.IGNORECASE,
)
_SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL", re.IGNORECASE)
_SHOWN = 300
"""Characters of a provider's message that are kept."""


def fault_of(error: Exception, config: ModelConfig) -> Fault:
    """What went wrong in one attempt at a call; secrets of the environment are blotted out."""
    from pydantic_ai import exceptions

    status = getattr(error, "status_code", None)
    status = status if isinstance(status, int) else None
    said = _said(error)
    told = f"{config.name}: " + (f"HTTP {status}: {said}" if status is not None else said)
    if isinstance(error, exceptions.ModelContextWindowExceededError) or (
        status in (400, 413, 422) and _TOO_LONG.search(said)
    ):
        return ContextTooLong(told, status=status)
    if isinstance(error, exceptions.ModelHTTPError):
        return Fault(
            told + _advice(error.status_code, config),
            FaultKind.BUSY if _may_pass(error) else FaultKind.REFUSED,
            status=status,
            retry_after_s=error.retry_after,
        )
    if isinstance(error, exceptions.ModelConnectionError):
        if error.phase in ("pool", "connect"):
            where = f" at {config.base_url}" if config.base_url else ""
            return Fault(
                f"{told}: no connection{where}; check the network and --base-url", FaultKind.UNREACHABLE
            )
        return Fault(f"{told}: the answer broke off", FaultKind.LOST)
    if isinstance(error, exceptions.ModelQuotaExceededError | exceptions.ModelRequestRejectedError):
        return Fault(told, FaultKind.REFUSED, status=status)
    return Fault(f"{told}: that is no answer of a model; check --base-url", FaultKind.GARBLED)


def _may_pass(error: Exception) -> bool:
    from pydantic_ai import exceptions

    if isinstance(error, exceptions.ModelQuotaExceededError):
        return False
    status = getattr(error, "status_code", 0)
    return status in (408, 409, 425, 429) or status >= 500


def _advice(status: int, config: ModelConfig) -> str:
    if status in (401, 403):
        return "; check the key of this provider in the environment, and what it may do"
    if status == 404:
        return f"; check the name of the model{' and --base-url' if config.base_url else ''}"
    if status == 402:
        return "; the account has nothing left"
    return ""


def _said(error: Exception) -> str:
    """What the provider said, or what the connection broke on, in one short line without secrets."""
    body = getattr(error, "body", None)
    text = str(body) if body else _reason(error)
    for name, value in os.environ.items():
        if len(value) >= 8 and _SECRET_NAME.search(name):
            text = text.replace(value, "***")
    text = " ".join(text.split())
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def _reason(error: Exception) -> str:
    """The error's text, and what broke the connection, which SDKs leave in the chain of causes."""
    if getattr(error, "status_code", None) is not None:
        return "no message"
    texts = [str(error) or type(error).__name__]
    cause = error.__cause__ or error.__context__
    while cause is not None:
        if isinstance(cause, OSError):  # name resolution, TLS, a refused connection
            texts[1:] = [str(cause) or type(cause).__name__]
        cause = cause.__cause__ or cause.__context__
    return ": ".join(texts)
