"""Test generation: a script that shows the fault (paper, 3.2.1)."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable
from dataclasses import dataclass, field

from experepair.domain.edit import Unparsed
from experepair.domain.issue import Issue
from experepair.domain.memory import Failure
from experepair.domain.place import Ranking
from experepair.domain.roles import Agent, Role
from experepair.domain.text import clip
from experepair.domain.trajectory import Trial
from experepair.errors import ExpeRepairError, UsageError
from experepair.localize.executed import NOTHING, Observed
from experepair.prompts.loader import render
from experepair.steps.cases import CaseRun, Script, is_cut, parse_script
from experepair.steps.checks import SCRIPT_NAME, Check, ExistingTest, ScriptCheck
from experepair.steps.concurrently import both
from experepair.steps.excerpts import similar_tests
from experepair.steps.kit import Kit
from experepair.steps.observe import observed
from experepair.steps.remember import applied, recall, suspects
from experepair.steps.replies import read_applied, read_verdict

_MISSING_MODULE = re.compile(r"(?:ModuleNotFoundError|ImportError): No module named '?([\w.]+)")


@dataclass(frozen=True, slots=True)
class Reproduction:
    """A check that fails on the untouched code, for the reason that the issue gives.

    Attributes:
        check: what was run.
        baseline: its run on the untouched code.
        reasons: why the judge holds the failure to be the issue's; empty for a test that the user named.
        trials: scripts written until this one was valid.
        output: the baseline's output as prompts and report show it.
        observed: what it executes on the untouched code, for the ranking.
    """

    check: Check
    baseline: CaseRun
    reasons: str
    trials: int
    output: str
    observed: Observed = field(default=NOTHING, repr=False)

    @property
    def source(self) -> str:
        """What the agents are shown of the check."""
        return self.check.source


async def reproduce(issue: Issue, suspected: Awaitable[Ranking], kit: Kit) -> Reproduction | None:
    """Write scripts until one is valid; None when none of them is.

    Args:
        issue: what is to be reproduced.
        suspected: the ranking, which is waited for only when memory is asked with it.
        kit: of the repair.
    """
    context = await asyncio.to_thread(similar_tests, issue.text, kit)
    failure: Failure | None = None
    paths = await _suspects(suspected, kit)
    for number in range(1, kit.config.trials + 1):
        recalled = await recall(kit, Agent.TEST, issue, failure, paths)
        prompt = render(
            "reproduce",
            issue=issue,
            recalled=recalled,
            agent_task="script",
            context=context,
            trial=number,
            failure=failure,
            **script_facts(kit, f"s{number}"),
        )
        reply = await kit.models.reply(Role.REPRODUCE, prompt)
        script = parse_script(reply.text)
        if isinstance(script, Unparsed):
            output, feedback, found = (
                script.text[:20_000],
                f"Your reply could not be used: {script.reason}.",
                None,
            )
        else:
            check = ScriptCheck(f"S{number}", script)
            output, (feedback, found) = script.body, await _examine(issue, check, number, kit)
        applied(kit, Agent.TEST, f"S{number}", recalled, reply.text)
        named = read_applied(reply.text)
        kit.tried(Trial(Agent.TEST, number, f"S{number}", output, feedback, found is not None, named))
        if found is not None:
            return found
        failure = Failure(output, feedback)
    kit.decide("reproduce", f"no valid script in {kit.config.trials} trials")
    return None


async def _suspects(suspected: Awaitable[Ranking], kit: Kit) -> tuple[str, ...]:
    """Waited for whether it is quick or not: a replay must ask memory the same."""
    if not kit.remembers:
        return ()
    try:
        return suspects(kit, await suspected)
    except ExpeRepairError:
        return ()  # localization says it


def script_facts(kit: Kit, name: str) -> dict[str, object]:
    """What the rules for scripts need to know."""
    return {
        "script_name": SCRIPT_NAME.format(name=name),
        "python_version": kit.python_version,
        "time_s": kit.limits.time_s,
        "import_error": kit.import_error,
    }


def missing_module(run: CaseRun, kit: Kit) -> str | None:
    """A module of others that a case needs and the environment doesn't have, said as feedback."""
    for case, reason in run.reasons.items():
        if (missing := _MISSING_MODULE.search(reason)) and not _in_repository(missing[1], kit):
            return f"The case {case} needs the module {missing[1]!r}, which is not installed there."
    return None


def _invalid(run: CaseRun, script: Script, kit: Kit) -> str | None:
    """Why execution alone says that the script doesn't show the issue."""
    if run.exit_code is None:
        return "The script did not come to its end in time. Guard a case that may hang by a limit of its own."
    if not run.finished and is_cut(run):
        return "The script prints so much that its verdicts are lost. Print less."
    if not run.finished:
        return "The script did not come to its end: something outside of the cases failed, or ended the interpreter."
    if run.exit_code == 0:
        passed = ", ".join(script.cases)
        return f"Every case passes on the code as it is ({passed}), so the script doesn't show the issue."
    return missing_module(run, kit)


async def _examine(
    issue: Issue, check: ScriptCheck, number: int, kit: Kit
) -> tuple[str, Reproduction | None]:
    run = await check.run(kit)
    shown = clip(run.output, kit.config.output_chars)
    if error := _invalid(run, check.script, kit):
        return f"{error}\n\n{shown}", None
    prompt = render("judge", issue=issue, script=check.source, output=shown)
    reply, traces = await both(kit.models.reply(Role.JUDGE, prompt), check.trace(kit))
    verdict, seen = read_verdict(reply.text), observed(traces, run)
    if isinstance(verdict, Unparsed):
        # The script has proved to fail by execution; a judge who can't be read doesn't undo that.
        kit.decide(
            "reproduce", "the judge's reply could not be read; the failure counts", reason=verdict.reason
        )
        return shown, Reproduction(check, run, f"({verdict.reason})", number, shown, seen)
    kit.decide("reproduce", f"judge: {'yes' if verdict.agrees else 'no'}", reasons=verdict.reasons)
    if not verdict.agrees:
        return f"A judge does not accept it: {clip(verdict.reasons, 2000)}\n\n{shown}", None
    return shown, Reproduction(check, run, verdict.reasons, number, shown, seen)


async def existing_reproduction(node_id: str, kit: Kit) -> Reproduction:
    """A test that the repository has already, as the reproduction.

    Raises:
        UsageError: it doesn't fail on the untouched code, or can't be run.
    """
    if kit.framework is None:
        raise UsageError(
            f"can't run the failing test {node_id!r}: how this repository runs its tests is unknown; "
            "say it with --test-command"
        )
    check = ExistingTest(node_id, kit.framework)
    run = await check.run(kit)
    shown = clip(run.output, kit.config.output_chars)
    if not run.fails:
        what = "passes" if run.finished else "could not be run"
        raise UsageError(f"the failing test {node_id!r} {what} on the commit under repair:\n{shown}")
    return Reproduction(check, run, "", 0, shown, observed(await check.trace(kit), run))


def _in_repository(module: str, kit: Kit) -> bool:
    top = module.split(".")[0]
    return any(
        path.startswith((f"{top}/", f"src/{top}/", f"lib/{top}/")) or path in (f"{top}.py", f"src/{top}.py")
        for path in kit.checkout.files()
    )
