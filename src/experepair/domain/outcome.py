"""How a test ended."""

from __future__ import annotations

from enum import StrEnum


class Outcome(StrEnum):
    """How one test ended on one tree."""

    PASSED = "passed"
    FAILED = "failed"
    ERROR = "error"
    SKIPPED = "skipped"
    UNKNOWN = "unknown"
    """It did not finish, or was not run."""
