"""Which demonstrations a repair may see, and when two issues are nearly the same."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path

from experepair.domain.memory import Demonstration, Origin
from experepair.workspace.git import Git

_WORD = re.compile(r"\w+")
_SHINGLE = 3


def nothing(commit: str) -> bool:
    """No commit is an ancestor: mined demonstrations are not recalled."""
    del commit
    return False


class Ancestors:
    """Whether a commit is an ancestor of the commit under repair, or that commit itself.

    Git is asked once, at the first question; eight bytes of each id are kept, so that a million commits fit.

    Args:
        repository: a working tree or a bare repository.
        commit: the commit under repair.
    """

    def __init__(self, repository: Path, commit: str = "HEAD") -> None:
        self._git, self._commit = Git(repository), commit

    @cached_property
    def _known(self) -> array[int]:
        listed = self._git.run("rev-list", "--end-of-options", self._commit)
        return array("Q", sorted(int(line[:16], 16) for line in listed.split()))

    def __call__(self, commit: str) -> bool:
        """Whether the commit, by its full id, is one of them."""
        try:
            wanted = int(commit[:16], 16) if len(commit) >= 40 else -1
        except ValueError:
            return False
        if wanted < 0:
            return False
        place = bisect_left(self._known, wanted)
        return place < len(self._known) and self._known[place] == wanted


@dataclass(frozen=True, slots=True)
class Bounds:
    """What a repair must not see, so that nothing leaks from the future.

    Attributes:
        issue_id: the issue under repair; never recalled itself. "" bars none beside the query's own.
        ancestors: of the commit under repair; a mined demonstration is eligible only if its commit is one.
        before: in a bench, when the issue was written: only what was learned from earlier issues is eligible.
        bar_near_duplicates: in a bench, bar issues that say nearly the same.
    """

    issue_id: str = ""
    ancestors: Callable[[str], bool] = nothing
    before: datetime | None = None
    bar_near_duplicates: bool = False

    def refusal(self, issue_id: str, origin: Origin, commit: str, created_at: datetime | None) -> str:
        """Why a demonstration is not eligible; "" if it is. Near-duplicates are told by `Shingles`."""
        if issue_id and issue_id == self.issue_id:
            return "same issue"
        if origin is Origin.MINED:
            return "" if self.ancestors(commit) else "not an ancestor"
        if self.before is not None and (created_at is None or created_at >= self.before):
            return "not earlier"
        return ""


class Shingles:
    """The word triples of a text, to tell how much others say the same."""

    def __init__(self, text: str) -> None:
        self._own = _shingles(text)

    def similarity(self, text: str) -> float:
        """Common triples among those of either text, 0 to 1 (Jaccard); 1 is the same wording."""
        other = _shingles(text)
        return len(self._own & other) / (len(self._own | other) or 1)


def _shingles(text: str) -> frozenset[tuple[str, ...]]:
    words = _WORD.findall(text.lower())
    return frozenset(zip(*(words[start:] for start in range(min(_SHINGLE, len(words) or 1))), strict=False))


@dataclass(frozen=True, slots=True)
class NearDuplicate:
    """A recalled demonstration whose issue says nearly the same as the one under repair.

    Attributes:
        demonstration: the past fix.
        similarity: share of common word triples.
    """

    demonstration: Demonstration
    similarity: float

    def __str__(self) -> str:
        known = self.demonstration
        fixed = known.commit[:10] if known.origin is Origin.MINED else known.run_id or "a person's patch"
        return f"similar to {known.issue_id} ({self.similarity:.0%} of the wording), fixed by {fixed}"


def near_duplicates(
    issue: str, demonstrations: tuple[Demonstration, ...], bar: float
) -> tuple[NearDuplicate, ...]:
    """Those of some demonstrations whose issues are near-duplicates of a text, most similar first.

    Args:
        issue: the text under repair.
        demonstrations: usually those recalled.
        bar: least similarity; `RecallConfig.near_duplicate`.
    """
    shingles = Shingles(issue)
    found = [NearDuplicate(each, shingles.similarity(each.issue)) for each in demonstrations]
    return tuple(
        sorted((each for each in found if each.similarity >= bar), key=lambda each: -each.similarity)
    )
