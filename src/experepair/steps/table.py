"""Candidates by tests, and the choice that it allows. Pure: nothing here runs anything.

The order of choice: reproduction, no existing test broken, validation, reviewer, smaller diff. A validation test was
written by a model and may be wrong, so a candidate that passes more of them wins outright only where it passes
all that the other passes (docs/decisions/0003-undominated.md); the reviewer chooses among the rest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from experepair.domain.outcome import Outcome

_MARKS = {
    Outcome.PASSED: "pass",
    Outcome.FAILED: "FAIL",
    Outcome.ERROR: "ERROR",
    Outcome.SKIPPED: "skipped",
    Outcome.UNKNOWN: "?",
}


@dataclass(frozen=True, slots=True)
class Row:
    """What the tests say of one candidate.

    Attributes:
        name: of the candidate; "untouched" for the code as it is.
        reproduction: UNKNOWN when there is none.
        broken: existing tests that passed before and fail with it.
        unfinished: existing tests that did not finish in time.
        existing: existing tests that were compared.
        validation: by "V1::test_case".
        size: lines added and removed.
    """

    name: str
    reproduction: Outcome = Outcome.UNKNOWN
    broken: tuple[str, ...] = ()
    unfinished: int = 0
    existing: int = 0
    validation: Mapping[str, Outcome] = field(default_factory=dict)
    size: int = 0


@dataclass(frozen=True, slots=True)
class OutcomeTable:
    """Rows for all candidates that were executed to the end.

    Attributes:
        rows: in the order of the candidates.
        untouched: the row of the code as it is, if the tests were run on it.
    """

    rows: tuple[Row, ...] = ()
    untouched: Row | None = None

    @property
    def set_aside(self) -> tuple[str, ...]:
        """Validation tests that fail on every candidate: more likely wrong than all the candidates are."""
        return tuple(
            test
            for test in self._validation_tests()
            if self.rows and not any(row.validation.get(test) is Outcome.PASSED for row in self.rows)
        )

    def validated(self, row: Row) -> frozenset[str]:
        """Validation tests that a candidate passes."""
        return frozenset(test for test, outcome in row.validation.items() if outcome is Outcome.PASSED)

    def undominated(self) -> tuple[Row, ...]:
        """Candidates that may be chosen, best first by what the table alone can say.

        Those that pass the reproduction (or all, where there is none), of these the ones that break the
        fewest existing tests, of these the ones for which no other passes all they pass and more.
        """
        sound = [row for row in self.rows if row.reproduction in (Outcome.PASSED, Outcome.UNKNOWN)]
        fewest = min((len(row.broken) for row in sound), default=0)
        unbroken = [row for row in sound if len(row.broken) == fewest]
        passed = {row.name: self.validated(row) for row in unbroken}
        best = [
            row for row in unbroken if not any(passed[row.name] < passed[other.name] for other in unbroken)
        ]
        return tuple(sorted(best, key=lambda row: (-len(passed[row.name]), row.size)))

    def lines(self) -> list[list[str]]:
        """The table as cells of text, the header first; validation tests are numbered by script and case."""
        tests = self._validation_tests()
        header = ["candidate", "reproduction", "existing tests", *tests, "lines changed"]
        rows = [*([self.untouched] if self.untouched else []), *self.rows]
        return [header, *([*self._cells(row, tests)] for row in rows)]

    def text(self, names: Sequence[str]) -> str:
        """The rows of some candidates for a prompt: what they have in common once, then what tells them apart.

        Counts of existing tests stay out of it: they vary with versions of what the tests run on.
        """
        rows = [row for row in self.rows if row.name in names]
        differing = set(self.differing(names))
        alike = [test for test in self._validation_tests() if test not in differing]
        lines = [f"Every candidate passes the {what}." for what in self._passed_by_all(rows)]
        passed = [test for test in alike if all(row.validation.get(test) is Outcome.PASSED for row in rows)]
        if passed:
            lines.append(
                f"Every candidate passes {len(passed)}{' other' if differing else ''} validation tests."
            )
        if failed := [test for test in alike if test not in passed]:
            lines.append(f"No candidate passes these, so they may well be wrong: {', '.join(failed)}.")
        for row in rows if differing else ():
            cells = [
                f"{test}: {_MARKS[row.validation.get(test, Outcome.UNKNOWN)]}" for test in sorted(differing)
            ]
            lines.append("\n  ".join([f"{row.name}:", *cells]))
        lines.extend(
            f"{row.name} breaks existing tests: {', '.join(row.broken[:10])}." for row in rows if row.broken
        )
        return "\n".join(lines)

    def differing(self, names: Sequence[str]) -> tuple[str, ...]:
        """Validation tests that don't end alike on these candidates."""
        rows = [row for row in self.rows if row.name in names]
        return tuple(
            test
            for test in self._validation_tests()
            if len({row.validation.get(test, Outcome.UNKNOWN) for row in rows}) > 1
        )

    @staticmethod
    def _passed_by_all(rows: Sequence[Row]) -> list[str]:
        passed = []
        if rows and all(row.reproduction is Outcome.PASSED for row in rows):
            passed.append("reproduction")
        if rows and all(row.existing and not row.broken and not row.unfinished for row in rows):
            passed.append("existing tests that were run")
        return passed

    def _validation_tests(self) -> list[str]:
        names: dict[str, None] = {}
        for row in self.rows:
            names.update(dict.fromkeys(row.validation))
        return list(names)

    @staticmethod
    def _cells(row: Row, tests: Sequence[str]) -> list[str]:
        existing = f"{row.existing} compared, {len(row.broken)} broken" if row.existing else ""
        if row.unfinished:
            existing += f", {row.unfinished} unknown"
        if row.broken:
            existing += f" ({', '.join(row.broken[:5])}{', …' if len(row.broken) > 5 else ''})"
        validation = [_MARKS[row.validation.get(test, Outcome.UNKNOWN)] for test in tests]
        return [row.name, _MARKS[row.reproduction], existing, *validation, str(row.size or "")]
