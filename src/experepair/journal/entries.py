"""What can stand in a journal: one frozen value per kind of entry.

Texts may hold anything a model or a command printed, lone surrogates and NUL included.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

FORMAT = 1
"""Version of the journal's format; readers refuse a newer one."""


class Record(BaseModel, frozen=True, extra="forbid"):
    """What every entry has; both are set by the journal when the entry is appended."""

    seq: int = -1
    """Place in the journal, from 0."""
    at: str = ""
    """When it was appended: UTC, ISO 8601."""


class RunStarted(Record, frozen=True):
    """A run begins, or is taken up again: the first entry, and one more for every resume."""

    kind: Literal["run_started"] = "run_started"
    version: int = FORMAT
    """Format of the journal."""
    run_id: str
    experepair: str
    """Version of experepair that writes."""
    repository: str
    commit: str
    tree: str = ""
    """Id of the tree under repair; another one than the commit's when uncommitted changes are in it."""
    issue_id: str
    issue: str
    """Text of the issue, never cut."""
    author: str | None = None
    """Of the issue, if known."""
    trusted: bool = True
    """Whether what the issue teaches may be recalled without being accepted."""
    created_at: str = ""
    """When the issue was written: UTC, ISO 8601; "" when unknown."""
    fence: int = 0
    """Number of the process that writes from here on, higher than all before; 0 when no lease was held."""
    settings: dict[str, Any] = {}
    """What the run was told: flags, models, limits. No secrets."""


class RunEnded(Record, frozen=True):
    """The run is over, and how."""

    kind: Literal["run_ended"] = "run_ended"
    status: str
    detail: str = ""


class StageStarted(Record, frozen=True):
    """A stage of the repair begins."""

    kind: Literal["stage_started"] = "stage_started"
    stage: str


class StageEnded(Record, frozen=True):
    """A stage of the repair is over."""

    kind: Literal["stage_ended"] = "stage_ended"
    stage: str
    detail: str = ""
    """What came of it, in one line."""


class SentPart(BaseModel, frozen=True, extra="forbid"):
    """One part of a prompt as it was sent."""

    name: str
    text: str | None
    """None in a distilled journal."""
    sha256: str
    """Of the text in UTF-8 (lone surrogates as they stand)."""


class Tokens(BaseModel, frozen=True, extra="forbid"):
    """Tokens of one call, counted alike for all providers."""

    input: int = 0
    """All prompt tokens, those from the cache included."""
    output: int = 0
    """All generated tokens, reasoning included."""
    cached: int = 0
    """Prompt tokens read from the provider's cache."""
    cache_written: int = 0
    """Prompt tokens written to it."""


class Intent(Record, frozen=True):
    """A call to a model is about to be made; it counts as spent if no answer to it is found."""

    kind: Literal["intent"] = "intent"
    call: str
    """Unique within the journal; ties the entries of one call together."""
    key: str
    """Digest of role, system and parts: equal for equal prompts."""
    role: str
    sample: int = 0
    """Which of the samples of one prompt it is, from 0."""
    occurrence: int = 0
    """How many equal requests (key and sample) came before it, from 0."""
    model: str
    """As configured, "provider:name"."""
    system: SentPart
    parts: tuple[SentPart, ...]
    temperature: float | None = None
    """None when none is sent."""
    max_output_tokens: int | None = None
    worst_case_usd: float | None = None
    """None when the price is unknown."""
    worst_case_tokens: int = 0
    """Upper estimate of prompt and answer together."""


class Attempt(Record, frozen=True):
    """One attempt at a call failed or succeeded."""

    kind: Literal["attempt"] = "attempt"
    call: str
    number: int
    """From 1."""
    error: str | None = None
    """None when it succeeded."""
    status: int | None = None
    """HTTP status of a failure, if there was an answer at all."""
    wait_s: float = 0.0
    """Pause in seconds before the next attempt; 0 when there is none."""
    charged: bool = False
    """Whether the provider may have charged for a failure; True for a timeout, False for a refusal or a 429."""


class Replied(Record, frozen=True):
    """A call was answered."""

    kind: Literal["replied"] = "replied"
    call: str
    text: str
    usage: Tokens | None = None
    """None when the provider gave none."""
    raw_usage: dict[str, Any] = {}
    """Usage as the provider wrote it."""
    finish: str | None = None
    """Why generation ended ("stop", "length", …), if known."""
    model: str = ""
    """What the provider says has answered."""
    cost_usd: float | None = None
    """None when the price is unknown."""
    prices: str | None = None
    """Version of the price table, or "given" for a price that the user gave; None when unknown."""
    latency_s: float = 0.0
    """Wall time of the call in seconds, retries included."""
    replayed: bool = False
    """Whether it was taken from another journal: nothing was spent for it here."""


class CallFailed(Record, frozen=True):
    """A call is given up."""

    kind: Literal["call_failed"] = "call_failed"
    call: str
    reason: str
    status: int | None = None
    """HTTP status of the last failure, if there was an answer at all."""


class Executed(Record, frozen=True):
    """A command ran in a sandbox."""

    kind: Literal["executed"] = "executed"
    key: str
    """Digest of everything that decides the outcome."""
    purpose: str
    """What it was run for, in words."""
    argv: tuple[str, ...]
    changes: dict[str, str | None] = {}
    """Digest of the new content by path; None for a removed file."""
    exit_code: int | None = None
    stdout: str = ""
    stderr: str = ""
    duration_s: float = 0.0
    ended: str = "exited"
    files: dict[str, str] = {}
    """Content of collected files in base64, by path."""


class Decided(Record, frozen=True):
    """A choice was made that the record should explain."""

    kind: Literal["decided"] = "decided"
    stage: str
    what: str
    """The choice in one line."""
    data: dict[str, Any] = {}


class Tried(Record, frozen=True):
    """An agent's output and what came of it; memory learns from these."""

    kind: Literal["tried"] = "tried"
    agent: str
    number: int
    """Trial or round, from 1."""
    name: str
    """Of the output within the run ("S1", "P1.3", "R2", "V1")."""
    output: str
    """The script or the patch."""
    feedback: str
    succeeded: bool
    applied: tuple[int, ...] = ()
    """Numbers of the insights that the agent says it applied."""


class Recalled(Record, frozen=True):
    """Memory was asked, and what it gave."""

    kind: Literal["recalled"] = "recalled"
    agent: str
    query: str
    """Digest of the query."""
    considered: int = 0
    """Entries that were eligible."""
    taken: tuple[str, ...] = ()
    """Ids of what went into the prompt."""
    data: dict[str, Any] = {}
    """Scores, and why what was left out was left out."""
    parts: dict[str, tuple[str, ...]] = {}
    """Ids by the digest (`SentPart.sha256`) of the part of a prompt that shows them: what was sent with such a part
    is what a model has seen, also where a small window left some of it away."""
    given: dict[str, Any] | None = None
    """The insights and demonstrations themselves, as prompts show them; None when an earlier entry with this query
    holds them. A resumed run is given the same again, whatever was learned meanwhile."""


class Applied(Record, frozen=True):
    """An agent said which insights it applied."""

    kind: Literal["applied"] = "applied"
    agent: str
    where: str
    """Name of the output ("S1", "P1.3"), or of the step."""
    ids: tuple[str, ...]
    """Of the insights that stand behind the numbers it named; numbers that no prompt showed are left out."""


class PastRepairs(Record, frozen=True):
    """Memory was asked where issues like this one were repaired, for localization."""

    kind: Literal["past_repairs"] = "past_repairs"
    repairs: tuple[dict[str, Any], ...] = ()


class Consulted(Record, frozen=True):
    """The insights that the summarizer saw; a resumed run shows the same again, so that it pays once."""

    kind: Literal["consulted"] = "consulted"
    insights: dict[str, tuple[dict[str, Any], ...]]
    """By agent."""


class Learned(Record, frozen=True):
    """Memory was told of the run."""

    kind: Literal["learned"] = "learned"
    new: bool
    """False when it knew the run already."""
    demonstrations: tuple[str, ...] = ()
    """Ids of those that were stored."""
    operations: tuple[str, ...] = ()
    """What was done to the insights, in words."""
    dropped: tuple[str, ...] = ()
    """Operations that were not applied, each with the reason."""
    quarantined: bool = False
    """Whether it waits to be accepted before it is recalled."""
    failed: str = ""
    """Why nothing could be learned, or no insights could be drawn; "" when all went well."""


Entry = Annotated[
    RunStarted
    | RunEnded
    | StageStarted
    | StageEnded
    | Intent
    | Attempt
    | Replied
    | CallFailed
    | Executed
    | Decided
    | Tried
    | Recalled
    | Applied
    | PastRepairs
    | Consulted
    | Learned,
    Field(discriminator="kind"),
]
"""Any entry of a journal."""
