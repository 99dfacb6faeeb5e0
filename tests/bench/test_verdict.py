from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from experepair.bench.evaluation.verdict import Verdict, judge, with_ids
from experepair.bench.instance import Answer

NAMES = st.sets(st.sampled_from("abcdef"))
STATUSES = st.dictionaries(
    st.sampled_from("abcdef"), st.sampled_from(["PASSED", "XFAIL", "FAILED", "ERROR", "SKIPPED"])
)


def answer(fail_to_pass: set[str], pass_to_pass: set[str]) -> Answer:
    return Answer("i", "", "", tuple(sorted(fail_to_pass)), tuple(sorted(pass_to_pass)), "", {})


@given(NAMES, NAMES, STATUSES, NAMES)
def test_resolved_means_that_every_listed_test_that_is_not_left_out_passed(
    fail_to_pass: set[str], pass_to_pass: set[str], statuses: dict[str, str], left_out: set[str]
) -> None:
    verdict, first, second = judge(answer(fail_to_pass, pass_to_pass), statuses, left_out)
    passing = {test for test, status in statuses.items() if status in ("PASSED", "XFAIL")}
    asked = (fail_to_pass | pass_to_pass) - left_out
    expected = asked <= passing and bool(fail_to_pass - left_out)
    assert (verdict is Verdict.RESOLVED) == expected
    assert {*first.passed, *first.failed} == fail_to_pass - left_out
    assert {*second.passed, *second.failed} == pass_to_pass - left_out


def test_a_docstring_line_is_named_by_the_id_above_it_too() -> None:
    log = "\n".join(
        (
            "test_a (app.tests.Case) ... ok",
            "test_b (app.tests.Case)",
            "What it says. ... ok",
            "test_c (app.tests.Case)",
            "It fails. ... FAIL",
            "prose ... ok",
        )
    )
    lines = with_ids(log).split("\n")
    assert "test_b (app.tests.Case) ... ok" in lines
    assert "test_c (app.tests.Case) ... FAIL" in lines
    assert [line for line in lines if line in log.split("\n")] == log.split("\n")
    assert sum(line.endswith(" ... ok") for line in lines) == 4


@given(st.text(alphabet="a (.)\n…ok", max_size=200))
def test_naming_by_id_never_loses_a_line(log: str) -> None:
    lines = iter(with_ids(log).split("\n"))
    assert all(line in lines for line in log.split("\n"))
