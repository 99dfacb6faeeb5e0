"""Export and import."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import pytest

from experepair.domain.memory import Use
from experepair.domain.roles import Agent
from experepair.errors import UsageError
from experepair.memory.store import Filter, State, Store, Verdict
from lessons import SCOPE, add, edit, run_lesson

NewUrl = Callable[[], str]


def lines(store: Store) -> list[str]:
    return [json.dumps(line) for line in store.export()]


@pytest.fixture
def full(new_sqlite: NewUrl) -> Iterator[Store]:
    """A store with something of every kind."""
    with Store.open(new_sqlite(), actor="me") as store:
        store.learn(run_lesson("a", operations=add("By a", "More by a")))
        seen = store.present(SCOPE, Agent.PATCH)[0]
        store.learn(
            run_lesson("b", operations={Agent.PATCH: [edit(seen, "By b")]}, uses=[Use(seen.id, named=True)])
        )
        store.learn(run_lesson("c", trusted=False, operations=add("By c")))
        store.learn(run_lesson("d", trusted=False, operations=add("By d")))
        store.learn(run_lesson("elsewhere", scope="elsewhere"))
        store.accept(SCOPE, ["issue-d"])
        store.verdict(SCOPE, "a", Verdict.EDITED, "their diff")
        store.learn(run_lesson("e", operations=add("By e")))
        store.revert(SCOPE, "e")
        store.forget(SCOPE, [f"{SCOPE}/b/pair"])
        yield store


def test_a_backup_restores_all_of_it(full: Store, store: Store) -> None:
    backup = lines(full)
    done = store.import_(backup, trusted=True)
    assert (done.lessons, done.skipped) == (7, ())
    assert lines(store)[1:] == backup[1:]
    for agent in Agent:
        assert store.insights(SCOPE, agent) == full.insights(SCOPE, agent)
        assert store.changes(SCOPE, agent, 0, 99) == full.changes(SCOPE, agent, 0, 99)
    assert store.listing(Filter()) == full.listing(Filter())
    assert store.verify() == ()


def test_importing_twice_is_once(full: Store, store: Store) -> None:
    store.import_(lines(full), trusted=True)
    before = lines(store)
    again = store.import_(lines(full), trusted=True)
    assert (again.lessons, again.demonstrations, again.events, again.skipped) == (0, 0, 0, ())
    assert lines(store) == before
    full.learn(run_lesson("later"))
    full.revert(SCOPE, "later")
    assert store.import_(lines(full), trusted=True).lessons == 1
    assert [one.state for one in store.lesson(SCOPE, "later")] == [State.REVERTED]
    assert store.verify() == ()


def test_what_is_imported_without_trust_is_quarantined_whatever_it_says(full: Store, store: Store) -> None:
    store.learn(run_lesson("mine", operations=add("Mine")))
    before = store.changes(SCOPE, Agent.PATCH, 0, 99)
    store.import_(lines(full))
    assert store.changes(SCOPE, Agent.PATCH, 0, 99)[: len(before)] == before
    assert all(
        change.demonstration is None for change in store.changes(SCOPE, Agent.PATCH, before[-1].event, 99)
    )
    assert [one.text for one in store.present(SCOPE, Agent.PATCH)] == ["Mine"]
    states = {one.state for one in store.listing(Filter()).entries if "mine" not in one.key}
    assert states == {State.QUARANTINED, State.REJECTED, State.FORGOTTEN, State.REVERTED}
    assert store.import_(lines(full)).lessons == 0
    store.accept(SCOPE, ["issue-b"])
    accepted = store.listing(Filter(issue_id="issue-b")).entries
    assert {(one.state, one.demonstration.trusted) for one in accepted} == {(State.ACCEPTED, False)}
    assert store.verify() == ()


def test_an_untrusted_import_cannot_stand_for_or_touch_what_is_ones_own(full: Store, store: Store) -> None:
    store.learn(run_lesson("mine"))
    with_orders = lines(full)
    order = json.loads(with_orders[-1])
    order |= {"uid": "0" * 32, "kind": "forgotten", "key": ""}
    order["body"] = {"lessons": ["run:mine"], "demonstrations": [f"{SCOPE}/mine/pair"], "insights": []}
    store.import_([*with_orders, json.dumps(order)])
    assert store.demonstrations([f"{SCOPE}/mine/pair"])[f"{SCOPE}/mine/pair"].state is State.ACCEPTED
    assert store.learn(run_lesson("a")).new
    assert store.verify() == ()


def test_an_untrusted_import_keeps_to_the_caps_of_the_store_once_it_is_accepted(
    full: Store, store: Store
) -> None:
    greedy = [json.loads(line) for line in lines(full)]
    operation = next(line for line in greedy if line.get("kind") == "operation" and line["key"] == "run:a")
    body = operation["body"] | {"operation": "ADD", "insight": None, "cap": 1000, "refused": ""}
    more = [operation | {"uid": f"{n:032x}", "body": body | {"text": f"Poison {n}"}} for n in range(30)]
    place = greedy.index(operation)
    store.import_(map(json.dumps, [*greedy[:place], *more, *greedy[place + 1 :]]))
    store.accept(SCOPE, ["issue-a"])
    agent = Agent(body["agent"])
    assert [one.text for one in store.present(SCOPE, agent)] == [f"Poison {n}" for n in range(4)]
    assert store.verify() == ()


def test_a_lesson_that_both_stores_learned_is_there_once(full: Store, store: Store) -> None:
    store.learn(run_lesson("a"))
    done = store.import_(lines(full), trusted=True)
    assert done.skipped == (f"run:a: {SCOPE!r} has learned it already",)
    assert store.listing(Filter(key="run:a")).total == 3
    assert store.verify() == ()


@pytest.mark.parametrize(
    ("number", "line"),
    [
        (1, "{}"),
        (1, '{"experepair_memory": 2, "identity": ""}'),
        (3, "no json"),
        (3, "[" * 100_000),
        (3, '{"event": 1}'),
        (3, '{"event": NaN}'),
    ],
)
def test_an_import_that_cannot_be_read_changes_nothing_and_names_the_line(
    full: Store, store: Store, number: int, line: str
) -> None:
    bad = lines(full)
    bad[number - 1] = line
    with pytest.raises(UsageError, match=f"line {number} "):
        store.import_(bad, trusted=True)
    assert store.scopes() == {}


def test_one_repository_can_be_exported_alone(full: Store, store: Store) -> None:
    store.import_((json.dumps(line) for line in full.export("elsewhere")), trusted=True)
    assert store.scopes() == {"elsewhere": 1}
