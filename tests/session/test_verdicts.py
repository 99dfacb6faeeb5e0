"""What must never be called a repair, and what must not be lost on the way."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import toy
from experepair.domain.roles import Role
from experepair.errors import ProviderError
from experepair.llm.model import Model, ScriptedModel
from experepair.llm.request import Reply, Request
from experepair.memory.memory import ScriptedMemory
from experepair.session.repair import repair
from experepair.steps.result import Result, Status


def run(repo: Path, model: Model, out: Path, **given: object) -> Result:
    return repair(repo, toy.ISSUE, out=out, replay=model, python=sys.executable, **given)  # type: ignore[arg-type]


def edit(path: str, original: str, patched: str) -> str:
    return f"<file>{path}</file>\n<original>\n{original}\n</original>\n<patched>\n{patched}\n</patched>\n"


WEAKENED = toy.patch("    return 0.0") + edit(
    "tests/test_stats.py", "        self.assertEqual(stats.mean([1, 2, 3]), 2)", "        pass"
)


def test_a_patch_that_edits_the_tests_that_it_breaks_is_judged_by_the_tests_as_they_were(
    repo: Path, tmp_path: Path
) -> None:
    result = run(repo, toy.model(patch=WEAKENED, refine="<unchanged/>"), tmp_path / "out")
    assert result.status is Status.BREAKS_TESTS
    assert result.patch is not None
    assert any("tests/test_stats.py" in flag for flag in result.patch.flags)


def test_a_patch_that_edits_the_failing_test_is_no_repair(repo: Path, tmp_path: Path) -> None:
    test = repo / "tests" / "test_stats.py"
    test.write_text(toy.TESTS.replace("stats.mean([1, 2, 3]), 2", "stats.mean([]), 0"))
    toy.git(repo, "commit", "--quiet", "--all", "--message=a failing test")
    cheat = edit("tests/test_stats.py", "        self.assertEqual(stats.mean([]), 0)", "        pass")
    failing = "tests.test_stats.StatsTest.test_mean"
    result = run(repo, toy.model(patch=cheat), tmp_path / "out", failing_test=failing)
    assert result.status is Status.UNRESOLVED


def test_a_patch_that_makes_an_existing_test_hang_breaks_it(repo: Path, tmp_path: Path) -> None:
    hanging = toy.patch("    while values:\n        pass\n    return 0.0")
    config = {"existing_tests_time_s": 3.0}
    result = run(
        repo,
        toy.model(patch=hanging, refine="<unchanged/>"),
        tmp_path / "out",
        repair=config,
        limits={"time_s": 3.0},
    )
    assert result.status is Status.BREAKS_TESTS
    assert result.table is not None
    assert "did not finish" in result.table.rows[1][2]


def test_a_module_that_a_patch_puts_in_the_runners_way_does_not_make_it_pass(
    repo: Path, tmp_path: Path
) -> None:
    cheat = "import os\nos._exit(0)\n"
    planted = "".join(edit(f"{name}.py", "", cheat) for name in ("sitecustomize", "traceback", "runpy"))
    result = run(repo, toy.model(patch=planted), tmp_path / "out")
    assert result.status is Status.UNRESOLVED


def test_a_patch_that_takes_the_name_of_a_script_is_refused(repo: Path, tmp_path: Path) -> None:
    planted = edit("experepair_s1.py/x.py", "", "x = 1\n")
    result = run(repo, toy.model(patch=(toy.GOOD, planted)), tmp_path / "out")
    assert result.status is Status.REPAIRED
    assert "is kept for test scripts" in {one.name: one for one in result.candidates}["P1.2"].feedback


def test_candidates_that_break_tests_or_were_not_executed_are_not_told_to_memory_as_successes(
    repo: Path, tmp_path: Path
) -> None:
    memory = ScriptedMemory({})
    run(
        repo,
        toy.model(patch=toy.patch("    return 0.0"), refine="<unchanged/>"),
        tmp_path / "1",
        memory=memory,
    )
    (trial,) = (trial for trial in memory.told[-1].trials if trial.name == "P1.1")
    assert not trial.succeeded
    assert "breaks existing tests" in trial.feedback
    run(repo, toy.model(reproduce="Nothing."), tmp_path / "2", memory=memory)
    assert not any(trial.succeeded for trial in memory.told[-1].trials if trial.name.startswith("P"))


def failing(role: Role, after: int = 0) -> Callable[[], Model]:
    """The toy's model, whose provider gives out in one role after some calls."""

    class Failing:
        def __init__(self) -> None:
            self.inner: ScriptedModel = toy.model()
            self.asked = 0

        async def reply(self, request: Request) -> Reply:
            if request.role is role:
                self.asked += 1
                if self.asked > after:
                    raise ProviderError("gone")
            return await self.inner.reply(request)

    return Failing


@pytest.mark.parametrize(
    ("role", "after", "reproduced", "patched", "status"),
    [
        (Role.REPRODUCE, 0, False, False, Status.PROVIDER_FAILED),
        (Role.JUDGE, 0, False, False, Status.PROVIDER_FAILED),
        (Role.LOCALIZE, 0, None, False, Status.PROVIDER_FAILED),
        (Role.PATCH, 0, True, False, Status.PROVIDER_FAILED),
        (Role.PATCH, 2, True, True, Status.REPAIRED),
        (Role.VALIDATE, 0, True, True, Status.PROVIDER_FAILED),
        (Role.VALIDATE, 1, True, True, Status.REPAIRED),
        (Role.REFINE, 0, True, True, Status.PROVIDER_FAILED),
        (Role.REVIEW, 0, True, True, Status.REPAIRED),
    ],
)
def test_a_provider_that_gives_out_in_any_stage_loses_nothing_that_was_found(
    repo: Path, tmp_path: Path, role: Role, after: int, reproduced: bool | None, patched: bool, status: Status
) -> None:
    result = run(repo, failing(role, after)(), tmp_path / "out")
    assert result.status is status
    assert result == Result.model_validate_json((tmp_path / "out" / "result.json").read_text()).model_copy(
        update={"out": tmp_path / "out"}
    )
    if reproduced is not None:
        assert (result.reproduction is not None) == reproduced
        assert (tmp_path / "out" / "reproduce_test.py").exists() == reproduced
    assert (result.patch is not None) == patched
    assert (tmp_path / "out" / "patch.diff").exists() == patched
    if role in (Role.VALIDATE, Role.REFINE):
        assert result.table is not None  # executions cost no money


def test_a_run_is_not_resumed_on_another_work_tree_or_with_another_interpreters_executions(
    repo: Path, tmp_path: Path
) -> None:
    from experepair.errors import UsageError

    out = tmp_path / "out"
    (repo / "toy" / "unrelated.py").write_text("changed = 1\n")
    run(repo, toy.model(), out, include_dirty=True)
    finished = run(repo, toy.model(), out, include_dirty=True, resume=True)
    assert finished.status is Status.REPAIRED
    (repo / "toy" / "unrelated.py").write_text("changed = 2\n")
    with pytest.raises(UsageError, match="another commit or work tree"):
        run(repo, toy.model(), out, include_dirty=True, resume=True)


def test_a_patch_that_cannot_be_applied_to_the_work_tree_does_not_lose_the_result(
    repo: Path, tmp_path: Path
) -> None:
    first = toy.git(repo, "rev-parse", "HEAD").strip()
    (repo / "toy" / "stats.py").write_text("rewritten = True\n")
    toy.git(repo, "commit", "--quiet", "--all", "--message=rewritten")
    result = run(repo, toy.model(), tmp_path / "out", commit=first, apply=True)
    assert result.status is Status.REPAIRED
    assert result.not_applied
    assert toy.git(repo, "status", "--porcelain") == ""


@pytest.mark.parametrize(
    "files", [{}, {"README": "nothing here\n"}, {"a.c": "int main;\n"}], ids=["empty", "prose", "C"]
)
def test_a_repository_without_python_ends_in_a_result(tmp_path: Path, files: dict[str, str]) -> None:
    repo = tmp_path / "repo"
    repo.mkdir()
    for name, text in files.items():
        (repo / name).write_text(text)
    toy.git(repo, "init", "--quiet")
    toy.git(repo, "add", "--all")
    toy.git(repo, "commit", "--quiet", "--allow-empty", "--message=first")
    result = run(repo, toy.model(), tmp_path / "out")
    assert result.status in (Status.UNRESOLVED, Status.UNREPRODUCED)


def test_a_hanging_reproduction_is_feedback_and_the_next_trial_counts(repo: Path, tmp_path: Path) -> None:
    hanging = "```python\ndef test_it():\n    while True:\n        pass\n```"
    scripted = toy.model(reproduce=(hanging, toy.REPRODUCTION))
    result = run(repo, scripted, tmp_path / "out", limits={"time_s": 2.0})
    assert result.status is Status.REPAIRED
    assert result.reproduction is not None
    assert result.reproduction.trials == 2
    second = [request for request in scripted.asked if request.role is Role.REPRODUCE][1]
    assert "did not come to its end in time" in second.prompt.user
