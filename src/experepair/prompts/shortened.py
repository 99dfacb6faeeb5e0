"""Demonstrations made short enough for a prompt: in the middle, and never in the changed lines of a diff."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import groupby

from experepair.domain.memory import Demonstration, Failure, Insight, Recalled
from experepair.domain.text import clip
from experepair.llm.fit import ASCII_CHARACTERS_PER_TOKEN, estimate_tokens

_WORDING_TOKENS = 80
"""What the template says around a demonstration."""
_CUTS = ((4, 3), (8, 1), (16, 0))
"""Ever harder: which part of the budget each text may have, and how many unchanged lines stay beside changed ones."""


@dataclass(frozen=True, slots=True)
class Fitted:
    """What of a recall goes into a prompt.

    Attributes:
        recalled: the rest, shortened.
        left_out: why others don't, by id.
    """

    recalled: Recalled
    left_out: dict[str, str]


def fitted(recalled: Recalled, tokens: int, each: int) -> Fitted:
    """Keep what fits: insights first, then demonstrations, nearest first.

    Args:
        recalled: what memory gives.
        tokens: of memory in one prompt, by estimate; 0 leaves all of it out.
        each: tokens of one demonstration.
    """
    left_out: dict[str, str] = {}
    insights: list[Insight] = []
    for insight in recalled.insights:
        if (cost := estimate_tokens(insight.text) + 3) <= tokens:
            insights.append(insight)
            tokens -= cost
        else:
            left_out[insight.id] = "no room in the prompt"
    demonstrations: list[Demonstration] = []
    for demonstration in recalled.demonstrations:
        short = shortened(demonstration, min(each, tokens))
        if short is None:
            left_out[demonstration.id] = "no room in the prompt, even shortened"
        else:
            demonstrations.append(short)
            tokens -= cost_of(short)
    kept = replace(recalled, insights=tuple(insights), demonstrations=tuple(demonstrations))
    return Fitted(kept, left_out)


def shortened(demonstration: Demonstration, tokens: int) -> Demonstration | None:
    """The demonstration within a budget, or None when its changed lines alone are too many."""
    if cost_of(demonstration) <= tokens:
        return demonstration
    if demonstration.tests:
        demonstration = replace(demonstration, success=f"{demonstration.source.rstrip()}\n")
    for part, beside in _CUTS:
        chars = int(tokens * ASCII_CHARACTERS_PER_TOKEN) // part
        failure = demonstration.failure
        cut = replace(
            demonstration,
            issue=clip(demonstration.issue, chars),
            success=_cut(demonstration.success, chars * part // 2, beside),
            failure=failure and Failure(_cut(failure.output, chars, beside), clip(failure.feedback, chars)),
        )
        if cost_of(cut) <= tokens:
            return cut
    return None


def cost_of(demonstration: Demonstration) -> int:
    """Tokens of a demonstration in a prompt, by estimate."""
    failure = demonstration.failure
    texts = (
        demonstration.issue,
        demonstration.success,
        *((failure.output, failure.feedback) if failure else ()),
    )
    return _WORDING_TOKENS + sum(estimate_tokens(text) for text in texts)


def is_diff(text: str) -> bool:
    """Whether it is a patch as `git diff` writes it."""
    return text.startswith(("diff --git ", "--- ")) and "\n@@ " in text


def without_context(diff: str, beside: int) -> str:
    """A diff with at most `beside` unchanged lines before and after each change; every other line stays."""
    lines = diff.split("\n")
    blocks = [(same, list(group)) for same, group in groupby(lines, lambda line: line[:1] == " ")]
    return "\n".join(line for same, block in blocks for line in (_middle(block, beside) if same else block))


def _middle(lines: list[str], beside: int) -> Iterable[str]:
    left_out = len(lines) - 2 * beside
    if left_out < 2:
        return lines
    return (*lines[:beside], f" [... {left_out} unchanged lines left out ...]", *lines[len(lines) - beside :])


def _cut(text: str, chars: int, beside: int) -> str:
    return without_context(text, beside) if is_diff(text) else clip(text, chars)
