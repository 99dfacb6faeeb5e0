"""The result of a repair as machines read it: `result.json`."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, Field

from experepair.domain.text import encodable
from experepair.steps.spending import Spending


class Status(StrEnum):
    """How a repair ended."""

    REPAIRED = "repaired"
    """The patch turns the failing reproduction into a passing one and breaks no existing test that was run."""
    BREAKS_TESTS = "breaks_tests"
    """The patch passes the reproduction, but existing tests that passed before fail with it."""
    UNREPRODUCED = "unreproduced"
    """There is a patch, but no reproduction: nothing has shown that it resolves the issue."""
    UNRESOLVED = "unresolved"
    """No patch passes the reproduction, or none could be made."""
    BUDGET_SPENT = "budget_spent"
    """A cap on cost or tokens ended the repair; the best patch so far is kept."""
    PROVIDER_FAILED = "provider_failed"
    """The model's provider ended the repair; the best patch so far is kept."""
    ABORTED = "aborted"
    """An error ended the repair; `error` says which. The best patch so far is kept."""
    INTERRUPTED = "interrupted"
    """The user ended the repair; `--resume` goes on from the journal."""

    @property
    def exit_status(self) -> int:
        """What `experepair fix` exits with."""
        return _EXIT[self]


_EXIT = {
    Status.REPAIRED: 0,
    Status.BREAKS_TESTS: 1,
    Status.UNREPRODUCED: 1,
    Status.UNRESOLVED: 1,
    Status.PROVIDER_FAILED: 3,
    Status.ABORTED: 2,
    Status.BUDGET_SPENT: 5,
    Status.INTERRUPTED: 130,
}


Text = Annotated[str, AfterValidator(encodable)]
"""Text from models and code, which may hold what JSON can't."""


class _Value(BaseModel, frozen=True, extra="forbid"):
    pass


class IssueInfo(_Value, frozen=True):
    """What was repaired."""

    id: Text
    title: Text
    repository: Text


class PatchInfo(_Value, frozen=True):
    """The patch that was chosen."""

    name: Text
    paths: tuple[Text, ...]
    lines_changed: int
    diff: Text
    """For `git apply` on the commit."""
    flags: tuple[Text, ...] = ()
    """Why a human should look twice."""
    reasons: Text = ""
    """Of the reviewer, or how it was settled without one."""


class ReproductionInfo(_Value, frozen=True):
    """The check that fails before the patch and passes after it."""

    name: Text
    """Of the script, or the id of an existing test."""
    existing_test: bool
    trials: int
    """Scripts written until this one was valid; 0 for an existing test."""
    cases: tuple[Text, ...]
    failed_before: tuple[Text, ...]
    source: Text
    output_before: Text
    reasons: Text
    """Of the judge."""


class EvidenceInfo(_Value, frozen=True):
    """One reason to suspect a file."""

    kind: Text
    detail: Text
    weight: float


class FunctionInfo(_Value, frozen=True):
    """A suspected function of a file."""

    span: Text
    """As "path:first-last name"."""
    score: float
    evidence: tuple[EvidenceInfo, ...]


class FileInfo(_Value, frozen=True):
    """A suspected file."""

    path: Text
    score: float
    evidence: tuple[EvidenceInfo, ...]
    functions: tuple[FunctionInfo, ...] = ()
    """Its best."""


class PlacesInfo(_Value, frozen=True):
    """Where the fault was looked for."""

    ranked: tuple[FileInfo, ...]
    """Best first, found without a model."""
    confidence: float
    notes: tuple[Text, ...]
    files: tuple[Text, ...]
    """Chosen by the patch agent."""
    spans: tuple[Text, ...]
    """As "path:first-last name"."""


class CandidateInfo(_Value, frozen=True):
    """A sample of the patch agent."""

    name: Text
    passed: bool
    parent: Text | None
    """The candidate that it refines."""
    diff: Text | None
    """None when no patch could be made of the reply."""
    feedback: Text


class TableInfo(_Value, frozen=True):
    """Candidates by tests."""

    header: tuple[Text, ...]
    rows: tuple[tuple[Text, ...], ...]
    set_aside: tuple[Text, ...]
    """Validation tests that fail on every candidate."""


class RememberedInfo(_Value, frozen=True):
    """An insight or a demonstration that was in a prompt."""

    id: Text
    kind: Literal["insight", "demonstration"]
    agent: Text
    """Whose memory it is from."""
    text: Text
    """The insight, or the title of the demonstration's issue."""
    origin: Text = ""
    """Of a demonstration: validated, mined or human."""
    trusted: bool = True
    issue: Text = ""
    """Of a demonstration: the issue that it was learned from."""
    source: Text = ""
    """Of a demonstration: the run, or the commit, that it was learned from."""
    score: float | None = None
    """Of a demonstration: its best likeness to a query; None when memory doesn't tell."""
    prompts: tuple[Text, ...] = ()
    """Roles of the calls in whose prompts it was."""
    applied: tuple[Text, ...] = ()
    """Outputs that say that it was applied; agents are asked that of insights only."""


class LearnedInfo(_Value, frozen=True):
    """What the repair taught."""

    new: bool
    """False when memory knew this run already."""
    demonstrations: tuple[Text, ...] = ()
    """Ids of those that were stored."""
    operations: tuple[Text, ...] = ()
    """What was done to insights, in words."""
    dropped: tuple[Text, ...] = ()
    """Operations that were not applied, each with the reason."""
    quarantined: bool = False
    """Whether it waits to be accepted before it is recalled."""
    failed: Text = ""
    """Why nothing could be learned, or no insights could be drawn."""


class MemoryInfo(_Value, frozen=True):
    """What memory had to do with the repair."""

    place: Text
    """Where it is kept, without password."""
    recalls: int
    """How often it was asked."""
    considered: int
    """Demonstrations that it could choose from, at most."""
    remembered: tuple[RememberedInfo, ...] = ()
    """What was in a prompt."""
    similar: tuple[Text, ...] = ()
    """Issues among them that say nearly the same, and what fixed them."""
    learned: LearnedInfo | None = None
    """None when nothing was to be learned, or not yet."""


class Result(_Value, frozen=True):
    """A finished repair. Documented in docs/result.md; `schema_version` rises with every change of meaning."""

    schema_version: Literal[1] = 1
    experepair: Text
    run_id: Text
    status: Status
    error: Text | None = None
    """What ended the repair before its time."""
    issue: IssueInfo
    commit: Text
    patch: PatchInfo | None = None
    reproduction: ReproductionInfo | None = None
    places: PlacesInfo | None = None
    candidates: tuple[CandidateInfo, ...] = ()
    validation_tests: dict[Text, Text] = {}
    """Source by name."""
    table: TableInfo | None = None
    existing_tests: tuple[Text, ...] = ()
    """Files of existing tests that were run."""
    memory: MemoryInfo | None = None
    """None without memory."""
    sandbox: Text = ""
    """Which backend isolated the executions, and how."""
    spending: Spending
    out: Path | None = Field(default=None, exclude=True)
    """Folder of the results; not in result.json, which lies there."""
    not_applied: Text = Field(default="", exclude=True)
    """Why the patch could not be applied to the work tree as it should have been; not in result.json either."""
    elapsed_s: float = 0.0
    """Wall time of this process, in seconds."""
    notes: tuple[Text, ...] = ()

    @property
    def exit_status(self) -> int:
        """What `experepair fix` exits with."""
        return self.status.exit_status

    @property
    def chosen(self) -> tuple[Text, ...]:
        """Names of the reproduction and the patch that were chosen."""
        return tuple(part.name for part in (self.reproduction, self.patch) if part)
