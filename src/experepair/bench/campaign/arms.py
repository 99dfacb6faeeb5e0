"""The variants that a campaign compares: arms of memory, models, and repeats."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from experepair.session.memory import NONE


class Arm(StrEnum):
    """Which part of memory is there (the paper's Table 2)."""

    FULL = "full"
    NO_MEMORY = "no-memory"
    NO_DEMONSTRATIONS = "no-demonstrations"
    NO_INSIGHTS = "no-insights"

    def settings(self) -> dict[str, Any]:
        """What it takes away, as settings of a repair."""
        return _TAKEN[self]


_TAKEN: dict[Arm, dict[str, Any]] = {
    Arm.FULL: {},
    Arm.NO_MEMORY: {"memory": NONE},
    Arm.NO_DEMONSTRATIONS: {"recall": {"demonstrations": False}},
    Arm.NO_INSIGHTS: {"recall": {"insights": False}},
}


@dataclass(frozen=True, slots=True, order=True)
class Variant:
    """One of what is compared, with a memory of its own.

    Attributes:
        arm: of memory.
        model: serves every role that has none of its own; "" means the settings' own.
        repeat: from 1.
    """

    arm: Arm
    model: str = ""
    repeat: int = 1

    @property
    def name(self) -> str:
        """Names it in tables and folders; other variants of the campaign have other names."""
        parts = [str(self.arm), *([slug(self.model)] if self.model else [])]
        return "+".join(parts) + (f"~{self.repeat}" if self.repeat > 1 else "")


def variants(arms: Sequence[Arm], models: Sequence[str], repeats: int) -> Iterator[Variant]:
    """All of a campaign; repeats come last, so that each has been tried once early."""
    for repeat in range(1, repeats + 1):
        for model in models or ("",):
            for arm in arms:
                yield Variant(arm, model, repeat)


def slug(model: str) -> str:
    """A model's name as a folder can have it."""
    return re.sub(r"[^\w.-]+", "-", model).strip("-.") or "model"
