from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from experepair.domain.issue import Issue
from experepair.domain.memory import Demonstration, Failure, Insight, Operation, Origin, Query
from experepair.domain.roles import Agent
from experepair.memory.config import RecallConfig
from experepair.memory.eligibility import Bounds
from experepair.memory.lesson import Lesson
from experepair.memory.recall import Recaller
from experepair.memory.store import Store
from lessons import SCOPE as LESSONS
from lessons import add, edit, remove, run_lesson
from listed_store import SCOPE, ListedStore, demonstration

FILLER = [
    demonstration(f"filler{number}", f"The {word} of the garden is not painted in summer")
    for number, word in enumerate(
        ["gate", "fence", "bench", "lawn", "hedge", "shed", "pond", "path", "roof", "wall"]
    )
]


def recaller(
    tmp_path: Path, store: ListedStore, bounds: Bounds | None = None, **settings: object
) -> Recaller:
    """With indexes in a folder of the test's own."""
    config = RecallConfig.model_validate(settings)
    return Recaller(store, SCOPE, bounds or Bounds(), config, tmp_path)


def names(found: tuple[Demonstration, ...]) -> list[str]:
    return [each.id for each in found]


def query(issue: str, **more: object) -> Query:
    return Query(Agent.PATCH, "now", issue, **more)  # type: ignore[arg-type]


def test_the_demonstrations_most_like_the_issue_come_first(tmp_path: Path) -> None:
    store = ListedStore(
        [
            *FILLER,
            demonstration("parse", "QuerySet.union() crashes when the compiler resolves empty slices"),
            demonstration("near", "The compiler crashes on slices of QuerySet.values()"),
        ]
    )
    found = recaller(tmp_path, store).recall(query("QuerySet.union() crashes on empty slices"))
    assert names(found.demonstrations) == ["parse", "near"]
    assert found.considered == 12
    assert [line["id"] for line in found.audit["taken"]] == ["parse", "near"]


def test_an_empty_memory_recalls_nothing_at_all(tmp_path: Path) -> None:
    found = recaller(tmp_path, ListedStore()).recall(query("QuerySet.union() crashes"))
    assert found.demonstrations == () == found.insights
    assert found.considered == 0


def test_a_memory_of_other_things_recalls_nothing(tmp_path: Path) -> None:
    found = recaller(tmp_path, ListedStore(FILLER)).recall(
        query("QuerySet.union() crashes on empty slices of the compiler, painted or not")
    )
    assert names(found.demonstrations) == []
    assert found.audit["left_out"]["not alike enough"] > 0


@pytest.mark.parametrize("others", [0, 1, 10])
def test_a_short_issue_that_was_there_before_is_recalled_however_long_its_fix_is(
    tmp_path: Path, others: int
) -> None:
    diff = "".join(f"+    guard_{number}(values, {number})\n" for number in range(50))
    fix = f"--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n{diff}"
    known = demonstration("known", "mean([]) raises a ZeroDivisionError when empty", fix)
    store = ListedStore([*FILLER[:others], known])
    found = recaller(tmp_path, store).recall(query("mean([]) raises a ZeroDivisionError"))
    assert names(found.demonstrations) == ["known"]


def test_at_most_top_k_are_recalled_and_at_most_one_an_issue(tmp_path: Path) -> None:
    store = ListedStore(
        [
            *FILLER,
            *(demonstration(f"d{number}", f"Crash in union number {number}") for number in range(9)),
            *(demonstration(f"e{number}", "Crash in union", issue_id="issue-d0") for number in range(4)),
        ]
    )
    found = recaller(tmp_path, store, top_k=3).recall(query("Crash in union"))
    assert len(found.demonstrations) == 3
    assert len({each.issue_id for each in found.demonstrations}) == 3


def test_the_issue_itself_is_never_recalled(tmp_path: Path) -> None:
    store = ListedStore([*FILLER, demonstration("own", "Crash in union", issue_id="now")])
    found = recaller(tmp_path, store).recall(query("Crash in union"))
    assert found.demonstrations == ()
    assert found.audit["left_out"] == {"same issue": 1}
    assert found.audit["near"][0] | {"score": 0, "likeness": 0} == {
        "id": "own",
        "issue": "now",
        "origin": "validated",
        "score": 0,
        "likeness": 0,
        "why": "same issue",
    }


def test_only_fixes_in_ancestors_of_the_commit_are_recalled_of_the_mined_ones(tmp_path: Path) -> None:
    mined = [
        demonstration(f"m{number}", "Crash in union", origin=Origin.MINED, commit=f"{number:040x}")
        for number in range(20)
    ]
    store = ListedStore([*FILLER, *mined])
    bounds = Bounds(ancestors=lambda commit: int(commit, 16) in (3, 11))
    found = recaller(tmp_path, store, bounds).recall(query("Crash in union"))
    assert sorted(names(found.demonstrations)) == ["m11", "m3"]
    assert found.audit["left_out"]["not an ancestor"] == 18


def test_recall_goes_deeper_when_the_nearest_may_not_be_seen(tmp_path: Path) -> None:
    later = [
        demonstration(
            f"m{number}", "Crash in union", f"fix {number}", origin=Origin.MINED, commit=f"{number:040x}"
        )
        for number in range(700)
    ]
    wanted = demonstration("wanted", "Crash in the union of several long words about things")
    found = recaller(tmp_path, ListedStore([*later, wanted, *FILLER])).recall(query("Crash in union"))
    assert names(found.demonstrations) == ["wanted"]


def test_in_a_bench_only_earlier_issues_are_recalled(tmp_path: Path) -> None:
    store = ListedStore(
        [
            *FILLER,
            demonstration("early", "Crash in union A", created_at=datetime(2019, 5, 1, tzinfo=UTC)),
            demonstration("late", "Crash in union B", created_at=datetime(2019, 7, 1, tzinfo=UTC)),
            demonstration("undated", "Crash in union C", created_at=None),
        ]
    )
    bounds = Bounds(before=datetime(2019, 7, 1, tzinfo=UTC))
    assert names(recaller(tmp_path, store, bounds).recall(query("Crash in union")).demonstrations) == [
        "early"
    ]


def test_in_a_bench_insights_are_those_that_earlier_and_other_issues_make(tmp_path: Path) -> None:
    day = datetime(2019, 7, 1, tzinfo=UTC)

    def lesson(
        name: str, operations: Mapping[Agent, Sequence[Operation]], days: int, text: str = ""
    ) -> Lesson:
        made = run_lesson(name, operations=operations)
        issue = replace(made.issue, created_at=day + timedelta(days), text=text or made.issue.text)
        return replace(made, issue=issue)

    twin = "Calling union() on two empty slices of a QuerySet crashes with an IndexError"
    with Store.open(str(tmp_path / "memory.db")) as store:
        store.learn(lesson("early", add("As it was.", "Removed later."), days=-2))
        first, second = store.present(LESSONS, Agent.PATCH)
        store.learn(lesson("late", {Agent.PATCH: [edit(first, "As it became."), remove(second)]}, days=0))
        store.learn(lesson("twin", add("Of the same."), days=-1, text=f"{twin}."))

        def texts(bounds: Bounds) -> list[str]:
            recaller = Recaller(store, LESSONS, bounds, RecallConfig(), tmp_path)
            return [one.text for one in recaller.recall(query(twin)).insights]

        assert texts(Bounds()) == ["As it became.", "Of the same."]
        assert texts(Bounds(before=day)) == ["As it was.", "Removed later.", "Of the same."]
        assert texts(Bounds(before=day, bar_near_duplicates=True)) == ["As it was.", "Removed later."]


@pytest.mark.parametrize(("barred", "expected"), [(True, []), (False, ["twin"])])
def test_near_duplicates_are_barred_in_a_bench_only(
    tmp_path: Path, barred: bool, expected: list[str]
) -> None:
    issue = "Calling union() on two empty slices of a QuerySet crashes with an IndexError in the compiler"
    store = ListedStore([*FILLER, demonstration("twin", issue + " since 3.0")])
    found = recaller(tmp_path, store, Bounds(bar_near_duplicates=barred)).recall(query(issue))
    assert names(found.demonstrations) == expected


def test_entries_of_untrusted_origin_are_capped(tmp_path: Path) -> None:
    store = ListedStore(
        [
            *FILLER,
            *(
                demonstration(f"h{number}", f"Crash in union of kind {number}", trusted=False)
                for number in range(9)
            ),
            demonstration("own", "A crash was seen in some union with many more words in it"),
        ]
    )
    found = recaller(tmp_path, store).recall(query("Crash in union of kind"))
    assert sum(not each.trusted for each in found.demonstrations) == 2
    assert "own" in names(found.demonstrations)


def test_quarantined_and_forgotten_entries_are_not_recalled(tmp_path: Path) -> None:
    store = ListedStore([*FILLER, demonstration("gone", "Crash in union")])
    store.learn(demonstration("held", "Crash in union", "another"), state="quarantined")
    reader = recaller(tmp_path, store)
    assert names(reader.recall(query("Crash in union")).demonstrations) == ["gone"]
    store.drop("gone")
    assert names(reader.recall(query("Crash in union")).demonstrations) == []


def test_what_the_store_no_longer_allows_is_left_out_though_the_index_holds_it(tmp_path: Path) -> None:
    store = ListedStore(
        [*FILLER, demonstration("one", "Crash in union"), demonstration("two", "Crash in union")]
    )
    reader = recaller(tmp_path, store)
    reader.recall(query("Crash in union"))
    del store.kept["one"]
    found = reader.recall(query("Crash in union"))
    assert names(found.demonstrations) == ["two"]
    assert found.audit["left_out"] == {"no longer recallable": 1}


def test_the_same_fix_is_recalled_once(tmp_path: Path) -> None:
    picked = [demonstration(name, "Crash in union", "- a\n+ b") for name in ("one", "backport")]
    found = recaller(tmp_path, ListedStore([*FILLER, *picked])).recall(query("Crash in union"))
    assert len(found.demonstrations) == 1


def test_with_a_failure_tuples_compete_by_failure_and_pairs_by_issue(tmp_path: Path) -> None:
    settings = Failure("import toy", "ImproperlyConfigured: settings are not configured, call configure()")
    other = Failure("assert union", "AssertionError: expected three rows of the union")
    store = ListedStore(
        [
            *FILLER,
            demonstration("pair", "Crash in union of empty slices"),
            demonstration("alike", "The clock of the tower is late", failure=settings),
            demonstration("unlike", "Crash in union of slices", failure=other),
        ]
    )
    reader = recaller(tmp_path, store)
    failed = Failure("import toy.models", "ImproperlyConfigured: settings are not configured")
    found = reader.recall(query("Crash in union of empty slices", failure=failed))
    assert sorted(names(found.demonstrations)) == ["alike", "pair"]
    without = reader.recall(query("Crash in union of empty slices"))
    assert names(without.demonstrations) == ["pair", "unlike"]


def test_fixes_of_suspected_files_come_nearer(tmp_path: Path) -> None:
    store = ListedStore(
        [
            *FILLER,
            demonstration("text", "Crash in union of empty slices", paths=("toy/other.py",)),
            demonstration("file", "Crash in union of slices here", paths=("toy/compiler.py",)),
        ]
    )
    reader = recaller(tmp_path, store)
    issue = "Crash in union of empty slices"
    assert names(reader.recall(query(issue)).demonstrations) == ["text", "file"]
    suspected = query(issue, paths=("toy/compiler.py",))
    assert names(reader.recall(suspected).demonstrations) == ["file", "text"]


def test_suspected_files_alone_are_no_reason_to_recall(tmp_path: Path) -> None:
    store = ListedStore([demonstration(each.id, each.issue, paths=("toy/compiler.py",)) for each in FILLER])
    found = recaller(tmp_path, store).recall(
        query("Crash in union of empty slices, painted", paths=("toy/compiler.py",))
    )
    assert found.demonstrations == ()


def test_memories_of_agents_and_repositories_are_apart(tmp_path: Path) -> None:
    store = ListedStore([*FILLER, demonstration("script", "Crash in union", agent=Agent.TEST)])
    assert recaller(tmp_path, store).recall(query("Crash in union")).demonstrations == ()
    asked = Query(Agent.TEST, "now", "Crash in union")
    assert names(recaller(tmp_path, store).recall(asked).demonstrations) == ["script"]
    elsewhere = Recaller(store, "example/other", Bounds(), RecallConfig(), tmp_path)
    assert elsewhere.recall(asked).demonstrations == ()


@pytest.mark.parametrize("off", ["demonstrations", "insights"])
def test_either_memory_can_be_switched_off(tmp_path: Path, off: str) -> None:
    store = ListedStore([*FILLER, demonstration("one", "Crash in union")])
    store.lessons = (Insight("i", 1, "Check the empty case"),)
    found = recaller(tmp_path, store, None, **{off: False}).recall(query("Crash in union"))
    assert bool(found.demonstrations) == (off != "demonstrations")
    assert bool(found.insights) == (off != "insights")


def test_past_repairs_are_validated_and_human_fixes_of_similar_issues(tmp_path: Path) -> None:
    store = ListedStore(
        [
            *FILLER,
            demonstration("run", "Crash in union", paths=("toy/a.py",), functions=("union",)),
            demonstration(
                "hand", "A crash in unions of many", "other", origin=Origin.HUMAN, paths=("toy/b.py",)
            ),
            demonstration(
                "past", "Crash in union", origin=Origin.MINED, commit="1" * 40, paths=("toy/c.py",)
            ),
        ]
    )
    bounds = Bounds(ancestors=lambda commit: True)
    found = recaller(tmp_path, store, bounds).past_repairs(Issue("now", SCOPE, "Crash in union"))
    assert [each.paths for each in found] == [("toy/a.py",), ("toy/b.py",)]
    assert found[0].functions == ("union",)
    assert found[0].detail == "issue-run Crash in union"
    assert 0 < found[0].similarity <= 1
