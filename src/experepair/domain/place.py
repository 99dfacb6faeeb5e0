"""Where the fault may be."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Evidence:
    """One reason to suspect a file or function.

    Attributes:
        kind: the signal that speaks (title, mention, traceback, history, …).
        detail: what was seen: an identifier, a path, a commit's subject.
        weight: its share of the score, unbounded.
    """

    kind: str
    detail: str
    weight: float


@dataclass(frozen=True, slots=True)
class Span:
    """Lines of one file, whole definitions where possible.

    Attributes:
        path: POSIX, relative to the tree.
        start: first line, from 1.
        end: last line, included.
        name: qualified name of the definition, or "" for other lines.
    """

    path: str
    start: int
    end: int
    name: str = ""

    @property
    def label(self) -> str:
        """In one line: "path:first-last name"."""
        return f"{self.path}:{self.start}-{self.end} {self.name}".rstrip()


@dataclass(frozen=True, slots=True)
class RankedFunction:
    """A definition below a ranked file."""

    span: Span
    score: float
    evidence: tuple[Evidence, ...] = ()


@dataclass(frozen=True, slots=True)
class RankedFile:
    """A file, how strongly it is suspected, and why."""

    path: str
    score: float
    evidence: tuple[Evidence, ...] = ()
    functions: tuple[RankedFunction, ...] = ()


@dataclass(frozen=True, slots=True)
class Ranking:
    """Files from most to least suspected.

    Attributes:
        files: best first.
        confidence: margin between the first and the second score (0 when there are fewer).
        notes: what the ranking had to do without ("no history: shallow clone").
    """

    files: tuple[RankedFile, ...]
    confidence: float = 0.0
    notes: tuple[str, ...] = ()
