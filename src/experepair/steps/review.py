"""Selection: the review agent chooses among the candidates that the table leaves (paper, 3.2.3)."""

from __future__ import annotations

from experepair.domain.edit import Unparsed
from experepair.domain.issue import Issue
from experepair.domain.roles import Role
from experepair.errors import BudgetSpent, ProviderError, UsageError
from experepair.prompts.loader import render
from experepair.steps.kit import Kit
from experepair.steps.localize import Places
from experepair.steps.progress import Progress
from experepair.steps.replies import read_choice


async def review(issue: Issue, places: Places, kit: Kit, progress: Progress) -> None:
    """Choose the patch; a reviewer who doesn't answer, or not with a candidate, is replaced by the table."""
    eligible = [row.name for row in progress.table.undominated()]
    if not eligible:
        return
    by_name = {candidate.name: candidate for candidate in progress.passing}
    progress.chosen = by_name[eligible[0]]
    progress.reasons = "The only candidate that the tests leave."
    if len(eligible) > 1:
        differing = {test.partition("::")[0] for test in progress.table.differing(eligible)}
        prompt = render(
            "review",
            issue=issue,
            code=places.code,
            candidates=[by_name[name] for name in eligible],
            tests=[test for test in progress.tests if test.name in differing],
            table=progress.table.text(eligible),
            eligible=eligible,
        )
        try:
            reply = await kit.models.reply(Role.REVIEW, prompt)
        except (ProviderError, UsageError, BudgetSpent) as error:
            progress.reasons = f"The reviewer could not be asked ({error}); the table decided."
            kit.decide("review", f"{eligible[0]}, by the table", reasons=progress.reasons)
            if isinstance(error, BudgetSpent):
                raise
            return
        choice = read_choice(reply.text, eligible)
        if isinstance(choice, Unparsed):
            progress.reasons = (
                f"The reviewer's answer could not be used ({choice.reason}); the table decided."
            )
        else:
            progress.chosen = by_name[choice]
            progress.reasons = reply.text[: reply.text.rfind("<choice>")].strip()
    kit.decide("review", f"{progress.chosen.name} of {', '.join(eligible)}", reasons=progress.reasons)
