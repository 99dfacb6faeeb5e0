"""Memory comes with its own issue; its port is asked and told from the first day."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

import toy
from experepair.domain.issue import Issue
from experepair.domain.memory import Demonstration, Insight, Operation, PastRepair, Query, Recalled
from experepair.domain.roles import Agent, Role
from experepair.domain.trajectory import Trajectory
from experepair.errors import MemoryUnavailable
from experepair.memory.lesson import Learned
from experepair.memory.memory import ScriptedMemory
from experepair.session.repair import repair
from experepair.steps.result import Status


def remembering() -> ScriptedMemory:
    """One insight and one demonstration an agent."""
    return ScriptedMemory(
        {
            agent: Recalled(
                (Insight("i1", 1, f"INSIGHT-{agent}"),),
                (Demonstration(f"d-{agent}", agent, "7", "An earlier issue", f"SUCCESS-{agent}"),),
            )
            for agent in Agent
        }
    )


OWNED = {
    Role.REPRODUCE: Agent.TEST, Role.VALIDATE: Agent.TEST, Role.LOCALIZE: Agent.PATCH, Role.PATCH: Agent.PATCH,
    Role.REFINE: Agent.PATCH,
}  # fmt: skip


def test_both_memories_reach_every_prompt_of_both_agents_the_first_included(
    repo: Path, tmp_path: Path
) -> None:
    memory, scripted = remembering(), toy.model()
    repair(repo, toy.ISSUE, out=tmp_path / "out", replay=scripted, memory=memory, python=sys.executable)
    for request in scripted.asked:
        remembered = "\n".join(part.text for part in request.prompt.parts if part.name == "memory")
        if agent := OWNED.get(request.role):
            assert f"1. INSIGHT-{agent}" in remembered
            assert f"SUCCESS-{agent}" in remembered
        else:
            assert not remembered


def test_a_later_trial_recalls_with_the_newest_failure_and_its_feedback(repo: Path, tmp_path: Path) -> None:
    memory = remembering()
    scripted = toy.model(
        reproduce=("```python\ndef test_a():\n    pass\n```", toy.REPRODUCTION), patch=(toy.WRONG, toy.BROKEN)
    )
    repair(repo, toy.ISSUE, out=tmp_path / "out", replay=scripted, memory=memory, python=sys.executable)
    test_queries = [query for query in memory.asked if query.agent is Agent.TEST]
    assert test_queries[0].failure is None
    assert test_queries[1].failure is not None
    assert "Every case passes" in test_queries[1].failure.feedback
    failures = [query.failure for query in memory.asked if query.agent is Agent.PATCH and query.failure]
    assert len(failures) == 1  # rounds 2 and 3 ask the same, which is answered from the journal
    assert all(query.issue == toy.ISSUE for query in memory.asked)


def test_a_finished_repair_is_told_with_all_its_trials_after_the_results_are_on_the_disk(
    repo: Path, tmp_path: Path
) -> None:
    class Looking(ScriptedMemory):
        async def learn(
            self, trajectory: Trajectory, operations: Mapping[Agent, tuple[Operation, ...]]
        ) -> Learned:
            assert (tmp_path / "out" / "result.json").is_file()
            return await super().learn(trajectory, operations)

    memory = Looking({})
    applied = f"I used one.\n<applied>1</applied>\n{toy.GOOD}"
    scripted = toy.model(patch=(applied, toy.OTHER, toy.WRONG, "Nothing."))
    result = repair(
        repo, toy.ISSUE, out=tmp_path / "out", replay=scripted, memory=memory, python=sys.executable
    )
    (trajectory,) = memory.told
    assert result.status is Status.REPAIRED
    trials = {trial.name: trial for trial in trajectory.trials}
    assert {"S1", "P1.1", "P1.2", "P1.3", "P1.4", "V1", "V3"} <= set(trials)
    assert trials["P1.1"].applied == (1,)
    assert [trials[name].succeeded for name in ("S1", "P1.1", "P1.3", "P1.4")] == [True, True, False, False]
    assert "ZeroDivisionError" in trials["P1.3"].feedback
    assert trajectory.chosen == ("S1", "P1.2")
    assert (trajectory.run_id, trajectory.status) == (result.run_id, "repaired")


def test_a_repair_without_success_is_told_too(repo: Path, tmp_path: Path) -> None:
    memory = remembering()
    scripted = toy.model(patch=toy.WRONG)
    repair(repo, toy.ISSUE, out=tmp_path / "out", replay=scripted, memory=memory, python=sys.executable)
    assert memory.told[0].status == "unresolved"
    assert memory.told[0].chosen == ("S1",)


def test_a_memory_that_fails_in_the_middle_is_told_to_the_user_and_ends_no_repair(
    repo: Path, tmp_path: Path
) -> None:
    class Failing(ScriptedMemory):
        async def recall(self, query: Query) -> Recalled:
            del query
            raise MemoryUnavailable("the disk is gone")

        async def past_repairs(self, issue: Issue) -> tuple[PastRepair, ...]:
            del issue
            raise MemoryUnavailable("the disk is gone")

        async def learn(
            self, trajectory: Trajectory, operations: Mapping[Agent, tuple[Operation, ...]]
        ) -> Learned:
            raise MemoryUnavailable("the disk is gone")

    result = repair(
        repo, toy.ISSUE, out=tmp_path / "out", replay=toy.model(), memory=Failing({}), python=sys.executable
    )
    assert result.status is Status.REPAIRED
    assert result.notes.count("memory could not be asked: the disk is gone") == 1
    assert result.memory is not None
    assert result.memory.learned is not None
    assert "the disk is gone" in result.memory.learned.failed
