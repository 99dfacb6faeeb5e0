"""What people do to memory."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from experepair.domain.memory import Operation, OperationKind, Origin, Use
from experepair.domain.roles import Agent
from experepair.errors import UsageError
from experepair.memory.config import LearnConfig
from experepair.memory.store import Filter, InsightRecord, State, Store, Verdict
from lessons import SCOPE, add, edit, remove, run_lesson


def records(store: Store) -> list[InsightRecord]:
    return [record for agent in Agent for record in store.insights(SCOPE, agent)]


def recallable(store: Store) -> dict[str, str]:
    """Ids and successes as an index that reads all changes would hold them."""
    held: dict[str, str] = {}
    for agent in Agent:
        for change in store.changes(SCOPE, agent, 0, 1000):
            if change.demonstration is not None:
                held[change.id] = change.demonstration.success
    return held


def test_what_comes_of_an_untrusted_issue_waits_until_it_is_accepted(store: Store) -> None:
    learned = store.learn(run_lesson("a", trusted=False, operations=add("Poison?")))
    assert (recallable(store), records(store)) == ({}, [])
    assert {one.state for one in store.listing(Filter(state=State.QUARANTINED)).entries} == {
        State.QUARANTINED
    }
    assert [held.key for held in store.lessons(state=State.QUARANTINED)] == ["run:a"]
    done = store.accept(SCOPE, ["run:a"])
    assert set(done.demonstrations) == set(learned.demonstrations) == set(recallable(store))
    assert [record.insight.text for record in records(store)] == ["Poison?"]
    assert {one.demonstration.trusted for one in store.listing(Filter()).entries} == {False}
    assert store.verify() == ()


def test_one_demonstration_can_be_accepted_alone(store: Store) -> None:
    ids = store.learn(run_lesson("a", trusted=False, operations=add("Poison?"))).demonstrations
    store.accept(SCOPE, [ids[1]])
    assert list(recallable(store)) == [ids[1]]
    assert records(store) == []


def test_operations_that_waited_are_applied_to_the_insights_as_they_are_now(store: Store) -> None:
    store.learn(run_lesson("a", operations=add("Old")))
    seen = store.present(SCOPE, Agent.PATCH)[0]
    store.learn(run_lesson("b", trusted=False, operations={Agent.PATCH: [edit(seen, "By b")]}))
    store.learn(run_lesson("c", operations={Agent.PATCH: [edit(seen, "By c")]}))
    store.accept(SCOPE, ["issue-b"])
    assert {record.insight.text for record in records(store)} == {"By c", "By b"}


def test_forgetting_hides_and_accepting_shows_again(store: Store) -> None:
    ids = store.learn(run_lesson("a", operations=add("Read"))).demonstrations
    store.forget(SCOPE, ["issue-a"])
    assert (recallable(store), records(store)) == ({}, [])
    assert store.demonstrations(ids)[ids[0]].demonstration.success
    store.accept(SCOPE, ["issue-a"])
    assert set(recallable(store)) == set(ids)
    assert store.verify() == ()


def test_a_name_that_stands_for_nothing_is_refused(store: Store) -> None:
    with pytest.raises(UsageError, match="nothing of the repository 'elsewhere'"):
        store.forget("elsewhere", ["issue-a"])
    store.learn(run_lesson("a"))
    with pytest.raises(UsageError, match="'issue-b'"):
        store.forget(SCOPE, ["issue-a", "issue-b"])
    assert len(recallable(store)) == 3
    for name in ("issue-b", f"{SCOPE}/a/pair"):
        with pytest.raises(UsageError, match="no run, lesson or issue"):
            store.revert(SCOPE, name)


def test_a_rejected_patch_is_no_success_any_more(store: Store) -> None:
    store.learn(run_lesson("a", operations=add("Read")))
    insight = store.present(SCOPE, Agent.PATCH)[0]
    store.learn(run_lesson("b", uses=[Use(insight.id, named=True)]))
    store.verdict(SCOPE, "b", Verdict.REJECTED)
    assert set(recallable(store)) == {f"{SCOPE}/a/{part}" for part in ("test", "pair", "tuple")} | {
        f"{SCOPE}/b/test"
    }
    assert records(store)[0].usage.outcomes == {"rejected": 1}
    assert store.stats(SCOPE).with_memory == {"rejected": 1}
    assert [held.verdict for held in store.lesson(SCOPE, "b")] == [Verdict.REJECTED]
    store.verdict(SCOPE, "b", Verdict.ACCEPTED)
    assert len(recallable(store)) == 6
    assert records(store)[0].usage.outcomes == {"repaired": 1}
    assert store.verify() == ()


def test_an_edited_patch_is_replaced_by_the_humans(store: Store) -> None:
    store.learn(run_lesson("a"))
    store.verdict(SCOPE, "a", Verdict.EDITED, "their diff", paths=("b.py",))
    texts = recallable(store)
    assert sorted(texts.values()) == ["def test_a(): ...", "their diff", "their diff"]
    humans = store.listing(Filter(origin=Origin.HUMAN)).entries
    assert {(one.demonstration.paths, one.demonstration.issue_id) for one in humans} == {
        (("b.py",), "issue-a")
    }
    assert {one.demonstration.failure is None for one in humans} == {True, False}
    store.verdict(SCOPE, "a", Verdict.EDITED, "their second diff")
    assert sorted(recallable(store).values())[1:] == ["their second diff"] * 2
    store.verdict(SCOPE, "a", Verdict.EDITED, "their diff")
    assert sorted(recallable(store).values())[1:] == ["their diff"] * 2
    store.revert(SCOPE, "a")
    assert recallable(store) == {}
    assert store.verify() == ()


def test_a_verdict_needs_a_known_repair_and_a_patch_where_it_was_edited(store: Store) -> None:
    store.learn(run_lesson("a"))
    with pytest.raises(UsageError, match="knows no repair 'b'"):
        store.verdict(SCOPE, "b", Verdict.ACCEPTED)
    for verdict, patch in ((Verdict.EDITED, None), (Verdict.EDITED, " "), (Verdict.REJECTED, "diff")):
        with pytest.raises(UsageError, match="goes with the verdict 'edited'"):
            store.verdict(SCOPE, "a", verdict, patch)


def test_reverting_gives_back_what_was_there_also_who_had_left_for_lack_of_room(store: Store) -> None:
    for number in range(15):
        store.learn(run_lesson(f"fill{number}", operations=add(f"Lesson {number}")))
    first, second, third, *_ = store.present(SCOPE, Agent.PATCH)
    before, held = records(store), recallable(store)
    operations = [
        edit(third, "Changed"),
        remove(second),
        Operation(OperationKind.ADD, "A"),
        Operation(OperationKind.ADD, "B"),
    ]
    store.learn(run_lesson("bad", operations={Agent.PATCH: operations}, uses=[Use(first.id)]))
    assert first.id not in {record.insight.id for record in records(store)}
    done = store.revert(SCOPE, "issue-bad")
    assert records(store) == before
    assert recallable(store) == held
    assert f"{first.id} came back" in done.insights
    assert f"{third.id} has another text" in done.insights
    assert store.verify() == ()


def test_what_a_later_lesson_wrote_stays_when_what_it_built_on_is_reverted(store: Store) -> None:
    store.learn(run_lesson("a", operations=add("By a")))
    seen = store.present(SCOPE, Agent.PATCH)[0]
    store.learn(run_lesson("b", operations={Agent.PATCH: [edit(seen, "By b")]}))
    store.revert(SCOPE, "a")
    assert [record.insight.text for record in records(store)] == ["By b"]
    store.revert(SCOPE, "b")
    assert records(store) == []


def test_a_reverted_run_stays_known(store: Store) -> None:
    store.learn(run_lesson("a"))
    store.revert(SCOPE, "a")
    assert not store.learn(run_lesson("a")).new
    assert store.knows(SCOPE, ["run:a"])
    assert [one.state for one in store.lesson(SCOPE, "issue-a")] == [State.REVERTED]


@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_reverting_the_newest_lesson_gives_back_exactly_what_was_there(
    new_sqlite: Callable[[], str], data: st.DataObject
) -> None:
    with Store.open(new_sqlite(), LearnConfig(most_insights=4)) as store:
        for number in range(4):
            store.learn(run_lesson(str(number), operations={Agent.PATCH: data.draw(_operations(store))}))
        before = records(store)
        store.learn(run_lesson("bad", operations={Agent.PATCH: data.draw(_operations(store))}))
        store.revert(SCOPE, "run:bad")
        assert records(store) == before
        assert store.verify() == ()


def _operations(store: Store) -> st.SearchStrategy[list[Operation]]:
    present = store.present(SCOPE, Agent.PATCH)
    one = st.builds(Operation, st.just(OperationKind.ADD), st.text("ab", min_size=1, max_size=6))
    if present:
        target = st.sampled_from(present)
        one = st.one_of(
            one, st.builds(edit, target, st.text("cd", min_size=1, max_size=6)), st.builds(remove, target)
        )
    return st.lists(one, max_size=4)
