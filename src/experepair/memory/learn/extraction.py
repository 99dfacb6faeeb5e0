"""Demonstrations out of a finished repair (paper, 3.3.1): what worked, and what it corrected."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime

from experepair.domain.memory import Demonstration, Failure, Operation, Origin
from experepair.domain.roles import Agent
from experepair.domain.trajectory import Trajectory, Trial
from experepair.memory.learn.diffs import FileDiff, functions, split
from experepair.memory.learn.identity import identity
from experepair.memory.lesson import Lesson, Source

REPAIRED = "repaired"
"""The one status in which the patch has passed the reproduction and broken no existing test that was run."""

Naming = Callable[[list[FileDiff]], tuple[str, ...]]
"""Names the definitions that a diff touches (`diffs.functions`, better with the repository's blobs)."""


def lesson_of(
    trajectory: Trajectory,
    operations: Mapping[Agent, tuple[Operation, ...]],
    at: datetime,
    naming: Naming = functions,
) -> Lesson:
    """All that a repair teaches. Its texts aren't masked yet (`masking.masked`).

    Of each agent there is the output that was chosen in the end, alone and once for every failed output that it
    corrects. A script counts when it was valid, whatever became of the patch; a patch only when the issue is repaired.

    Args:
        trajectory: of a finished repair; a failed one teaches its insights, and the script if that was valid.
        operations: on the insights, by agent.
        at: when it is learned.
        naming: of definitions; the diff alone has to tell when no repository is at hand.
    """
    script = _chosen(trajectory, Agent.TEST)
    patch = _chosen(trajectory, Agent.PATCH) if trajectory.status == REPAIRED else None
    demonstrations: list[Demonstration] = []
    if script is not None:
        # what comes after the script are validation tests: another task
        before = trajectory.trials[: trajectory.trials.index(script)]
        demonstrations += _demonstrations(trajectory, script, before, (), ())
    if patch is not None:
        files = split(patch.output)
        paths = tuple(file.path for file in files)
        demonstrations += _demonstrations(trajectory, patch, trajectory.trials, paths, naming(files))
    return Lesson(
        key=key_of_run(trajectory.run_id),
        source=Source.RUN,
        issue=trajectory.issue,
        at=at,
        commit=trajectory.commit,
        outcome=trajectory.status,
        models=trajectory.models,
        demonstrations=tuple(demonstrations),
        operations=operations,
        uses=trajectory.uses,
        patch=trajectory.patch,
        fence=trajectory.fence,
    )


def key_of_run(run_id: str) -> str:
    """By what a run is known to have been learned from."""
    return f"run:{run_id}"


def _chosen(trajectory: Trajectory, agent: Agent) -> Trial | None:
    return next(
        (
            trial
            for trial in trajectory.trials
            if trial.agent is agent and trial.succeeded and trial.name in trajectory.chosen
        ),
        None,
    )


def _demonstrations(
    trajectory: Trajectory,
    success: Trial,
    trials: tuple[Trial, ...],
    paths: tuple[str, ...],
    names: tuple[str, ...],
) -> list[Demonstration]:
    """The pair, and a tuple for each distinct output that failed."""
    failed = {
        trial.output: Failure(trial.output, trial.feedback)
        for trial in trials
        if trial.agent is success.agent
        and not trial.succeeded
        and trial.output.strip()
        and trial.output != success.output
    }
    failures: list[Failure | None] = [None, *failed.values()]
    key, issue = key_of_run(trajectory.run_id), trajectory.issue
    return [
        Demonstration(
            id=identity(issue.repository, key, success.agent, number),
            agent=success.agent,
            issue_id=issue.id,
            issue=issue.text,
            success=success.output,
            failure=failure,
            origin=Origin.VALIDATED,
            trusted=issue.trusted,
            run_id=trajectory.run_id,
            commit=trajectory.commit,
            created_at=issue.created_at,
            paths=paths,
            functions=names,
        )
        for number, failure in enumerate(failures)
    ]
