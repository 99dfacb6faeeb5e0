from __future__ import annotations

from pathlib import Path

import pytest

from experepair.errors import OutputError
from experepair.steps.report import report, write_all
from experepair.steps.result import CandidateInfo, IssueInfo, PatchInfo, Result, Status, TableInfo
from experepair.steps.spending import Spending


def result(**fields: object) -> Result:
    given = {
        "experepair": "0", "run_id": "r", "status": Status.REPAIRED, "commit": "c" * 40, "spending": Spending(),
        "issue": IssueInfo(id="1", title="It breaks", repository="github.com/a/b"), **fields,
    }  # fmt: skip
    return Result.model_validate(given)


def test_control_and_bidi_characters_are_shown_escaped() -> None:
    text = report(result(issue=IssueInfo(id="1", title="\x1b[2Jgone \u202ereversed", repository="r")))
    assert "\\x1b[2Jgone \\u202ereversed" in text


def test_a_diff_with_backticks_cannot_leave_its_block() -> None:
    patch = PatchInfo(name="P1.1", paths=("a.md",), lines_changed=1, diff="+````\n+# Not a heading\n")
    text = report(result(patch=patch))
    assert "`````diff\n+````\n+# Not a heading\n`````" in text


def test_html_and_column_marks_of_an_issue_are_text() -> None:
    text = report(result(issue=IssueInfo(id="a|b", title="<script>x</script> | y", repository="r")))
    assert "<script>" not in text
    assert "a\\|b" in text


def test_every_candidate_has_its_column_in_the_outcomes() -> None:
    table = TableInfo(
        header=("candidate", "reproduction", "V1::test_a"),
        rows=(("P1.1", "pass", "FAIL"), ("R1", "pass", "pass")),
        set_aside=(),
    )
    candidate = CandidateInfo(name="P1.1", passed=True, parent=None, diff="+x", feedback="fine")
    text = report(result(table=table, candidates=(candidate,)))
    assert (
        "| test | P1.1 | R1 |\n|---|---|---|\n| reproduction | pass | pass |\n| V1::test_a | FAIL | pass |"
        in text
    )


@pytest.mark.parametrize("status", list(Status))
def test_every_ending_has_its_words(status: Status) -> None:
    assert report(result(status=status)).splitlines()[2].startswith("**")


def test_files_are_written_whole_or_not_at_all_and_old_ones_removed(tmp_path: Path) -> None:
    (tmp_path / "b").write_text("old")
    (tmp_path / "c").mkdir()
    with pytest.raises(OutputError, match="can't write the results"):
        write_all(tmp_path, {"a": "new", "b": None, "c": "a folder is in the way"})
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "c"]
    assert (tmp_path / "a").read_text() == "new"
