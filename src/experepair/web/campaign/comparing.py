"""Two variants, issue by issue: who succeeded, and where they parted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from experepair.bench.metrics.statistics import Estimate, Paired, estimate, mcnemar
from experepair.web.campaign.reading import Ended, Line


@dataclass(frozen=True, slots=True)
class Pair:
    """One issue in both."""

    instance_id: str
    first: Ended
    second: Ended

    @property
    def disagrees(self) -> bool:
        """Whether one succeeded and the other didn't."""
        return None not in (self.first.good, self.second.good) and self.first.good != self.second.good

    @property
    def parted(self) -> str:
        """The first step at which they did otherwise; "" while one isn't over."""
        one, other = self.first, self.second
        if one.state != "done" or other.state != "done":
            return ""
        if one.reproduced != other.reproduced:
            return "reproduction"
        if set(one.files) != set(other.files):
            return "localization"
        if bool(one.passing) != bool(other.passing):
            return "generation"
        if one.status != other.status:
            return "validation"
        if one.patch != other.patch:
            return "patch"
        return "nowhere: the same patch" if one.patch else "nowhere: no patch"


def pairs(first: Line, second: Line) -> list[Pair]:
    """The issues that both have, in the order of the first."""
    return [
        Pair(name, one, second.repairs[name]) for name, one in first.repairs.items() if name in second.repairs
    ]


def paired(found: Sequence[Pair]) -> Paired:
    """McNemar's exact test over the issues that both have finished."""
    return mcnemar(
        [
            (one.first.good, one.second.good)
            for one in found
            if one.first.good is not None and one.second.good is not None
        ]
    )


def share(line: Line) -> Estimate:
    """Which share of its finished repairs succeeded, as far as is known."""
    return _estimated(tuple(float(one.good) for one in line.repairs.values() if one.good is not None))


_estimated = lru_cache(maxsize=256)(estimate)
"""Resampling takes longer than all the rest of a page, and its values seldom change."""


def learning(line: Line) -> list[tuple[int, float]]:
    """The share of successes after each finished repair, in time order."""
    good, points = 0, []
    for number, one in enumerate((each for each in line.repairs.values() if each.good is not None), 1):
        good += bool(one.good)
        points.append((number, 100 * good / number))
    return points
