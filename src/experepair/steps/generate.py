"""Patch generation: rounds of samples, every failed one of a round fed into the next (paper, 3.2.2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from experepair.domain.candidate import Candidate
from experepair.domain.issue import Issue
from experepair.domain.memory import Failure, Recalled
from experepair.domain.roles import Agent, Role
from experepair.domain.trajectory import Trial
from experepair.errors import BudgetSpent, ExpeRepairError
from experepair.llm.request import Prompt, Reply
from experepair.prompts.loader import render
from experepair.steps.candidates import Assessed, assess, read_candidate
from experepair.steps.concurrently import all_of
from experepair.steps.kit import Kit
from experepair.steps.localize import Places
from experepair.steps.progress import Progress
from experepair.steps.remember import applied, recall, suspects
from experepair.steps.replies import read_applied
from experepair.steps.reproduce import Reproduction


@dataclass(frozen=True, slots=True)
class Sample:
    """One reply that shall become a candidate."""

    name: str
    text: str
    number: int
    parent: str | None = None


async def generate(
    issue: Issue, places: Places, reproduction: Reproduction | None, kit: Kit, progress: Progress
) -> tuple[Assessed, ...]:
    """The distinct candidates of the first round in which one passes; empty when none ever does.

    Without a reproduction nothing can be told apart by execution: one round, and what applies and compiles counts.
    """
    failed: list[Assessed] = []
    for number in range(1, (kit.config.rounds if reproduction else 1) + 1):
        paths = suspects(kit, places.ranking, places.files)
        recalled = await recall(kit, Agent.PATCH, issue, _newest(failed), paths)
        prompt = patch_prompt(issue, places, reproduction, recalled, failed, number, kit)
        replies = await kit.models.samples(Role.PATCH, prompt, kit.config.samples)
        texts, error = answered(replies)
        for i, text in texts:
            applied(kit, Agent.PATCH, f"P{number}.{i}", recalled, text)
        samples = [Sample(f"P{number}.{i}", text, number) for i, text in texts]
        assessed = await assess_all(samples, reproduction, kit, progress, stage="generate")
        if error is not None:
            raise error
        if passed := tuple(one for one in assessed if one.passed):
            return passed
        failed.extend(assessed)
    kit.decide("generate", "no candidate passes")
    return ()


def patch_prompt(
    issue: Issue,
    places: Places,
    reproduction: Reproduction | None,
    recalled: Recalled,
    failed: Sequence[Assessed],
    number: int,
    kit: Kit,
) -> Prompt:
    """The prompt of one round."""
    return render(
        "patch",
        issue=issue,
        recalled=recalled,
        agent_task="patch",
        code=places.code,
        most_edits=kit.config.most_edits,
        reproduction=reproduction,
        attempts=failed,
        trial=number,
    )


def answered(
    replies: Sequence[Reply | ExpeRepairError],
) -> tuple[list[tuple[int, str]], ExpeRepairError | None]:
    """Texts of the samples that were answered, numbered from 1, and the error that has to stop the repair.

    A sample that failed doesn't lose the others; a spent budget stops, but only after their use.
    """
    texts = [(i, reply.text) for i, reply in enumerate(replies, 1) if isinstance(reply, Reply)]
    errors = [reply for reply in replies if isinstance(reply, ExpeRepairError)]
    spent = next((error for error in errors if isinstance(error, BudgetSpent)), None)
    return texts, spent or (errors[0] if errors and not texts else None)


async def assess_all(
    samples: Sequence[Sample],
    reproduction: Reproduction | None,
    kit: Kit,
    progress: Progress,
    *,
    stage: str,
) -> list[Assessed]:
    """Execute the distinct candidates of these samples, all at once; those that equal an earlier one are left out."""
    read = [read_candidate(sample.name, sample.text, kit, sample.parent) for sample in samples]
    distinct: dict[str, Candidate] = {}
    for one in read:
        if isinstance(one, Candidate) and one.diff not in progress.known:
            distinct.setdefault(one.diff, one)
    progress.add([one for one in read if isinstance(one, Assessed)])

    async def execute(candidate: Candidate) -> Assessed:
        assessed = await assess(candidate, reproduction, kit)
        progress.add([assessed])
        return assessed

    executed = await all_of(execute(candidate) for candidate in distinct.values())
    by_name = {one.name: one for one in executed}
    assessed = []
    for sample, one in zip(samples, read, strict=True):
        result = one if isinstance(one, Assessed) else by_name.get(one.name)
        if result is None:
            continue
        assessed.append(result)
        kit.tried(
            Trial(
                Agent.PATCH,
                sample.number,
                result.name,
                result.output,
                result.feedback,
                result.passed and reproduction is not None,
                read_applied(sample.text),
            )
        )
    kit.decide(
        stage,
        f"{len(distinct)} distinct of {len(samples)} candidates, {sum(one.passed for one in assessed)} pass",
        distinct=[candidate.name for candidate in distinct.values()],
        identical=[one.name for one in read if isinstance(one, Candidate) and one.name not in by_name],
        failed={one.name: one.feedback[:500] for one in assessed if not one.passed},
    )
    progress.sort()
    return assessed


def _newest(failed: Sequence[Assessed]) -> Failure | None:
    return Failure(failed[-1].output, failed[-1].feedback) if failed else None
