"""What is known of instances on this machine: tests that fail whatever the patch, and how long their tests take."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pydantic import BaseModel, TypeAdapter, ValidationError

from experepair.errors import UsageError


class Known(BaseModel, frozen=True, extra="ignore"):
    """One instance, as a survey of gold and empty patches found it."""

    status: str = "RUNNABLE"
    """Starts with RUNNABLE when its hidden tests can be run here."""
    excluded_tests: tuple[str, ...] = ()
    """Tests that fail here with and without the fix."""
    hash_seed: int = 0
    """PYTHONHASHSEED with which they pass."""
    seconds_gold: float | None = None
    """How long they took."""
    why: str = ""
    """Why they can't be run."""

    @property
    def runnable(self) -> bool:
        """Whether the hidden tests can be run here."""
        return self.status.startswith("RUNNABLE")


def read_known(path: Path) -> Mapping[str, Known]:
    """Read a survey: an object by instance id in JSON.

    Raises:
        UsageError: it can't be read.
    """
    try:
        return TypeAdapter(dict[str, Known]).validate_json(path.read_bytes())
    except (OSError, ValidationError) as error:
        said = str(error).splitlines()
        raise UsageError(f"can't read the survey {str(path)!r}: {said[0]}") from error
