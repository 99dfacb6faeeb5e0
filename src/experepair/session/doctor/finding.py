"""One line of the doctor's table, and all of them."""

from __future__ import annotations

from enum import StrEnum

from pydantic import BaseModel

from experepair.errors import ExpeRepairError, SandboxUnavailable


class State(StrEnum):
    """How a check came out."""

    GOOD = "good"
    NOTE = "note"
    """A repair works, but less well, or something has to be given by a flag."""
    BAD = "bad"
    """No repair works until this is mended."""


class Finding(BaseModel, frozen=True):
    """One line of the table."""

    what: str
    state: State
    found: str
    remedy: str = ""


class Diagnosis(BaseModel, frozen=True):
    """All findings."""

    findings: tuple[Finding, ...]
    no_sandbox: bool

    @property
    def exit_status(self) -> int:
        """0 when a repair can work, 4 without a sandbox, 2 when something else is bad."""
        if self.no_sandbox:
            return SandboxUnavailable.exit_status
        bad = any(finding.state is State.BAD for finding in self.findings)
        return ExpeRepairError.exit_status if bad else 0


def good(what: str, found: str) -> Finding:
    """All is well."""
    return Finding(what=what, state=State.GOOD, found=found)


def note(what: str, found: str, remedy: str = "") -> Finding:
    """A repair works all the same."""
    return Finding(what=what, state=State.NOTE, found=found, remedy=remedy)


def bad(what: str, found: str, remedy: str = "") -> Finding:
    """No repair works."""
    return Finding(what=what, state=State.BAD, found=found, remedy=remedy)
