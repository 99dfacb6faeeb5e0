"""How sure a number is: bootstrap intervals, and McNemar's exact test between arms."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from math import comb
from statistics import fmean

_RESAMPLES = 2000
_SEED = 20240527
"""Fixed, so that a report says the same each time."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean with its 95 % interval.

    Attributes:
        value: the mean; None when there is nothing to average.
        low: lower end of the interval.
        high: upper end.
        n: values that were averaged.
    """

    value: float | None
    low: float = 0.0
    high: float = 0.0
    n: int = 0


def estimate(values: Sequence[float]) -> Estimate:
    """The mean of values, each of another issue, with its percentile bootstrap interval over issues."""
    if not values:
        return Estimate(None)
    if len(set(values)) == 1:
        return Estimate(values[0], values[0], values[0], len(values))
    rng = random.Random(_SEED)  # noqa: S311 - resampling is no secret
    means = sorted(fmean(rng.choices(values, k=len(values))) for _ in range(_RESAMPLES))
    cut = _RESAMPLES // 40
    return Estimate(fmean(values), means[cut], means[-cut - 1], len(values))


@dataclass(frozen=True, slots=True)
class Paired:
    """Two arms on the same issues.

    Attributes:
        n: issues that both have an answer for.
        only_first: resolved by the first alone.
        only_second: by the second alone.
        p: of McNemar's exact test, two-sided; 1 when they never differ.
    """

    n: int
    only_first: int
    only_second: int
    p: float


def mcnemar(pairs: Sequence[tuple[bool, bool]]) -> Paired:
    """Whether one of two arms succeeds more often than the other, on issues that both tried."""
    first = sum(a and not b for a, b in pairs)
    second = sum(b and not a for a, b in pairs)
    differing = first + second
    tail = sum(comb(differing, k) for k in range(min(first, second) + 1)) / 2**differing
    return Paired(len(pairs), first, second, min(1.0, 2 * tail))
