from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import toy
from experepair.domain.roles import Role
from experepair.session.repair import repair
from experepair.steps.result import Result, Status


def test_a_repair_leaves_a_patch_that_applies_a_test_to_keep_and_the_reasons(
    repo: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    result = repair(repo, toy.ISSUE, out=out, replay=toy.model(), python=sys.executable)
    assert result.status is Status.REPAIRED, result
    assert result.patch is not None
    assert result.patch.name == "P1.2"
    assert result.patch.reasons == "P1.2 is the clearest."
    assert {path.name for path in out.iterdir()} == {
        "journal.jsonl", "journal.jsonl.lease", "patch.diff", "report.md", "reproduce_test.py", "result.json",
    }  # fmt: skip
    assert Result.model_validate_json((out / "result.json").read_text()).patch == result.patch
    kept = [sys.executable, str(out / "reproduce_test.py")]
    assert subprocess.run(kept, cwd=repo, env={"PYTHONPATH": str(repo)}, check=False).returncode == 1
    toy.git(repo, "apply", str(out / "patch.diff"))
    assert subprocess.run(kept, cwd=repo, env={"PYTHONPATH": str(repo)}, check=False).returncode == 0
    report = (out / "report.md").read_text()
    for said in (
        "**Repaired.**",
        "It divides by zero, as the issue says.",
        "P1.2 is the clearest.",
        "toy/stats.py",
    ):
        assert said in report


def test_the_table_shows_each_candidate_once_and_sets_aside_what_all_fail(repo: Path, tmp_path: Path) -> None:
    result = repair(repo, toy.ISSUE, out=tmp_path / "out", replay=toy.model(), python=sys.executable)
    assert result.table is not None
    names = [row[0] for row in result.table.rows]
    assert names == ["untouched", "P1.1", "P1.2"]  # refinements are the same patches again
    assert "V1::test_generous_expectation_that_nobody_meets" in result.table.set_aside
    by_name = {one.name: one for one in result.candidates}
    assert not by_name["P1.3"].passed
    assert "no valid Python" in by_name["P1.4"].feedback


def test_failed_candidates_of_a_round_and_their_output_feed_the_next(repo: Path, tmp_path: Path) -> None:
    scripted = toy.model(patch=(toy.WRONG, toy.WRONG, toy.BROKEN, "I give up."))
    result = repair(repo, toy.ISSUE, out=tmp_path / "out", replay=scripted, python=sys.executable)
    assert result.status is Status.UNRESOLVED
    assert result.exit_status == 1
    assert not (tmp_path / "out" / "patch.diff").exists()
    prompts = [request.prompt.user for request in scripted.asked if request.role == "patch"]
    assert len(prompts) == 12
    assert "len(values) or 0.0" in prompts[4]

    assert "was never closed" in prompts[4]
    assert "I give up." in prompts[4]


def test_a_patch_without_a_reproduction_says_so(repo: Path, tmp_path: Path) -> None:
    scripted = toy.model(reproduce="```python\ndef test_nothing():\n    pass\n```")
    result = repair(repo, toy.ISSUE, out=tmp_path / "out", replay=scripted, python=sys.executable)
    assert result.status is Status.UNREPRODUCED
    assert result.exit_status == 1
    assert result.reproduction is None
    assert result.patch is not None
    assert "**A patch without proof.**" in (tmp_path / "out" / "report.md").read_text()


def test_a_patch_that_breaks_an_existing_test_is_never_called_a_repair(repo: Path, tmp_path: Path) -> None:
    breaking = toy.patch("    return 0.0")
    scripted = toy.model(patch=breaking, refine=breaking)
    result = repair(repo, toy.ISSUE, out=tmp_path / "out", replay=scripted, python=sys.executable)
    assert result.status is Status.BREAKS_TESTS
    assert result.exit_status == 1
    assert result.table is not None
    assert "test_mean" in result.table.rows[1][2]


def test_an_existing_failing_test_can_be_the_reproduction(repo: Path, tmp_path: Path) -> None:
    test = repo / "tests" / "test_stats.py"
    test.write_text(
        toy.TESTS + "\n    def test_mean_of_nothing(self):\n        self.assertEqual(stats.mean([]), 0)\n"
    )
    toy.git(repo, "commit", "--quiet", "--all", "--message=a failing test")
    node = "tests.test_stats.StatsTest.test_mean_of_nothing"
    scripted = toy.model()
    result = repair(
        repo, toy.ISSUE, out=tmp_path / "out", replay=scripted, python=sys.executable, failing_test=node
    )
    assert result.status is Status.REPAIRED, result.error
    assert result.reproduction is not None
    assert result.reproduction.existing_test
    assert "reproduce" not in [request.role for request in scripted.asked]


def test_the_users_tree_is_untouched_unless_the_patch_shall_be_applied(repo: Path, tmp_path: Path) -> None:
    repair(repo, toy.ISSUE, out=tmp_path / "one", replay=toy.model(), python=sys.executable)
    assert toy.git(repo, "status", "--porcelain") == ""
    repair(repo, toy.ISSUE, out=tmp_path / "two", replay=toy.model(), python=sys.executable, apply=True)
    assert toy.git(repo, "status", "--porcelain") == " M toy/stats.py\n"


def test_every_insight_and_demonstration_has_its_place_in_the_first_prompts(
    repo: Path, tmp_path: Path
) -> None:
    scripted = toy.model()
    repair(repo, toy.ISSUE, out=tmp_path / "out", replay=scripted, python=sys.executable)
    kinds = [
        entry["kind"]
        for entry in map(json.loads, (tmp_path / "out" / "journal.jsonl").read_text().splitlines())
    ]
    asked = [request.role for request in scripted.asked]
    assert kinds.count("recalled") >= len({*asked} - {"judge", "review"})
    assert not any(part.name == "memory" for request in scripted.asked for part in request.prompt.parts)


def test_a_repository_whose_tests_cannot_run_is_repaired_and_says_so(repo: Path, tmp_path: Path) -> None:
    (repo / "tests" / "test_stats.py").write_text("import nowhere\n" + toy.TESTS)
    toy.git(repo, "commit", "--quiet", "--all", "--message=broken tests")
    result = repair(repo, toy.ISSUE, out=tmp_path / "out", replay=toy.model(), python=sys.executable)
    assert result.status is Status.REPAIRED
    assert any("no related existing test passes on the untouched code" in note for note in result.notes)


def test_a_package_that_cannot_be_imported_is_told_to_the_user_and_to_the_test_agent(
    repo: Path, tmp_path: Path
) -> None:
    (repo / "toy" / "__init__.py").write_text("from toy import _version\n")
    toy.git(repo, "commit", "--quiet", "--all", "--message=a generated file is missing")
    scripted = toy.model()
    result = repair(repo, toy.ISSUE, out=tmp_path / "out", replay=scripted, python=sys.executable)
    assert any("importing the repository's own package fails" in note for note in result.notes)
    assert (
        "cannot import name '_version'"
        in next(r for r in scripted.asked if r.role == "reproduce").prompt.user
    )


def test_places_are_asked_for_when_the_chosen_files_are_too_long_to_be_shown_whole(
    repo: Path, tmp_path: Path
) -> None:
    scripted = toy.model()
    result = repair(
        repo,
        toy.ISSUE,
        out=tmp_path / "out",
        replay=scripted,
        python=sys.executable,
        repair={"whole_tokens": 0},
    )
    assert [request.role for request in scripted.asked].count(Role.LOCALIZE) == 2
    assert result.places is not None
    assert result.places.spans == ("toy/stats.py:4-11 mean",)  # total is executed
    shown = next(request.prompt for request in scripted.asked if request.role is Role.PATCH).user
    assert "lines 1-3 are not shown" in shown
    assert "def mean(values):" in shown


_DEEP = '''

def first(value):
    return second(value)


def second(value):
    """The mean, also for an empty list."""
    return 1 / value
'''


def test_functions_that_the_reproduction_executes_are_shown_although_the_agent_did_not_choose_them(
    repo: Path, tmp_path: Path
) -> None:
    filler = "".join(
        f"\n\ndef filler_{number}(value):\n    return value + {number}\n" for number in range(900)
    )
    (repo / "toy" / "stats.py").write_text(
        toy.STATS.replace("total(values) / len(values)", "deep.first(len(values))").replace(
            '"""Small statistics."""', '"""Small statistics."""\n\nfrom toy import deep'
        )
        + filler
    )
    (repo / "toy" / "deep.py").write_text(filler + _DEEP + filler.replace("filler", "other"))
    toy.git(repo, "add", "--all")
    toy.git(repo, "commit", "--quiet", "--message=deeper")
    scripted = toy.model()
    result = repair(repo, toy.ISSUE, out=tmp_path / "out", replay=scripted, python=sys.executable)
    prompt = next(request.prompt.user for request in scripted.asked if request.role == "patch")
    assert "def mean(values)" in prompt
    assert "def second(value)" in prompt
    assert "filler_500" not in prompt
    assert result.places is not None
    assert any("second" in span or "first" in span for span in result.places.spans)
    entries = [json.loads(line) for line in (tmp_path / "out" / "journal.jsonl").read_text().splitlines()]
    added = [entry for entry in entries if entry["kind"] == "decided" and "executed" in entry["what"]]
    assert len(added) == 1

    without = toy.model()
    repair(
        repo,
        toy.ISSUE,
        out=tmp_path / "without",
        replay=without,
        python=sys.executable,
        repair={"trace_time_s": 0},
    )
    prompt = next(request.prompt.user for request in without.asked if request.role == "patch")
    assert "def second(value)" not in prompt
