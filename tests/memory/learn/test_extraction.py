"""What a finished repair teaches: which successes, paired with which failures."""

from __future__ import annotations

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from experepair.domain.issue import Issue
from experepair.domain.memory import Demonstration, Failure, Operation, OperationKind, Origin, Use
from experepair.domain.roles import Agent
from experepair.domain.trajectory import Trajectory, Trial
from experepair.memory.learn.extraction import REPAIRED, lesson_of
from experepair.steps.result import Status

AT = datetime(2026, 1, 2, tzinfo=UTC)
ISSUE = Issue("i1", "host/o/n", "It breaks\n", trusted=False, created_at=datetime(2025, 1, 1, tzinfo=UTC))
DIFF = """diff --git a/pkg/a.py b/pkg/a.py
index 1111111..2222222 100644
--- a/pkg/a.py
+++ b/pkg/a.py
@@ -1,3 +1,3 @@
 def work():
-    return 0
+    return 1
 x = 1
"""


def tried(name: str, output: str, succeeded: bool = False, feedback: str = "no") -> Trial:
    agent = Agent.PATCH if name[0] in "PR" else Agent.TEST
    return Trial(agent, 1, name, output, feedback, succeeded)


def learned(*trials: Trial, chosen: tuple[str, ...] = (), status: str = REPAIRED) -> list[Demonstration]:
    trajectory = Trajectory("run1", ISSUE, "c0ffee", status, trials, chosen)
    return list(lesson_of(trajectory, {}, AT).demonstrations)


def pairs(found: list[Demonstration], agent: Agent) -> list[tuple[str | None, str]]:
    return [(d.failure.output if d.failure else None, d.success) for d in found if d.agent is agent]


def test_the_status_that_proves_a_patch_is_the_one_of_the_result() -> None:
    assert Status.REPAIRED == REPAIRED


def test_each_failed_output_is_paired_once_with_the_chosen_success() -> None:
    found = learned(
        tried("S1", "bad script"), tried("S2", "good script", True),
        tried("P1.1", "bad patch"), tried("P1.2", "worse patch"), tried("P1.3", "bad patch"),
        tried("P2.1", "other patch", True), tried("P2.2", DIFF, True), tried("R1", "bad refinement"),
        chosen=("S2", "P2.2"),
    )  # fmt: skip
    assert pairs(found, Agent.TEST) == [(None, "good script"), ("bad script", "good script")]
    failed = [None, "bad patch", "worse patch", "bad refinement"]
    assert pairs(found, Agent.PATCH) == [(output, DIFF) for output in failed]
    assert found[1].failure == Failure("bad script", "no")


def test_what_is_known_of_the_source_goes_with_every_demonstration() -> None:
    found = learned(tried("S1", "script", True), tried("P1.1", DIFF, True), chosen=("S1", "P1.1"))
    assert {(d.issue_id, d.issue, d.run_id, d.commit, d.trusted, d.origin, d.created_at) for d in found} == {
        ("i1", "It breaks\n", "run1", "c0ffee", False, Origin.VALIDATED, ISSUE.created_at)
    }
    assert [(d.paths, d.functions) for d in found] == [((), ()), (("pkg/a.py",), ("work",))]
    assert len({d.id for d in found}) == len(found)


def test_a_script_is_kept_although_no_patch_passed() -> None:
    found = learned(
        tried("S1", "bad"),
        tried("S2", "good", True),
        tried("P1.1", DIFF),
        chosen=("S2",),
        status="unresolved",
    )
    assert pairs(found, Agent.TEST) == [(None, "good"), ("bad", "good")]
    assert not pairs(found, Agent.PATCH)


def test_validation_tests_are_another_task_than_the_reproduction() -> None:
    found = learned(
        tried("S1", "script", True), tried("V1", "needs numpy"), tried("V2", "fine", True), chosen=("S1",)
    )
    assert pairs(found, Agent.TEST) == [(None, "script")]


def test_a_patch_of_an_unreproduced_issue_is_no_success() -> None:
    assert not learned(tried("P1.1", DIFF), chosen=("P1.1",), status="unreproduced")


def test_a_patch_that_breaks_tests_or_was_not_validated_is_no_success() -> None:
    for status in set(Status) - {Status.REPAIRED}:
        assert not learned(tried("P1.1", DIFF, True), chosen=("P1.1",), status=status)


def test_uses_models_patch_and_operations_are_carried_over() -> None:
    trajectory = Trajectory(
        "run1", ISSUE, "c0ffee", "unresolved", (), (), (Use("d1"), Use("i1", named=True)), ("openai:m",), DIFF
    )
    operations = {Agent.TEST: (Operation(OperationKind.ADD, "Look twice"),)}
    lesson = lesson_of(trajectory, operations, AT)
    assert (lesson.key, lesson.outcome, lesson.at) == ("run:run1", "unresolved", AT)
    assert (lesson.uses, lesson.models, lesson.patch) == (trajectory.uses, ("openai:m",), DIFF)
    assert lesson.operations == operations


NAMES = st.sampled_from(["S1", "S2", "P1.1", "P1.2", "P2.1", "R1", "V1", "V2"])
TRIALS = st.lists(
    st.builds(tried, NAMES, st.sampled_from(["", "a", "b", "c", DIFF]), st.booleans()), max_size=10
)


@given(TRIALS, st.lists(NAMES, max_size=3), st.sampled_from(list(Status)))
def test_every_demonstration_has_a_success_that_was_chosen_and_a_failure_that_was_none(
    trials: list[Trial], chosen: list[str], status: Status
) -> None:
    found = learned(*trials, chosen=tuple(chosen), status=status)
    good = {(t.agent, t.output) for t in trials if t.succeeded and t.name in chosen}
    bad = {(t.agent, t.output, t.feedback) for t in trials if not t.succeeded}
    for one in found:
        assert (one.agent, one.success) in good
        assert one.failure is None or (one.agent, one.failure.output, one.failure.feedback) in bad
    assert len({(d.agent, d.failure) for d in found}) == len(found)
    assert status is Status.REPAIRED or not pairs(found, Agent.PATCH)
