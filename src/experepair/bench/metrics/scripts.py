"""What a reproduction script shows, seen by running it with and without the maintainers' fix, once the repair is over."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

from pydantic import BaseModel, ValidationError

from experepair.bench.evaluation.applying import applied
from experepair.domain.edit import Unparsed
from experepair.llm.model import ScriptedModel
from experepair.memory.memory import NoMemory
from experepair.session.opened import Job, opened
from experepair.session.settings import Settings
from experepair.steps.cases import CaseRun, parse_script
from experepair.steps.checks import ScriptCheck
from experepair.steps.reproduce import missing_module

SHOWN = "script.json"
"""Beside the results of a run. It tells what happened, not what the fix is."""


class Shown(BaseModel, frozen=True, extra="forbid"):
    """What one script shows."""

    script: str
    """Digest of its text."""
    executes: bool = False
    """It comes to its end on the untouched code, without an error of the environment."""
    fails: bool = False
    """A case of it fails there."""
    passes_when_fixed: bool | None = False
    """All of its cases pass with the maintainers' fix; None when there is no fix to run it with."""
    why: str = ""
    """Why nothing could be seen."""

    @property
    def reproduces(self) -> bool | None:
        """It fails without the fix and passes with it."""
        return None if self.passes_when_fixed is None else self.fails and self.passes_when_fixed

    def is_of(self, script: str) -> bool:
        """Whether this is about that script."""
        return self.script == digest_of(script)


def digest_of(script: str) -> str:
    """Tells scripts apart."""
    return sha256(script.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def read_shown(run: Path) -> Shown | None:
    """What is known of the script of a run; None when nobody has looked."""
    try:
        return Shown.model_validate_json((run / SHOWN).read_bytes())
    except (OSError, ValidationError):
        return None


async def show(script: str, gold: str, job: Job, settings: Settings, tell: Callable[[str], None]) -> Shown:
    """Run a script on the untouched code and with the maintainers' fix.

    Nothing of it is kept but the answer: the journal of these executions is thrown away.

    Args:
        script: as the test agent wrote it.
        gold: the fix; "" when it isn't known.
        job: of the repair that wrote it.
        settings: of that repair.
        tell: is called with what the user should know.
    """
    parsed = parse_script(f"```python\n{script}\n```")
    shown = Shown(script=digest_of(script), passes_when_fixed=False if gold else None)
    if isinstance(parsed, Unparsed):
        return shown.model_copy(update={"why": parsed.reason})
    with tempfile.TemporaryDirectory(prefix="experepair-") as folder:
        alone = replace(
            job, out=Path(folder) / "run", resume=False, memory=NoMemory(), replay=ScriptedModel({})
        )
        async with opened(alone, settings, None, tell) as kit:
            check = ScriptCheck("S1", parsed)
            before = await check.run(kit)
            seen = shown.model_copy(
                update={"executes": _executes(before, missing_module(before, kit)), "fails": before.fails}
            )
            if not gold:
                return seen
            changes = applied(kit.checkout, gold)
            if isinstance(changes, Unparsed):
                why = "the maintainers' fix can't be applied"
                return seen.model_copy(update={"passes_when_fixed": None, "why": why})
            after = await check.run(kit, changes)
            passes = after.passes(before.total if before.finished else 1)
            return seen.model_copy(update={"passes_when_fixed": passes})


def _executes(run: CaseRun, missing: str | None) -> bool:
    return run.finished and missing is None
