"""One policy for attempts that fail: wait, try again, and always end."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import TypeVar

from experepair.llm.config import RetryPolicy
from experepair.llm.faults import Fault, FaultKind

T = TypeVar("T")
OnFailure = Callable[[int, Fault, float], Awaitable[None]]
"""Told the attempt's number, what was wrong, and the pause in seconds (0: there is no next attempt)."""


async def retrying(
    attempt: Callable[[], Awaitable[T]], policy: RetryPolicy, rng: random.Random, on_failure: OnFailure
) -> T:
    """Call until it succeeds, can't succeed, or has taken too long.

    Args:
        attempt: raises Fault when it fails; it is cancelled when its time is up.
        policy: how often, and how long.
        rng: gives the jitter of the pauses.
        on_failure: awaited before the pause; what it raises ends the call.

    Raises:
        Fault: the last one.
    """
    loop = asyncio.get_running_loop()
    began = loop.time()
    number = 0
    while True:
        number += 1
        left = policy.deadline_s - (loop.time() - began)
        try:
            return await _limited(attempt, min(policy.attempt_s, left))
        except Fault as fault:
            wait = _pause(number, fault, policy, rng)
            elapsed = loop.time() - began
            if not _worth_it(number, fault, elapsed + wait, policy):
                await on_failure(number, fault, 0.0)
                raise
            await on_failure(number, fault, wait)
            await asyncio.sleep(wait)


async def _limited(attempt: Callable[[], Awaitable[T]], limit_s: float) -> T:
    try:
        async with asyncio.timeout(limit_s):
            return await attempt()
    except TimeoutError as error:
        raise Fault(f"no answer within {limit_s:.3g} s", FaultKind.LOST) from error


def _pause(number: int, fault: Fault, policy: RetryPolicy, rng: random.Random) -> float:
    """Exponential with full jitter; what the provider asks for is a floor, with jitter on top."""
    if fault.retry_after_s is not None:
        return fault.retry_after_s + rng.uniform(0, policy.first_wait_s)
    return rng.uniform(0, min(policy.max_wait_s, policy.first_wait_s * 2 ** min(number - 1, 30)))


def _worth_it(number: int, fault: Fault, next_at_s: float, policy: RetryPolicy) -> bool:
    if fault.kind is FaultKind.REFUSED or number >= policy.attempts or next_at_s >= policy.deadline_s:
        return False
    if fault.kind is FaultKind.UNREACHABLE:
        return next_at_s < policy.unreachable_s
    if fault.kind is FaultKind.GARBLED:
        return number < policy.garbled_attempts
    return True
