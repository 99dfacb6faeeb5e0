"""How far a repair has come, so that an end before its time keeps the best there is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from experepair.domain.candidate import Candidate
from experepair.steps.candidates import Assessed
from experepair.steps.checks import ScriptCheck
from experepair.steps.existing import ExistingTests
from experepair.steps.localize import Places
from experepair.steps.reproduce import Reproduction
from experepair.steps.table import OutcomeTable


@dataclass
class Progress:
    """What the steps have found so far. The only thing in a repair that changes."""

    reproduction: Reproduction | None = None
    places: Places | None = None
    assessed: list[Assessed] = field(default_factory=list)
    table: OutcomeTable = field(default_factory=OutcomeTable)
    tests: tuple[ScriptCheck, ...] = ()
    existing: ExistingTests | None = None
    chosen: Candidate | None = None
    reasons: str = ""

    @property
    def known(self) -> frozenset[str]:
        """Diffs that have been executed."""
        return frozenset(one.candidate.diff for one in self.assessed if one.candidate)

    @property
    def passing(self) -> tuple[Candidate, ...]:
        """Candidates that can be chosen, in the order in which they came."""
        return tuple(one.candidate for one in self.assessed if one.candidate and one.passed)

    def add(self, assessed: Sequence[Assessed]) -> None:
        """Keep what was executed."""
        self.assessed.extend(assessed)

    def sort(self) -> None:
        """Put candidates in the order of their names, whatever the order in which they were executed."""
        self.assessed.sort(key=lambda one: (one.name[0], [int(part) for part in one.name[1:].split(".")]))
