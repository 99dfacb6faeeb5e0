"""The rules of the insights, pure and in the store."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from experepair.domain.memory import Insight, Operation, OperationKind, Use
from experepair.domain.roles import Agent
from experepair.memory.config import LearnConfig
from experepair.memory.store import Store
from experepair.memory.store.semantic import Insights, Wish, insight_id
from lessons import SCOPE, add, edit, remove, run_lesson


def texts(store: Store, agent: Agent = Agent.PATCH) -> list[str]:
    return [insight.text for insight in store.present(SCOPE, agent)]


def fill(store: Store, count: int, first: int = 0) -> None:
    for number in range(first, first + count):
        store.learn(run_lesson(f"fill{number}", operations=add(f"Lesson {number}")))


def patch(*operations: Operation) -> dict[Agent, tuple[Operation, ...]]:
    return {Agent.PATCH: operations}


def test_insights_are_numbered_in_the_order_in_which_they_were_added(store: Store) -> None:
    store.learn(run_lesson("a", operations=add("One", "Two") | add("Other", agent=Agent.TEST)))
    store.learn(run_lesson("b", operations=add("Three")))
    assert [(i.number, i.text) for i in store.present(SCOPE, Agent.PATCH)] == [
        (1, "One"),
        (2, "Two"),
        (3, "Three"),
    ]
    assert texts(store, Agent.TEST) == ["Other"]


def test_an_edit_keeps_the_place_and_gets_a_new_revision(store: Store) -> None:
    store.learn(run_lesson("a", operations=add("One", "Two")))
    one, two = store.present(SCOPE, Agent.PATCH)
    store.learn(run_lesson("b", operations=patch(edit(one, "One, better"))))
    edited = store.present(SCOPE, Agent.PATCH)
    assert [i.text for i in edited] == ["One, better", "Two"]
    assert (edited[0].id, edited[1]) == (one.id, two)
    assert edited[0].revision > one.revision


def test_the_least_recently_applied_leaves_first(store: Store) -> None:
    fill(store, 15)
    first, second, *_ = store.present(SCOPE, Agent.PATCH)
    store.learn(run_lesson("named", uses=[Use(first.id, named=True), Use(second.id)]))
    learned = store.learn(run_lesson("more", operations=add("The sixteenth")))
    assert learned.operations[-1] == f"{second.id} left: the least recently used of more than 15"
    assert texts(store) == ["Lesson 0", *(f"Lesson {n}" for n in range(2, 15)), "The sixteenth"]


def test_nobody_leaves_when_a_removal_of_the_same_lesson_makes_room(store: Store) -> None:
    fill(store, 15)
    last = store.present(SCOPE, Agent.PATCH)[-1]
    store.learn(run_lesson("more", operations=patch(Operation(OperationKind.ADD, "New"), remove(last))))
    assert texts(store) == [*(f"Lesson {n}" for n in range(14)), "New"]


def test_an_edit_of_a_text_that_changed_meanwhile_enters_beside_it(store: Store) -> None:
    store.learn(run_lesson("a", operations=add("Old")))
    seen = store.present(SCOPE, Agent.PATCH)[0]
    store.learn(run_lesson("b", operations=patch(edit(seen, "By b"))))
    learned = store.learn(run_lesson("c", operations=patch(edit(seen, "By c"))))
    assert "changed since it was read; added beside it" in learned.operations[0]
    assert texts(store) == ["By b", "By c"]


def test_a_removal_of_a_text_that_changed_meanwhile_is_dropped(store: Store) -> None:
    store.learn(run_lesson("a", operations=add("Old")))
    seen = store.present(SCOPE, Agent.PATCH)[0]
    store.learn(run_lesson("b", operations=patch(edit(seen, "By b"))))
    learned = store.learn(run_lesson("c", operations=patch(remove(seen))))
    assert (learned.operations, len(learned.dropped)) == ((), 1)
    assert texts(store) == ["By b"]


def test_an_edit_of_what_left_meanwhile_is_not_lost(store: Store) -> None:
    store.learn(run_lesson("a", operations=add("Old")))
    seen = store.present(SCOPE, Agent.PATCH)[0]
    store.learn(run_lesson("b", operations=patch(remove(seen))))
    store.learn(run_lesson("c", operations=patch(edit(seen, "By c"))))
    assert texts(store) == ["By c"]


def test_an_edit_does_not_bring_back_what_a_user_had_forgotten(store: Store) -> None:
    store.learn(run_lesson("a", operations=add("Old")))
    seen = store.present(SCOPE, Agent.PATCH)[0]
    store.forget(SCOPE, [seen.id])
    learned = store.learn(run_lesson("c", operations=patch(edit(seen, "By c"))))
    assert "a user had it forgotten" in learned.dropped[0]
    assert texts(store) == []


def test_the_same_text_enters_once(store: Store) -> None:
    store.learn(run_lesson("a", operations=add("Read the traceback.")))
    learned = store.learn(run_lesson("b", operations=add("read  the Traceback")))
    assert "the text is there already" in learned.dropped[0]
    assert texts(store) == ["Read the traceback."]


def test_malformed_operations_are_dropped_one_by_one_and_the_rest_applies(store: Store) -> None:
    store.learn(run_lesson("a", operations=add("Old") | add("Theirs", agent=Agent.TEST)))
    mine, theirs = store.present(SCOPE, Agent.PATCH)[0], store.present(SCOPE, Agent.TEST)[0]
    operations = (
        Operation(OperationKind.ADD, " \n"),
        Operation(OperationKind.EDIT, "to nobody"),
        Operation(OperationKind.ADD, "x" * 5000),
        edit(theirs, "not mine"),
    )
    assert len(store.learn(run_lesson("b", operations=patch(*operations))).dropped) == 4
    both = patch(
        edit(mine, "Newer"), remove(mine), Operation(OperationKind.ADD, "Good", mine), edit(mine, "Newest")
    )
    assert len(store.learn(run_lesson("c", operations=both)).dropped) == 3
    fifth = add("One", "Two", "Three", "Four", "Five")
    assert "one more than the 4" in store.learn(run_lesson("d", operations=fifth)).dropped[0]
    assert texts(store) == ["Newer", "One", "Two", "Three", "Four"]
    assert texts(store, Agent.TEST) == ["Theirs"]


def test_the_cap_is_a_setting_and_that_of_its_time_counts(new_sqlite: Callable[[], str]) -> None:
    url = new_sqlite()
    with Store.open(url, LearnConfig(most_insights=2)) as store:
        fill(store, 4)
        assert texts(store) == ["Lesson 2", "Lesson 3"]
    with Store.open(url, LearnConfig(most_insights=5)) as store:
        fill(store, 2, first=4)
        assert texts(store) == ["Lesson 2", "Lesson 3", "Lesson 4", "Lesson 5"]
        assert store.verify() == ()


WISHES = st.lists(
    st.tuples(
        st.sampled_from(list(OperationKind)),
        st.sampled_from(list(Agent)),
        st.integers(0, 40),
        st.text("abc .", min_size=1, max_size=3),
        st.booleans(),
    ),
    max_size=60,
)


@given(WISHES, st.integers(0, 6))
def test_whatever_is_asked_for_the_cap_holds_and_no_text_is_there_twice(
    asked: list[tuple[OperationKind, Agent, int, str, bool]], cap: int
) -> None:
    insights = Insights()
    uids: list[str] = []
    for event, (kind, agent, target, text, fresh) in enumerate(asked, 1):
        uid = f"{event:032x}"
        named = uids[target % len(uids)] if uids else uid
        wish = Wish(
            event=event,
            uid=uid,
            agent=agent,
            kind=kind,
            text=text,
            target=None if kind is OperationKind.ADD else insight_id(named),
            seen=named if fresh else "",
            cap=cap,
        )
        uids.append(uid)
        outcome = insights.apply(event, (), [wish])
        assert len(outcome.applied) - len(outcome.evicted) + len(outcome.dropped) == 1
        for one in Agent:
            present = [slot.text for slot in insights.present() if slot.agent is one]
            assert len(present) <= cap
            assert len({" ".join(t.split()).rstrip(".!") for t in present if t.strip()}) == len(
                [t for t in present if t.strip()]
            )


def test_insights_of_a_repository_nobody_knows_are_none(store: Store) -> None:
    assert store.present("elsewhere", Agent.PATCH) == ()
    assert store.insights("elsewhere", Agent.PATCH) == ()
    assert Insight("i", 1, "t").revision == 0
