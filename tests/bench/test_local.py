from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import toy
import toy_bench
from experepair.bench.dataset import Dataset, load
from experepair.bench.evaluation.known import Known
from experepair.bench.evaluation.local import LOG, Evaluator
from experepair.bench.evaluation.many import judge_all
from experepair.bench.evaluation.specs import Specs
from experepair.bench.evaluation.verdict import Judged, Verdict
from experepair.bench.predictions import Prediction
from experepair.errors import UsageError
from toy_bench import FAILING, PASSING, PATCH


@pytest.fixture(scope="module")
def specs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Specs]:
    with toy_bench.specs(tmp_path_factory.mktemp("specs")) as asked:
        yield asked


@pytest.fixture
def dataset(tmp_path: Path) -> Dataset:
    mirror = toy_bench.mirror(tmp_path / "mirrors")
    commit = toy.git(mirror, "rev-parse", "HEAD").strip()
    return load(str(toy_bench.write_rows(tmp_path / "rows.jsonl", toy_bench.row(commit))))


def judged(evaluator: Evaluator, dataset: Dataset, patch: str, left_out: tuple[str, ...] = ()) -> Judged:
    [instance] = dataset.instances
    return asyncio.run(evaluator.evaluate(instance, dataset.answers[instance.id], patch, left_out))


def test_the_fix_resolves_and_its_log_is_kept(tmp_path: Path, specs: Specs, dataset: Dataset) -> None:
    one = judged(toy_bench.evaluator(tmp_path, specs), dataset, PATCH)
    assert one.verdict is Verdict.RESOLVED, one
    assert one.fail_to_pass.passed == (FAILING,)
    assert one.pass_to_pass.passed == PASSING
    assert f"{FAILING} ... ok" in (tmp_path / "logs" / one.instance_id / LOG).read_text()


def test_the_untouched_code_does_not(tmp_path: Path, specs: Specs, dataset: Dataset) -> None:
    one = judged(toy_bench.evaluator(tmp_path, specs), dataset, "")
    assert one.verdict is Verdict.UNRESOLVED
    assert one.fail_to_pass.failed == (FAILING,)
    assert one.pass_to_pass.failed == ()


def test_a_patch_that_breaks_what_passed_does_not(tmp_path: Path, specs: Specs, dataset: Dataset) -> None:
    breaking = PATCH.replace("total(values) / len(values) if values else 0.0", "0.0")
    one = judged(toy_bench.evaluator(tmp_path, specs), dataset, breaking)
    assert one.verdict is Verdict.UNRESOLVED
    assert one.pass_to_pass.failed == (PASSING[0],)
    assert judged(toy_bench.evaluator(tmp_path, specs), dataset, breaking, (PASSING[0],)).verdict is (
        Verdict.RESOLVED
    )


def test_a_patch_that_rewrites_the_hidden_tests_gains_nothing(
    tmp_path: Path, specs: Specs, dataset: Dataset
) -> None:
    cheating = """diff --git a/tests/test_stats.py b/tests/test_stats.py
--- a/tests/test_stats.py
+++ b/tests/test_stats.py
@@ -1,11 +1,3 @@
 import unittest
-
-from toy import stats
-
-
 class StatsTest(unittest.TestCase):
-    def test_mean(self):
-        self.assertEqual(stats.mean([1, 2, 3]), 2)
-
-    def test_total(self):
-        self.assertEqual(stats.total([1, 2]), 3)
+    test_mean = test_total = test_mean_of_nothing = lambda self: None
"""
    one = judged(toy_bench.evaluator(tmp_path, specs), dataset, cheating)
    assert (one.verdict, one.why) == (Verdict.UNRESOLVED, "")
    assert one.fail_to_pass.failed == (FAILING,)


def test_a_patch_that_does_not_apply_is_an_error(tmp_path: Path, specs: Specs, dataset: Dataset) -> None:
    one = judged(
        toy_bench.evaluator(tmp_path, specs), dataset, PATCH.replace("total(values) / len", "never was")
    )
    assert one.verdict is Verdict.ERROR
    assert "doesn't apply" in one.why


def test_a_patch_whose_context_is_off_is_applied_as_the_harness_does(
    tmp_path: Path, specs: Specs, dataset: Dataset
) -> None:
    off = PATCH.replace("Arithmetic mean", "An arithmetic mean")
    assert judged(toy_bench.evaluator(tmp_path, specs), dataset, off).verdict is Verdict.RESOLVED


@pytest.mark.parametrize("target", ["../../planted", "/planted", ".git/hooks/post-checkout"])
def test_a_patch_that_leaves_the_tree_is_an_error_and_writes_nothing(
    tmp_path: Path, specs: Specs, dataset: Dataset, target: str
) -> None:
    leaving = f"diff --git a/x b/x\n--- /dev/null\n+++ b/{target}\n@@ -0,0 +1 @@\n+planted\n"
    before = set(tmp_path.parent.rglob("planted"))
    assert judged(toy_bench.evaluator(tmp_path, specs), dataset, leaving).verdict is Verdict.ERROR
    assert set(tmp_path.parent.rglob("planted")) == before
    assert not Path("/planted").exists()


@pytest.mark.parametrize(
    ("entry", "why"),
    [
        ({"setup": "echo no such thing; false"}, "the set-up failed: no such thing"),
        ({"test_command": "sleep 60; true {tests}"}, "timed out"),
    ],
)
def test_an_environment_that_fails_is_an_error_not_a_verdict(
    tmp_path: Path, specs: Specs, dataset: Dataset, entry: dict[str, Any], why: str
) -> None:
    evaluator = toy_bench.evaluator(tmp_path, specs, entry, time_s=1.5)
    one = judged(evaluator, dataset, PATCH)
    assert one.verdict is Verdict.ERROR
    assert why in one.why


def test_environment_variables_set_up_and_command_reach_the_tests_and_the_network_does_not(
    tmp_path: Path, specs: Specs, dataset: Dataset
) -> None:
    entry = {
        "variables": {"PLANTED": "yes"},
        "setup": "touch was-set-up",
        "test_command": "test -e was-set-up && echo PASSED $PLANTED {tests} $PYTHONHASHSEED; cat /proc/net/route",
    }
    judged(toy_bench.evaluator(tmp_path, specs, entry), dataset, PATCH)
    log = (tmp_path / "logs" / "toys__toy-1" / LOG).read_text()
    assert log.startswith("PASSED yes tests/test_stats.py 0\n")
    assert len(log.splitlines()) == 2, "an open network would have routes below the header"


def test_an_instance_without_hidden_tests_or_a_known_command_cannot_be_judged(
    tmp_path: Path, specs: Specs, dataset: Dataset
) -> None:
    [instance] = dataset.instances
    evaluator = toy_bench.evaluator(tmp_path, specs)
    bare = load(str(toy_bench.write_rows(tmp_path / "bare.jsonl", toy_bench.row("a" * 40, test_patch=""))))
    with pytest.raises(UsageError, match="no test_patch"):
        asyncio.run(evaluator.evaluate(instance, bare.answers[instance.id], PATCH))
    old = load(
        str(toy_bench.write_rows(tmp_path / "old.jsonl", toy_bench.row(instance.base_commit, version="0.1")))
    )
    with pytest.raises(UsageError, match=r"no test command for toys/toy 0\.1"):
        judged(evaluator, old, PATCH)


def test_what_was_judged_is_not_run_again_but_other_patches_and_errors_are(
    tmp_path: Path, specs: Specs, dataset: Dataset
) -> None:
    runs = tmp_path / "logs" / "toys__toy-1" / LOG
    passing = "".join(f"echo '{name} ... ok'; " for name in (FAILING, *PASSING))
    says = f"grep -q 'if values' toy/stats.py && {{ {passing} }} # {{tests}}"

    def again(patch: str, *, run_empty: bool = False, known: Known | None = None) -> tuple[Verdict, bool]:
        runs.unlink(missing_ok=True)
        prediction = Prediction(instance_id="toys__toy-1", model_patch=patch)
        [one] = asyncio.run(
            judge_all(
                toy_bench.evaluator(tmp_path, specs, {"test_command": says}),
                dataset.instances,
                dataset.answers,
                {prediction.instance_id: prediction},
                tmp_path / "out",
                known={"toys__toy-1": known} if known else None,
                run_empty=run_empty,
            )
        )
        assert one.before == (one.verdict is Verdict.RESOLVED and not runs.exists())
        return one.verdict, runs.exists()

    assert again(PATCH) == (Verdict.RESOLVED, True)
    assert again(PATCH) == (Verdict.RESOLVED, False)
    assert again("") == (Verdict.EMPTY, False)
    assert again("", run_empty=True) == (Verdict.UNRESOLVED, True)
    assert again("no patch at all") == (Verdict.ERROR, False)
    assert again(PATCH, known=Known(status="NOT_RUNNABLE", why="no network")) == (Verdict.ERROR, False)
    assert again(PATCH, known=Known(excluded_tests=PASSING)) == (Verdict.RESOLVED, True)
