"""A patch that may become the result."""

from __future__ import annotations

from dataclasses import dataclass

from experepair.domain.command import Changes


@dataclass(frozen=True, slots=True)
class Candidate:
    """A patch whose edits could be laid over the tree.

    Attributes:
        name: "P1.3" is the third sample of round 1, "R2" the second refinement.
        changes: the new content of what it touches.
        diff: the same for `git apply`.
        parent: name of the candidate that it refines.
        flags: why a human should look twice, a line each ("changes a test: tests/test_a.py").
    """

    name: str
    changes: Changes
    diff: str
    parent: str | None = None
    flags: tuple[str, ...] = ()

    @property
    def paths(self) -> tuple[str, ...]:
        """What it touches, sorted."""
        return tuple(sorted(self.changes))

    @property
    def size(self) -> int:
        """Lines added and removed; for what git shows as binary, the lines of the new content."""
        if "\nGIT binary patch\n" in self.diff:
            return sum((content or b"").count(b"\n") + 1 for content in self.changes.values())
        return sum(
            line.startswith(("+", "-")) and not line.startswith(("+++", "---"))
            for line in self.diff.splitlines()
        )
