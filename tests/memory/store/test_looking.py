"""Lists, log, figures and the check of the projection."""

from __future__ import annotations

from dataclasses import replace

import pytest
import sqlalchemy as sa

from experepair.domain.memory import Origin, Use
from experepair.domain.roles import Agent
from experepair.errors import UsageError
from experepair.memory.lesson import Source
from experepair.memory.store import Filter, State, Store, Verdict
from lessons import SCOPE, add, run_lesson


def ids(store: Store, wanted: Filter) -> set[str]:
    return {one.demonstration.id.removeprefix(f"{SCOPE}/") for one in store.listing(wanted).entries}


def test_a_filter_narrows_by_all_that_it_names(store: Store) -> None:
    store.learn(run_lesson("a"))
    store.learn(run_lesson("b", trusted=False))
    store.learn(run_lesson("x", scope="elsewhere"))
    assert len(ids(store, Filter())) == 9
    assert ids(store, Filter(scope=SCOPE, agent=Agent.TEST)) == {"a/test", "b/test"}
    assert ids(store, Filter(scope=SCOPE, state=State.ACCEPTED)) == {"a/test", "a/pair", "a/tuple"}
    assert ids(store, Filter(issue_id="issue-b", agent=Agent.PATCH)) == {"b/pair", "b/tuple"}
    assert ids(store, Filter(key="run:b", origin=Origin.MINED)) == set()
    assert ids(store, Filter(text="TRIED A")) == {"a/tuple"}
    assert ids(store, Filter(text="naïve", agent=Agent.TEST, scope=SCOPE)) == {"a/test", "b/test"}
    assert ids(store, Filter(text="%")) == set()


def test_pages_come_newest_first_and_know_the_total(store: Store) -> None:
    store.learn_many(run_lesson(name) for name in "abcd")
    first, second = store.listing(Filter(), 0, 7), store.listing(Filter(), 7, 7)
    assert (len(first.entries), len(second.entries), first.total, second.total) == (7, 5, 12, 12)
    events = [one.event for one in (*first.entries, *second.entries)]
    assert events == sorted(events, reverse=True)


def test_lessons_say_what_they_were(store: Store) -> None:
    store.learn(run_lesson("a", outcome="unresolved"))
    store.learn(run_lesson("b", issue="issue-a"))
    assert [held.key for held in store.lessons(SCOPE)] == ["run:b", "run:a"]
    held = store.lesson(SCOPE, "a")[0]
    assert (held.source, held.issue_id, held.title, held.outcome, held.state, held.verdict) == (
        Source.RUN,
        "issue-a",
        "Title of a",
        "unresolved",
        State.ACCEPTED,
        None,
    )
    assert [held.key for held in store.lesson(SCOPE, "issue-a")] == ["run:a", "run:b"]


def test_the_log_says_who_did_what_from_which_source(store: Store) -> None:
    store.learn(run_lesson("a", operations=add("By a")))
    insight = store.present(SCOPE, Agent.PATCH)[0]
    store.forget(SCOPE, [insight.id])
    log = store.log(SCOPE)
    assert [entry.kind for entry in log] == [
        "forgotten",
        "operation",
        "demonstration",
        "demonstration",
        "demonstration",
        "learned",
    ]
    learned = log[-1]
    assert (learned.key, learned.source, learned.issue_id, learned.outcome) == (
        "run:a",
        "run",
        "issue-a",
        "repaired",
    )
    assert learned.detail["models"] == ["provider:model"]
    assert learned.actor
    assert [entry.kind for entry in store.log(SCOPE, insight.id)] == ["forgotten", "operation"]
    assert [entry.event for entry in store.log(SCOPE, before=log[1].event, limit=2)] == [
        e.event for e in log[2:4]
    ]
    assert store.log("elsewhere") == ()


def test_long_texts_are_cut_in_the_log(store: Store) -> None:
    lesson = run_lesson("a")
    store.learn(replace(lesson, patch="x" * 10_000))
    assert len(store.log()[-1].detail["patch"]) < 300


def test_the_figures_tell_growth_use_and_what_memory_brought(store: Store) -> None:
    store.learn(run_lesson("a", operations=add("By a")))
    insight = store.present(SCOPE, Agent.PATCH)[0]
    uses = [Use(insight.id, named=True), Use(f"{SCOPE}/a/pair")]
    store.learn(run_lesson("b", uses=uses))
    store.learn(run_lesson("c", uses=uses[1:], outcome="unresolved"))
    store.learn(run_lesson("d", uses=uses, trusted=False))
    store.verdict(SCOPE, "a", Verdict.REJECTED)
    stats = store.stats(SCOPE)
    assert stats.lessons == {"run accepted": 3, "run quarantined": 1}
    assert stats.demonstrations == {
        "patch validated accepted": 4,
        "patch validated quarantined": 2,
        "patch validated rejected": 2,
        "test validated accepted": 3,
        "test validated quarantined": 1,
    }
    assert (stats.insights, stats.growth) == ({"patch": 1}, {"2026-01": 4})
    assert stats.recalls == {"insights": 1, "demonstrations": 2, "named": 1}
    assert stats.with_memory == {"repaired": 1, "unresolved": 1}
    assert stats.without_memory == {"rejected": 1}
    assert stats.events == 4 + 12 + 1 + 3 + 1
    assert stats.size > 0
    assert store.stats() == stats
    with pytest.raises(UsageError, match="elsewhere"):
        store.stats("elsewhere")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            "UPDATE memory_demonstration SET marks = 4 WHERE agent = 'test'",
            "differs from its events in marks",
        ),
        ("DELETE FROM memory_use", "memory_use: "),
        ("UPDATE memory_lesson SET outcome = 'other'", "differs from its events in outcome"),
        ("DELETE FROM memory_insight", "the insights of repository 1 differ"),
    ],
)
def test_a_projection_that_differs_from_its_events_is_noticed(store: Store, change: str, said: str) -> None:
    store.learn(run_lesson("a", operations=add("By a"), uses=[Use("x")]))
    assert store.verify() == ()
    with store._database.write() as connection:
        connection.execute(sa.text(change))
    assert len(store.verify()) == 1
    assert said in store.verify()[0]
