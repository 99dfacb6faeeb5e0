"""What goes when a prompt is too long, and what never does."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experepair.errors import UsageError
from experepair.llm.fit import estimate_tokens, fit, prompt_tokens
from experepair.llm.request import Cut, Part, Prompt


@st.composite
def prompts(draw: st.DrawFn) -> Prompt:
    cuts = draw(st.lists(st.sampled_from(Cut), max_size=6))
    texts = st.text(max_size=30)
    parts = [
        Part(f"{cut}{number}", draw(texts) * draw(st.integers(0, 60)), cut) for number, cut in enumerate(cuts)
    ]
    return Prompt(draw(texts), tuple(parts))


@given(prompts(), st.integers(0, 2_000))
def test_a_fitted_prompt_is_within_its_budget_and_keeps_what_must_not_be_cut(
    prompt: Prompt, budget: int
) -> None:
    kept = [part for part in prompt.parts if part.cut is Cut.NEVER]
    try:
        fitted = fit(prompt, budget)
    except UsageError:
        assert prompt_tokens(Prompt(prompt.system, tuple(kept))) > budget
        return
    assert prompt_tokens(fitted) <= budget
    assert [part for part in fitted.parts if part.cut is Cut.NEVER] == kept
    assert [part.name for part in fitted.parts] == [part.name for part in prompt.parts]
    assert fit(prompt, budget) == fitted
    assert fit(fitted, budget) is fitted


def test_a_prompt_that_fits_is_left_alone() -> None:
    prompt = Prompt("s", (Part("a", "x" * 100, Cut.MIDDLE), Part("b", "y" * 100, Cut.DROP)))
    assert fit(prompt, prompt_tokens(prompt)) is prompt


def test_older_output_goes_first_then_newer_then_demonstrations_from_the_last() -> None:
    parts = (
        Part("issue", "i" * 250),
        Part("demonstration 1", "d" * 250, Cut.DROP),
        Part("demonstration 2", "e" * 250, Cut.DROP),
        Part("older", "o" * 2500, Cut.MIDDLE),
        Part("newer", "n" * 2500, Cut.MIDDLE),
    )
    prompt = Prompt("", parts)

    def shortened(budget: int) -> set[str]:
        fitted = fit(prompt, budget)
        return {a.name for a, b in zip(parts, fitted.parts, strict=True) if a.text != b.text}

    whole = prompt_tokens(prompt)
    assert shortened(whole - 500) == {"older"}
    assert shortened(whole - 1500) == {"older", "newer"}
    assert shortened(whole - 2050) == {"older", "newer", "demonstration 2"}
    assert shortened(whole - 2150) == {"older", "newer", "demonstration 1", "demonstration 2"}


def test_a_middle_is_cut_around_its_head_and_tail_and_says_how_much_is_missing() -> None:
    text = "".join(f"line {number}\n" for number in range(2_000))
    fitted = fit(Prompt("", (Part("output", text, Cut.MIDDLE),)), 1_000).parts[0].text
    assert fitted.startswith("line 0\nline 1\n")
    assert fitted.endswith("line 1998\nline 1999\n")
    assert "characters left out" in fitted
    assert estimate_tokens(fitted) > 900


def test_what_never_fits_is_refused_with_the_sizes() -> None:
    prompt = Prompt("s", (Part("issue", "x" * 10_000), Part("code", "y" * 500)))
    with pytest.raises(UsageError, match=r"issue 4,000, code 200.*larger window"):
        fit(prompt, 1_000)


@given(st.text(max_size=200))
def test_the_estimate_grows_with_the_text(text: str) -> None:
    assert estimate_tokens(text) <= estimate_tokens(text + "x") <= estimate_tokens(text) + 1
    assert estimate_tokens("") == 0
