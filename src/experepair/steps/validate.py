"""Patch validation: more tests, refined patches, the repository's own tests (paper, 3.2.3)."""

from __future__ import annotations

from collections.abc import Sequence

from experepair.domain.candidate import Candidate
from experepair.domain.command import Changes
from experepair.domain.edit import Unparsed
from experepair.domain.issue import Issue
from experepair.domain.outcome import Outcome
from experepair.domain.roles import Agent, Role
from experepair.domain.text import clip
from experepair.domain.trajectory import Trial
from experepair.errors import ExpeRepairError
from experepair.prompts.loader import render
from experepair.steps.cases import CaseRun, parse_script
from experepair.steps.checks import ScriptCheck
from experepair.steps.concurrently import all_of, both
from experepair.steps.existing import ExistingTests
from experepair.steps.generate import Sample, answered, assess_all
from experepair.steps.kit import Kit
from experepair.steps.localize import Places
from experepair.steps.progress import Progress
from experepair.steps.remember import applied, recall, suspects
from experepair.steps.replies import read_applied, says_unchanged
from experepair.steps.reproduce import Reproduction, missing_module, script_facts
from experepair.steps.table import OutcomeTable, Row


async def validate(
    issue: Issue,
    places: Places,
    reproduction: Reproduction | None,
    existing: ExistingTests,
    kit: Kit,
    progress: Progress,
) -> OutcomeTable:
    """Refine beside writing validation tests, then run every test on every candidate."""
    for candidate in progress.passing:
        existing.begin(candidate, kit)
    (written, unwritten), unrefined = await both(
        _write_tests(issue, places, reproduction, kit), _refine(issue, places, reproduction, kit, progress)
    )
    progress.tests = tests = tuple(test for test, _ in written)
    untouched = _outcomes(tests, [run for _, run in written])
    candidates = progress.passing
    runs = await all_of(_run_tests(tests, candidate.changes, kit) for candidate in candidates)
    reports = await all_of(existing.compare(candidate, kit) for candidate in candidates)
    rows = tuple(
        Row(
            candidate.name,
            Outcome.PASSED if reproduction else Outcome.UNKNOWN,
            report.broken,
            report.unfinished,
            report.compared,
            outcomes,
            candidate.size,
        )
        for candidate, outcomes, report in zip(candidates, runs, reports, strict=True)
    )
    _tell_broken(rows, progress, kit)
    before = Outcome.FAILED if reproduction else Outcome.UNKNOWN
    progress.table = OutcomeTable(rows, Row("untouched", before, validation=untouched))
    kit.decide(
        "validate", f"{len(rows)} candidates, {len(untouched)} validation cases", table=progress.table.lines()
    )
    if error := unwritten or unrefined:
        raise error
    return progress.table


def _tell_broken(rows: Sequence[Row], progress: Progress, kit: Kit) -> None:
    """Journal again, as failed, the candidates that break existing tests: memory must not learn them as successes."""
    trials = {one.name: one for one in progress.assessed}
    for row in rows:
        if row.broken:
            one = trials[row.name]
            feedback = f"{one.feedback}\n\nIt breaks existing tests: {', '.join(row.broken[:20])}"
            number = int(row.name[1]) if row.name.startswith("P") else 1
            kit.tried(Trial(Agent.PATCH, number, row.name, one.output, feedback, succeeded=False))


async def _write_tests(
    issue: Issue, places: Places, reproduction: Reproduction | None, kit: Kit
) -> tuple[list[tuple[ScriptCheck, CaseRun]], ExpeRepairError | None]:
    """Sample validation tests, run on the untouched code; what can't be used is dropped with its reason.

    Returns:
        The tests with their runs, and what stopped their writing, if anything.
    """
    if not kit.config.validation_tests:
        return [], None
    recalled = await recall(kit, Agent.TEST, issue, paths=suspects(kit, places.ranking, places.files))
    prompt = render(
        "validate",
        issue=issue,
        recalled=recalled,
        agent_task="script",
        code=places.code,
        reproduction=reproduction,
        **script_facts(kit, "v1"),
    )
    replies = await kit.models.samples(Role.VALIDATE, prompt, kit.config.validation_tests)
    texts, error = answered(replies)
    for i, text in texts:
        applied(kit, Agent.TEST, f"V{i}", recalled, text)
    read = [(f"V{i}", text, parse_script(text)) for i, text in texts]
    scripts = [
        (name, text, ScriptCheck(name, script))
        for name, text, script in read
        if not isinstance(script, Unparsed)
    ]
    runs = await all_of(check.run(kit) for _, _, check in scripts)
    tests: list[tuple[ScriptCheck, CaseRun]] = []
    dropped = {name: script.reason for name, _, script in read if isinstance(script, Unparsed)}
    for (name, text, check), run in zip(scripts, runs, strict=True):
        error_found = missing_module(run, kit)
        feedback = error_found or clip(run.output, kit.config.output_chars)
        kit.tried(Trial(Agent.TEST, 1, name, check.source, feedback, error_found is None, read_applied(text)))
        if error_found is None:
            tests.append((check, run))
        else:
            dropped[name] = error_found
    kit.decide("validate", f"{len(tests)} validation tests", dropped=dropped)
    return tests, error


async def _refine(
    issue: Issue, places: Places, reproduction: Reproduction | None, kit: Kit, progress: Progress
) -> ExpeRepairError | None:
    """Sample refined patches, spread over the distinct passing candidates; returns what stopped it, if anything."""
    parents = progress.passing
    total = kit.config.refinements
    shares = [(parent, len(range(i, total, len(parents)))) for i, parent in enumerate(parents[:total])]
    outcomes = await all_of(
        _refinements(issue, places, parent, [one for one in parents if one is not parent], share, kit)
        for parent, share in shares
    )
    numbered: list[tuple[Candidate, str]] = []
    error: ExpeRepairError | None = None
    for (texts, failure), (parent, _) in zip(outcomes, shares, strict=True):
        numbered.extend((parent, text) for _, text in texts)
        error = error or failure
    samples = [
        Sample(f"R{i}", text, 1, parent.name)
        for i, (parent, text) in enumerate(numbered, 1)
        if not says_unchanged(text)
    ]
    kit.decide("refine", f"{len(numbered) - len(samples)} of {len(numbered)} reviews find nothing to improve")
    if samples:
        await assess_all(samples, reproduction, kit, progress, stage="refine")
    return error


async def _refinements(
    issue: Issue, places: Places, parent: Candidate, siblings: Sequence[Candidate], share: int, kit: Kit
) -> tuple[list[tuple[int, str]], ExpeRepairError | None]:
    recalled = await recall(kit, Agent.PATCH, issue, paths=suspects(kit, places.ranking, places.files))
    prompt = render(
        "refine",
        issue=issue,
        recalled=recalled,
        agent_task="patch",
        code=places.code,
        most_edits=kit.config.most_edits,
        patch=parent.diff,
        siblings=[sibling.diff for sibling in siblings],
    )
    texts, error = answered(await kit.models.samples(Role.REFINE, prompt, share))
    for _, text in texts:
        applied(kit, Agent.PATCH, f"a refinement of {parent.name}", recalled, text)
    return texts, error


async def _run_tests(tests: Sequence[ScriptCheck], changes: Changes, kit: Kit) -> dict[str, Outcome]:
    return _outcomes(tests, await all_of(test.run(kit, changes) for test in tests))


def _outcomes(tests: Sequence[ScriptCheck], runs: Sequence[CaseRun]) -> dict[str, Outcome]:
    return {
        f"{test.name}::{case}": _outcome(run, case)
        for test, run in zip(tests, runs, strict=True)
        for case in test.script.cases
    }


def _outcome(run: CaseRun, case: str) -> Outcome:
    """A case of a script that did not come to its end proves nothing, even if it was reported before."""
    if not run.finished or case not in run.results:
        return Outcome.ERROR
    return Outcome.PASSED if run.results[case] else Outcome.FAILED
