from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from experepair.domain.outcome import Outcome
from experepair.steps.table import OutcomeTable, Row

PASS, FAIL, UNKNOWN = Outcome.PASSED, Outcome.FAILED, Outcome.UNKNOWN
TESTS = ("V1::test_a", "V1::test_b", "V2::test_c")


def row(
    name: str, outcomes: str, broken: tuple[str, ...] = (), size: int = 5, reproduction: Outcome = PASS
) -> Row:
    validation = {test: PASS if mark == "+" else FAIL for test, mark in zip(TESTS, outcomes, strict=True)}
    return Row(name, reproduction, broken, 0, 10, validation, size)


def names(rows: tuple[Row, ...]) -> list[str]:
    return [one.name for one in rows]


def test_a_candidate_that_passes_all_that_another_passes_and_more_wins() -> None:
    assert names(OutcomeTable((row("A", "+--"), row("B", "++-"))).undominated()) == ["B"]


def test_candidates_that_pass_different_tests_are_left_to_the_reviewer_the_most_validated_first() -> None:
    table = OutcomeTable((row("A", "--+"), row("B", "++-")))
    assert names(table.undominated()) == ["B", "A"]


def test_a_candidate_that_breaks_an_existing_test_loses_to_one_that_does_not() -> None:
    table = OutcomeTable((row("A", "+++", broken=("tests/x.py::test_y",)), row("B", "---")))
    assert names(table.undominated()) == ["B"]


def test_of_equals_the_smaller_diff_comes_first() -> None:
    table = OutcomeTable((row("A", "+++", size=9), row("B", "+++", size=3)))
    assert names(table.undominated()) == ["B", "A"]


def test_a_candidate_that_fails_the_reproduction_is_never_eligible() -> None:
    table = OutcomeTable((row("A", "+++", reproduction=FAIL), row("B", "---")))
    assert names(table.undominated()) == ["B"]


def test_a_validation_test_that_fails_on_every_candidate_is_set_aside_and_shown() -> None:
    table = OutcomeTable((row("A", "+--"), row("B", "++-")))
    assert table.set_aside == ("V2::test_c",)
    assert "No candidate passes these, so they may well be wrong: V2::test_c." in table.text(["A", "B"])


def test_an_empty_table_has_nothing_to_choose() -> None:
    assert OutcomeTable().undominated() == ()
    assert OutcomeTable().set_aside == ()


rows = st.lists(
    st.builds(
        row,
        st.uuids().map(str),
        st.text("+-", min_size=3, max_size=3),
        st.lists(st.sampled_from(["t1", "t2"]), unique=True).map(tuple),
        st.integers(1, 50),
        st.sampled_from([PASS, FAIL]),
    ),
    max_size=6,
).map(tuple)


@given(rows)
def test_something_can_be_chosen_whenever_a_candidate_passes_and_nothing_that_is_dominated(
    candidates: tuple[Row, ...],
) -> None:
    table = OutcomeTable(candidates)
    chosen = table.undominated()
    assert bool(chosen) == any(one.reproduction is PASS for one in candidates)
    sound = [one for one in candidates if one.reproduction is PASS]
    for one in chosen:
        assert len(one.broken) == min(len(other.broken) for other in sound)
        rivals = [other for other in sound if len(other.broken) == len(one.broken)]
        assert not any(table.validated(one) < table.validated(other) for other in rivals)


@given(rows)
def test_every_line_of_the_table_has_a_cell_for_every_column(candidates: tuple[Row, ...]) -> None:
    header, *lines = OutcomeTable(candidates, Row("untouched")).lines()
    assert all(len(line) == len(header) for line in lines)
