from __future__ import annotations

import csv
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import toy
import toy_bench
from experepair.bench.campaign.arms import Arm
from experepair.bench.campaign.run import Asked, run
from experepair.bench.campaign.work import Work
from experepair.bench.dataset import load
from experepair.bench.evaluation.local import digest_of
from experepair.bench.evaluation.verdict import Judged, Verdict
from experepair.bench.metrics.scripts import read_shown
from experepair.bench.metrics.spans import union_s
from experepair.bench.metrics.statistics import estimate, mcnemar
from experepair.bench.report.collect import collect
from experepair.bench.report.figures import intersections
from experepair.bench.report.write import write
from experepair.domain.roles import Role
from experepair.journal.reading import read_journal
from experepair.llm.model import Model
from experepair.steps.report import RESULT
from experepair.steps.result import Result

WRONG_SCRIPT = "It fails whatever one does.\n```python\ndef test_nothing():\n    assert 1 == 2\n```\n"


@pytest.fixture
def asked(tmp_path: Path) -> Asked:
    mirror = toy_bench.mirror(tmp_path / "mirrors")
    base = toy.git(mirror, "rev-parse", "HEAD").strip()
    rows = [toy_bench.row(base, instance_id=f"toys__toy-{number}", created_at=f"2024-05-0{number}T00:00:00Z",
                          problem_statement=f"{toy.ISSUE}\nSeen {number} times.\n") for number in (1, 2)]  # fmt: skip
    dataset = toy_bench.write_rows(tmp_path / "rows.jsonl", *rows)
    settings = {"python": sys.executable, "repair": {"existing_tests": 0}}
    return Asked(str(dataset), tmp_path / "campaign", mirrors=tmp_path / "mirrors", settings=settings)


def by_arm(work: Work) -> Model:
    """Without memory the second issue is not reproduced: its script fails with every patch."""
    if work.line == "no-memory" and work.instance.id == "toys__toy-2":
        return toy.model(**{Role.REPRODUCE: WRONG_SCRIPT})
    return toy.model()


def table(path: Path) -> list[list[str]]:
    with path.open() as file:
        return list(csv.reader(file))


def test_a_report_has_every_table_from_the_runs_and_says_what_nobody_has_judged(
    asked: Asked, tmp_path: Path
) -> None:
    run(replace(asked, arms=(Arm.FULL, Arm.NO_MEMORY)), replay=by_arm)
    answers = load(asked.dataset).answers
    first = collect(asked.out, answers)
    full, without = first.variants
    assert [one.reproduces for one in full.repairs] == [True, True]
    assert [(one.executes, one.reproduces, one.accepted) for one in without.repairs] == [
        (True, True, True),
        (True, False, True),
    ]
    assert [one.agrees for one in without.repairs] == [True, False]
    assert {one.resolved for one in (*full.repairs, *without.repairs)} == {None}
    assert all(one.within(1) and one.chosen for one in full.repairs)

    home = asked.out / "inference/full"
    for number, verdict in ((1, Verdict.RESOLVED), (2, Verdict.UNRESOLVED)):
        name = f"toys__toy-{number}"
        result = Result.model_validate_json((home / "runs" / name / RESULT).read_bytes())
        assert result.patch is not None
        judged = Judged(instance_id=name, verdict=verdict, patch_digest=digest_of(result.patch.diff))
        (home / "eval/judged").mkdir(parents=True, exist_ok=True)
        (home / "eval/judged" / f"{name}.json").write_text(judged.model_dump_json())
    found = collect(asked.out, answers)
    assert [one.resolved for one in found.variants[0].repairs] == [True, False]
    out = tmp_path / "report"
    tables, path = write(found, out, {"Other": frozenset({"toys__toy-2", "elsewhere-1"})})
    text = path.read_text()
    assert "published" in text
    assert "full | - " not in text
    assert {one.name for one in tables} >= {
        "table1",
        "table2",
        "mcnemar",
        "stages",
        "learning",
        "figure2",
        "figure3",
    }
    [ours] = [row for row in table(out / "table2.csv") if row[0] == "full"]
    assert ours[1].startswith("50.0 [")
    for name in ("figure2", "figure3", "learning", "stages"):
        assert (out / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert "<svg" in (out / f"{name}.svg").read_text()
    rows = table(out / "figure2.csv")
    assert ["Other", "1"] in rows
    assert ["full", "1"] in rows


def test_what_a_script_shows_is_kept_without_the_fix_that_showed_it(asked: Asked) -> None:
    run(asked, replay=by_arm)
    fix = "if values else 0.0"
    assert fix in toy_bench.PATCH
    for folder in (asked.out / "inference/full/runs").iterdir():
        shown = read_shown(folder)
        assert shown is not None
        assert shown.reproduces
        assert fix not in (folder / "script.json").read_text()
        assert len([one for one in read_journal(folder / "journal.jsonl") if one.kind == "run_started"]) == 1


@given(st.lists(st.booleans(), min_size=1, max_size=40))
def test_an_interval_holds_its_mean(values: list[bool]) -> None:
    found = estimate([float(value) for value in values])
    assert found.value is not None
    assert 0 <= found.low <= found.value <= found.high <= 1
    assert found == estimate([float(value) for value in values])


def test_mcnemar_is_exact() -> None:
    assert mcnemar([]).p == 1
    assert mcnemar([(True, True)] * 5).p == 1
    assert mcnemar([(True, False)] * 6).p == pytest.approx(2 / 2**6)
    known = mcnemar([(True, False)] * 8 + [(False, True)] * 2 + [(True, True)] * 30)
    assert (known.n, known.only_first, known.only_second) == (40, 8, 2)
    assert known.p == pytest.approx(0.109375)


@given(st.dictionaries(st.sampled_from("abc"), st.frozensets(st.sampled_from("123456")), max_size=3))
def test_intersections_count_every_issue_once(sets: dict[str, frozenset[str]]) -> None:
    counted = sum(count for _, count in intersections(sets))
    assert counted == len(frozenset().union(*sets.values()))


def test_the_union_of_intervals_counts_no_second_twice() -> None:
    assert union_s([(0, 2), (1, 3), (5, 6), (5, 5.5)]) == 4
    assert union_s([]) == 0
