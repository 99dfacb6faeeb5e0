"""A repair that was taken over can't be learned by the process that lost it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from experepair.errors import LeaseLost
from experepair.memory.lesson import Lesson
from experepair.memory.store import Store
from lessons import add, run_lesson

SCOPE = run_lesson("1").issue.repository


def held(lesson: Lesson, fence: int) -> Lesson:
    return replace(lesson, fence=fence)


def test_only_the_last_holder_of_a_run_teaches_it(store: Store) -> None:
    lesson = run_lesson("1", operations=add("Look twice."))
    store.raise_fence(SCOPE, lesson.key, 2)
    store.raise_fence(SCOPE, lesson.key, 1)  # comes late, and lowers nothing
    with pytest.raises(LeaseLost, match="number 2, this one has 1"):
        store.learn(held(lesson, 1))
    assert not store.knows(SCOPE, [lesson.key])
    assert store.verify() == ()
    assert store.learn(held(lesson, 2)).new
    assert not store.learn(held(lesson, 1)).new
    assert store.verify() == ()


def test_what_was_learned_before_the_takeover_stays_and_is_not_learned_again(store: Store) -> None:
    lesson = run_lesson("1")
    assert store.learn(held(lesson, 1)).new
    store.raise_fence(SCOPE, lesson.key, 2)
    assert not store.learn(held(lesson, 2)).new


def test_a_fence_stands_before_one_run_of_one_repository(store: Store) -> None:
    lesson, other = run_lesson("1"), run_lesson("2")
    store.raise_fence(SCOPE, lesson.key, 2)
    store.raise_fence("another/repository", other.key, 2)
    assert store.learn(held(other, 1)).new
