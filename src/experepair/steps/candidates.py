"""From a model's reply to a candidate that has been executed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from experepair.domain.candidate import Candidate
from experepair.domain.command import Changes, Command
from experepair.domain.text import clip
from experepair.steps.cases import CaseRun
from experepair.steps.kit import Kit
from experepair.steps.reproduce import Reproduction
from experepair.steps.target import source
from experepair.workspace.diff import diff
from experepair.workspace.edits import Refused, apply_edits, parse_edits, sensitive

_LONGEST_SHOWN = 12_000
_RESERVED = re.compile(r"experepair_[sv]\d+\.py(?:/|$)")


@dataclass(frozen=True, slots=True)
class Assessed:
    """A reply of the patch agent, and what came of it.

    Attributes:
        name: of the sample.
        output: the diff, or what was written in its place.
        candidate: None when no patch could be made of the reply.
        run: of the reproduction on it; None when it was not run.
        feedback: what the agent is told of it.
        passed: whether it can go on to validation.
    """

    name: str
    output: str
    candidate: Candidate | None
    run: CaseRun | None
    feedback: str
    passed: bool


def read_candidate(name: str, reply: str, kit: Kit, parent: str | None = None) -> Candidate | Assessed:
    """The patch that a reply holds, or why it holds none."""
    edits, unparsed = parse_edits(reply)
    if not edits:
        reason = unparsed[0].reason if unparsed else "the reply holds no <file>, <original>, <patched> blocks"
        return _useless(name, clip(reply, _LONGEST_SHOWN), f"No patch: {reason}.")
    applied = apply_edits(edits, kit.checkout.read)
    written = "\n".join(
        f"<file>{e.path}</file>\n<original>\n{e.original}\n</original>\n<patched>\n{e.patched}\n</patched>"
        for e in edits
    )
    if isinstance(applied, Refused):
        return _useless(name, clip(written, _LONGEST_SHOWN), f"The patch was refused: {applied.reason}")
    if reserved := [path for path in applied.changes if _RESERVED.match(path)]:
        return _useless(
            name, clip(written, _LONGEST_SHOWN), f"The name {reserved[0]!r} is kept for test scripts."
        )
    text = diff(kit.checkout, applied.changes)
    if not text.strip():
        return _useless(name, clip(written, _LONGEST_SHOWN), "The patch changes nothing.")
    flags = (*sensitive(applied.changes, kit.checkout.read), *(f"lost: {item.reason}" for item in unparsed))
    return Candidate(name, applied.changes, text, parent, flags)


async def assess(candidate: Candidate, reproduction: Reproduction | None, kit: Kit) -> Assessed:
    """Check the syntax by the target's interpreter, then run the reproduction."""
    if error := await syntax_error(candidate.changes, kit):
        feedback = f"It is no valid Python:\n{error}"
        return Assessed(candidate.name, candidate.diff, candidate, None, feedback, passed=False)
    if reproduction is None:
        return Assessed(candidate.name, candidate.diff, candidate, None, "Not executed.", passed=True)
    run = await reproduction.check.run(kit, candidate.changes)
    passed = run.passes(reproduction.baseline.total)
    return Assessed(
        candidate.name, candidate.diff, candidate, run, _feedback(run, passed, reproduction, kit), passed
    )


async def syntax_error(changes: Changes, kit: Kit) -> str | None:
    """What the target's interpreter finds wrong with the changed Python files; None when it compiles them."""
    paths = sorted(path for path, content in changes.items() if path.endswith(".py") and content is not None)
    if not paths:
        return None
    completed = await kit.run(_compile(paths), changes, purpose="syntax check")
    if completed.exit_code == 0:
        return None
    before = [path for path in paths if kit.checkout.read(path) is not None]
    if before and (await kit.run(_compile(before), purpose="syntax check before")).exit_code != 0:
        return None  # it was no valid Python of this version before, either
    return completed.stderr.strip() or "it could not be compiled"


def _compile(paths: Sequence[str]) -> Command:
    return Command(("{python}", "-I", "-c", source("syntax"), *paths))


def _feedback(run: CaseRun, passed: bool, reproduction: Reproduction, kit: Kit) -> str:
    shown = clip(run.output, kit.config.output_chars)
    if passed:
        return f"The reproduction passes:\n{shown}"
    if not run.finished:
        return f"The reproduction did not come to its end with this patch:\n{shown}"
    if run.total < reproduction.baseline.total:
        return f"Only {run.total} of {reproduction.baseline.total} cases were run with this patch:\n{shown}"
    return f"The reproduction still fails with this patch:\n{shown}"


def _useless(name: str, output: str, feedback: str) -> Assessed:
    return Assessed(name, output, None, None, feedback, passed=False)
