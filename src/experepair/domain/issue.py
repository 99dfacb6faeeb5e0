"""What is to be repaired."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Issue:
    """An issue as its author wrote it.

    Attributes:
        id: names it within its repository (a file's stem, an instance id, a digest of the text).
        repository: scope of memory: the normalized remote, or the path, of the repository.
        text: title and body, never cut.
        author: who wrote it, if known; with `trusted` it decides about quarantine.
        created_at: when it was written, UTC; None when unknown.
        trusted: whether what is learned from it may be recalled without being accepted first.
    """

    id: str
    repository: str
    text: str
    author: str | None = None
    trusted: bool = True
    created_at: datetime | None = None

    @property
    def title(self) -> str:
        """The first line that isn't blank, without heading marks, at most 200 characters."""
        for line in self.text.splitlines():
            if stripped := line.strip().lstrip("#").strip():
                return stripped[:200]
        return ""
