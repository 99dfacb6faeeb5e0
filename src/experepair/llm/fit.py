"""Fit a prompt into a budget of tokens: older output goes first, then demonstrations."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from experepair.errors import UsageError
from experepair.llm.request import Cut, Part, Prompt

ASCII_CHARACTERS_PER_TOKEN = 2.5
"""Code and English have 3 to 4 in the tokenizers of the large providers; fewer here, to stay above."""
TOKENS_PER_OTHER_CHARACTER = 2
"""CJK has about 1, accented letters less, emoji and rare scripts 2 to 3."""
OVERHEAD_TOKENS = 32
"""Message framing that providers add."""


def estimate_tokens(text: str) -> int:
    """A number of tokens that ordinary code and prose stay below, whatever the tokenizer."""
    others = sum(not character.isascii() for character in text) if not text.isascii() else 0
    return math.ceil((len(text) - others) / ASCII_CHARACTERS_PER_TOKEN) + TOKENS_PER_OTHER_CHARACTER * others


def prompt_tokens(prompt: Prompt) -> int:
    """The estimate for a whole prompt."""
    return OVERHEAD_TOKENS + estimate_tokens(prompt.system) + estimate_tokens(prompt.user)


def fit(prompt: Prompt, budget: int) -> Prompt:
    """Cut a prompt until its estimate is within the budget; one that fits is returned as it is.

    Parts that may lose their middle go first, in their order; then parts that may be dropped, the last
    first. The same prompt and budget always give the same result.

    Args:
        prompt: what should be sent.
        budget: tokens that the prompt may have.

    Raises:
        UsageError: what must never be cut is too long by itself.
    """
    if prompt_tokens(prompt) <= budget:
        return prompt
    for index in _order(prompt.parts):
        prompt = _shortened(prompt, index, budget)
        if prompt_tokens(prompt) <= budget:
            return prompt
    kept = [f"{part.name} {estimate_tokens(part.text):,}" for part in prompt.parts if part.text]
    sizes = ", ".join([f"system {estimate_tokens(prompt.system):,}", *kept])
    raise UsageError(
        f"the prompt needs about {prompt_tokens(prompt):,} tokens of {budget:,} that the model's window leaves "
        f"for it ({sizes}); give a model with a larger window, or a shorter issue"
    )


def _order(parts: Sequence[Part]) -> list[int]:
    middle = [index for index, part in enumerate(parts) if part.cut is Cut.MIDDLE and part.text]
    drop = [index for index, part in enumerate(parts) if part.cut is Cut.DROP and part.text]
    return middle + drop[::-1]


def _shortened(prompt: Prompt, index: int, budget: int) -> Prompt:
    """The prompt with as much of one part as the budget allows, or with nothing of it."""
    text = prompt.parts[index].text
    without = _with_text(prompt, index, "")
    if prompt.parts[index].cut is Cut.DROP or prompt_tokens(without) > budget:
        return without
    fits, too_many = 0, len(text)  # characters to keep
    while too_many - fits > 1:
        keep = (fits + too_many) // 2
        if prompt_tokens(_with_text(prompt, index, _without_middle(text, keep))) <= budget:
            fits = keep
        else:
            too_many = keep
    return _with_text(prompt, index, _without_middle(text, fits)) if fits else without


def _with_text(prompt: Prompt, index: int, text: str) -> Prompt:
    parts = list(prompt.parts)
    parts[index] = replace(parts[index], text=text)
    return replace(prompt, parts=tuple(parts))


def _without_middle(text: str, keep: int) -> str:
    head, tail = text[: keep - keep // 2], text[len(text) - keep // 2 :]
    return f"{head}\n[… {len(text) - keep:,} characters left out …]\n{tail}"
