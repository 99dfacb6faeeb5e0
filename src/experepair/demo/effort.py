"""What a recorded repair took: the demo's measure of what memory changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from experepair.domain.roles import Role
from experepair.journal.entries import Entry, Intent, Replied


@dataclass(frozen=True, slots=True)
class Effort:
    """Counted from a journal, also from a distilled one.

    Attributes:
        calls: to models that were answered; the summary for memory is left out, since only one arm makes it.
        scripts: trials of the test agent.
        rounds: of patch generation.
        tokens: of prompts and replies together, as the provider counted them.
    """

    calls: int
    scripts: int
    rounds: int
    tokens: int

    @classmethod
    def of(cls, entries: Sequence[Entry]) -> Effort:
        """Count what stands in a journal."""
        replied = {entry.call: entry for entry in entries if isinstance(entry, Replied)}
        made = [
            entry
            for entry in entries
            if isinstance(entry, Intent) and entry.call in replied and entry.role != Role.SUMMARIZE
        ]
        used = [usage for intent in made if (usage := replied[intent.call].usage)]
        return cls(
            calls=len(made),
            scripts=sum(intent.role == Role.REPRODUCE for intent in made),
            rounds=sum(intent.role == Role.PATCH and intent.sample == 0 for intent in made),
            tokens=sum(usage.input + usage.output for usage in used),
        )
