"""Past commits: which files were changed for reasons like this issue's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from experepair.domain.place import Evidence
from experepair.localize.index.view import Index


@dataclass
class PastCommits:
    """How much past commits speak for each file (by position), and which."""

    files: dict[int, float] = field(default_factory=dict)
    evidence: dict[int, list[Evidence]] = field(default_factory=dict)


class History:
    """Stub."""

    notes: tuple[str, ...] = ()

    def similar(self, query: Mapping[str, int], index: Index) -> PastCommits:
        """None yet."""
        del query, index
        return PastCommits()
