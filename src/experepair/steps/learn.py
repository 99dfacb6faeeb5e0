"""What a finished repair teaches (paper, 3.3.1): one summary for both agents, then memory is told."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from experepair.domain.issue import Issue
from experepair.domain.memory import Insight
from experepair.domain.roles import Agent, Role
from experepair.domain.text import clip
from experepair.domain.trajectory import Trajectory, Trial
from experepair.errors import ExpeRepairError, OutputError
from experepair.journal.entries import Learned
from experepair.journal.trajectory import trajectory
from experepair.llm.fit import ASCII_CHARACTERS_PER_TOKEN
from experepair.llm.request import Prompt
from experepair.memory.config import LearnConfig
from experepair.memory.insights.operations import Read, read_operations
from experepair.prompts.loader import render
from experepair.steps.kit import Kit
from experepair.steps.remember import present_insights
from experepair.steps.result import Result, Status
from experepair.steps.table import OutcomeTable

_ENDINGS = {
    Status.REPAIRED: "it succeeded.",
    Status.BREAKS_TESTS: "it FAILED, since its best patch breaks tests of the repository.",
    Status.UNREPRODUCED: "the issue could not be reproduced, so nothing has shown whether the patch is right.",
    Status.UNRESOLVED: "it FAILED, no patch passes.",
}
"""Only a repair that came to its end is learned from: another one may be resumed, and a run teaches once."""


async def learn(issue: Issue, result: Result, table: OutcomeTable, kit: Kit) -> Learned | None:
    """Draw insights from the repair and tell memory of it; a result that is on the disk is never lost for that.

    Args:
        issue: that was repaired.
        result: as it was published.
        table: what the candidates passed.
        kit: of the repair.

    Returns:
        What was learned, as journalled; None when this repair is not learned from.

    Raises:
        OutputError: the journal can't be written.
    """
    if not kit.learns or result.status not in _ENDINGS:
        return None
    told = [entry for entry in kit.journal.entries if isinstance(entry, Learned)]
    if told and (told[-1].new or not told[-1].failed):
        return told[-1]
    lived = trajectory(kit.journal.entries, issue, result.chosen, result.patch.diff if result.patch else "")
    read, failed = Read(), ""
    with kit.stage("learn"):
        try:
            read = await _summarize(lived, result, table, kit)
        except OutputError:
            raise
        except ExpeRepairError as error:
            failed = f"no insights were drawn: {error}"
        return kit.journal.append(await _tell(lived, read, failed, kit))


async def _tell(lived: Trajectory, read: Read, failed: str, kit: Kit) -> Learned:
    try:
        learned = await kit.memory.learn(lived, read.operations)
    except OutputError:
        raise
    except ExpeRepairError as error:
        return Learned(new=False, dropped=read.dropped, failed=f"memory could not be told: {error}")
    return Learned(
        new=learned.new,
        demonstrations=learned.demonstrations,
        operations=learned.operations,
        dropped=(*read.dropped, *learned.dropped),
        quarantined=not lived.issue.trusted,
        failed=failed,
    )


async def _summarize(lived: Trajectory, result: Result, table: OutcomeTable, kit: Kit) -> Read:
    """One call for both agents: the record is most of its cost, and what one agent did explains the other's luck."""
    caps = kit.learning
    if not lived.trials or not caps.most_operations or not caps.most_insights:
        return Read()
    present = await present_insights(kit)
    prompt = summary_prompt(lived, result.status, present, caps, _decision(result, table))
    reply = await kit.models.reply(Role.SUMMARIZE, prompt)
    return read_operations(reply.text, present, most=caps.most_operations, longest=caps.insight_chars)


def _decision(result: Result, table: OutcomeTable) -> str:
    """What tells the candidates apart, and why one was chosen; "" when there was nothing to choose from."""
    reasons = result.patch.reasons if result.patch else ""
    return "\n\n".join(text for text in (table.text([row.name for row in table.rows]), reasons) if text)


@dataclass(frozen=True, slots=True)
class ShownTrial:
    """A trial as the prompt shows it."""

    name: str
    agent: Agent
    succeeded: bool
    chosen: bool
    output: str
    feedback: str


def summary_prompt(
    lived: Trajectory,
    status: Status,
    present: Mapping[Agent, Sequence[Insight]],
    caps: LearnConfig,
    decision: str = "",
) -> Prompt:
    """The whole record within its budget: short texts stay whole, the longest are cut in the middle."""
    trials = _brief(sorted(lived.trials, key=_place))
    texts = [decision, *(text for trial in trials for text in (trial.output, trial.feedback))]
    most = _cap([len(text) for text in texts], int(caps.trajectory_tokens * ASCII_CHARACTERS_PER_TOKEN))
    return render(
        "summarize",
        issue=lived.issue,
        ending=_ENDINGS[status],
        decision=clip(decision, most),
        known=[(agent, present.get(agent, ())) for agent in Agent],
        most=caps.most_insights,
        longest=caps.insight_chars,
        operations=caps.most_operations,
        trials=[
            ShownTrial(
                trial.name,
                trial.agent,
                trial.succeeded,
                trial.name in lived.chosen,
                clip(trial.output, most),
                clip(trial.feedback, most),
            )
            for trial in trials
        ],
    )


def _brief(trials: Sequence[Trial]) -> list[Trial]:
    """The same trials; a feedback that another one got before isn't told again."""
    first: dict[str, str] = {}
    brief = []
    for trial in trials:
        name = first.setdefault(trial.feedback, trial.name)
        same = name == trial.name
        brief.append(trial if same else replace(trial, feedback=f"(the same as that of {name})"))
    return brief


def _place(trial: Trial) -> tuple[int, list[int]]:
    """Scripts, patches, validation tests, refinements: the last two are made at once, and end in any order."""
    letter, numbers = trial.name[:1], re.findall(r"\d+", trial.name)
    return "SPVR".find(letter), [int(number) for number in numbers]


def _cap(sizes: Sequence[int], budget: int) -> int:
    """The size to which the largest have to be cut so that all together fit."""
    left = budget
    for number, size in enumerate(ordered := sorted(sizes)):
        share = left // (len(ordered) - number)
        if size > share:
            return share
        left -= size
    return max(sizes, default=0)
