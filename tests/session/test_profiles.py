from __future__ import annotations

import sys
from pathlib import Path

import pytest

import toy
from experepair.domain.roles import Role
from experepair.errors import UsageError
from experepair.memory.config import RetrieverKind
from experepair.session.profiles import PROFILES
from experepair.session.repair import repair
from experepair.session.settings import Settings, load
from experepair.steps.localize import tree_listing
from experepair.steps.result import Status


def test_the_papers_profile_sets_all_of_its_appendix() -> None:
    settings = load(None, {"model": "openai:m"}, "paper")
    steps, recall, learn = settings.repair, settings.recall, settings.learn
    assert (steps.trials, steps.rounds, steps.samples) == (3, 3, 4)
    assert (steps.validation_tests, steps.refinements) == (3, 4)
    assert (learn.most_insights, learn.most_operations) == (15, 4)
    assert (recall.retriever, recall.top_k, recall.mined, recall.past_repairs) == (
        RetrieverKind.PAPER,
        5,
        False,
        0,
    )
    assert (steps.existing_tests, steps.tree_listing) == (0, True)
    config = settings.models_config()
    assert config.for_role(Role.REVIEW).name != config.for_role(Role.PATCH).name


def test_flags_go_over_a_profile_and_a_profile_over_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EXPEREPAIR_REPAIR__SAMPLES", "9")
    monkeypatch.setenv("EXPEREPAIR_MAX_TOKENS", "1000")
    settings = load(None, {"models": {Role.REVIEW: "openai:r"}, "recall": {"top_k": 2}}, "paper")
    assert (settings.repair.samples, settings.max_tokens) == (4, 1000)
    assert (settings.recall.top_k, settings.recall.retriever) == (2, RetrieverKind.PAPER)
    assert settings.models == {Role.REVIEW: "openai:r"}


def test_the_default_profile_changes_nothing_and_another_one_is_refused() -> None:
    assert PROFILES["default"] == {}
    assert load(None, {}).model_dump() == Settings().model_dump()
    with pytest.raises(UsageError, match="no profile 'papers'; there are default, paper"):
        load(None, {}, "papers")


def test_in_the_papers_profile_files_are_chosen_from_the_tree_and_nothing_of_ours_is_sent(
    tmp_path: Path,
) -> None:
    repository, model = toy.repository(tmp_path / "repo"), toy.model()
    result = repair(
        repository, toy.ISSUE, replay=model, profile="paper", memory="none", python=sys.executable, out=tmp_path / "out"
    )  # fmt: skip
    assert result.status is Status.REPAIRED
    assert result.existing_tests == ()
    assert result.places is not None
    assert (result.places.ranked, result.places.files) == ((), ("toy/stats.py",))
    chosen = next(request.prompt.user for request in model.asked if request.role is Role.LOCALIZE)
    assert "toy/\n  __init__.py\n  stats.py\n  unrelated.py" in chosen
    assert "test_stats.py" not in chosen
    assert "ranking" not in chosen


def test_a_choice_from_the_tree_that_cant_be_read_is_asked_for_again(tmp_path: Path) -> None:
    repository = toy.repository(tmp_path / "repo")
    model = toy.model(localize=("I would look everywhere.", *toy.REPLIES[Role.LOCALIZE]))
    result = repair(
        repository, toy.ISSUE, replay=model, profile="paper", memory="none", python=sys.executable, out=tmp_path / "out"
    )  # fmt: skip
    assert result.status is Status.REPAIRED


def test_a_listing_names_each_folder_once() -> None:
    paths = ("b/c/d.py", "a.py", "b/c/e.py", "b/f.py", "g/c/h.py")
    assert tree_listing(paths).splitlines() == [
        "a.py", "b/", "  c/", "    d.py", "    e.py", "  f.py", "g/", "  c/", "    h.py",
    ]  # fmt: skip
    assert tree_listing(()) == ""
