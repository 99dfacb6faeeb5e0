"""Lessons enter whole and once."""

from __future__ import annotations

from dataclasses import replace

from experepair.domain.memory import Use
from experepair.domain.roles import Agent
from experepair.memory.store import Filter, State, Store, Usage
from lessons import SCOPE, add, run_lesson


def test_a_demonstration_comes_back_as_it_was_learned(store: Store) -> None:
    lesson = run_lesson("a")
    learned = store.learn(lesson)
    assert learned.new
    found = store.demonstrations(learned.demonstrations)
    assert [one.demonstration for one in found.values()] == list(lesson.demonstrations)
    assert {(one.state, one.scope, one.key) for one in found.values()} == {
        (State.ACCEPTED, SCOPE, "run:a"),
    }


def test_demonstrations_come_in_the_order_of_the_ids_without_unknown_ones(store: Store) -> None:
    ids = store.learn(run_lesson("a")).demonstrations
    wanted = [ids[2], "unknown", ids[0], ids[2]]
    assert list(store.demonstrations(wanted)) == [ids[2], ids[0]]


def test_the_same_run_twice_is_once(store: Store) -> None:
    lesson = run_lesson("a", operations=add("Read the traceback."))
    store.learn(lesson)
    again = store.learn(run_lesson("a", operations=add("Another one.")))
    assert (again.new, again.demonstrations, again.operations) == (False, (), ())
    assert store.listing(Filter()).total == 3
    assert [one.text for one in store.present(SCOPE, Agent.PATCH)] == ["Read the traceback."]


def test_the_same_key_in_another_repository_is_another_lesson(store: Store) -> None:
    store.learn(run_lesson("a"))
    assert store.learn(run_lesson("a", scope="elsewhere")).new
    assert store.scopes() == {"elsewhere": 1, SCOPE: 1}


def test_learn_many_counts_what_was_new(store: Store) -> None:
    lessons = [run_lesson(str(number)) for number in range(600)]
    assert store.learn_many(lessons[:7]) == 7
    assert store.learn_many([*lessons, lessons[0]]) == 593
    assert store.scopes() == {SCOPE: 600}
    assert store.knows(SCOPE, ["run:0", "run:599", "run:600"]) == {"run:0", "run:599"}
    assert store.knows("elsewhere", ["run:0"]) == set()


def test_an_id_that_is_taken_gets_a_suffix_and_nothing_is_lost(store: Store) -> None:
    first, second = run_lesson("a"), run_lesson("b")
    same = tuple(
        replace(d, id=f.id) for d, f in zip(second.demonstrations, first.demonstrations, strict=True)
    )
    ids = (
        *store.learn(first).demonstrations,
        *store.learn(replace(second, demonstrations=same)).demonstrations,
    )
    assert len(set(ids)) == 6
    assert len(store.demonstrations(ids)) == 6


def test_an_index_sees_changes_in_the_order_of_events_and_of_its_agent_only(store: Store) -> None:
    for name in "abc":
        store.learn(run_lesson(name))
    changes = store.changes(SCOPE, Agent.PATCH, 0, 100)
    assert [change.id for change in changes] == [
        f"{SCOPE}/{n}/{part}" for n in "abc" for part in ("pair", "tuple")
    ]
    assert [change.event for change in changes] == sorted(change.event for change in changes)
    assert store.head(SCOPE, Agent.PATCH) == changes[-1].event
    assert store.changes(SCOPE, Agent.PATCH, changes[3].event, 1) == [changes[4]]
    assert len(store.changes(SCOPE, Agent.TEST, 0, 100)) == 3
    assert (store.head("elsewhere", Agent.TEST), store.changes("elsewhere", Agent.TEST, 0, 9)) == (0, [])


def test_changes_of_one_event_are_never_parted(store: Store) -> None:
    for name in "abc":
        store.learn(run_lesson(name))
    before = store.head(SCOPE, Agent.PATCH)
    store.forget(SCOPE, ["issue-a", "issue-b"])
    page = store.changes(SCOPE, Agent.PATCH, before, 1)
    assert [change.demonstration for change in page] == [None] * 4
    assert store.changes(SCOPE, Agent.PATCH, page[-1].event, 1) == []


def test_what_was_recalled_is_counted_with_the_ending_of_the_repair(store: Store) -> None:
    store.learn(run_lesson("a", operations=add("Read the traceback.")))
    insight = store.present(SCOPE, Agent.PATCH)[0]
    shown = f"{SCOPE}/a/pair"
    store.learn(run_lesson("b", uses=[Use(insight.id, named=True), Use(shown)]))
    store.learn(run_lesson("c", outcome="unresolved", uses=[Use(insight.id), Use(insight.id), Use(shown)]))
    record = store.insights(SCOPE, Agent.PATCH)[0]
    assert record.insight == insight
    assert record.usage == Usage(recalled=2, named=1, outcomes={"repaired": 1, "unresolved": 1})
    assert store.usage([shown, "unused"]) == {
        shown: Usage(recalled=2, named=0, outcomes={"repaired": 1, "unresolved": 1}),
        "unused": Usage(),
    }


def test_names_that_no_database_can_hold_are_escaped_alike_everywhere(store: Store) -> None:
    lesson = run_lesson("a\0\ud800")
    ids = store.learn(lesson).demonstrations
    assert not store.learn(lesson).new
    assert [d.success for d in lesson.demonstrations] == [
        one.demonstration.success for one in store.demonstrations(ids).values()
    ]
    assert store.knows(SCOPE, [lesson.key]) == {lesson.key}
    assert store.verify() == ()
