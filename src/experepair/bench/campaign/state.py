"""What a campaign keeps on disk: its settings, and how each repair ended. All else is derived from that and the journals."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, Field, ValidationError

from experepair.bench.campaign.arms import Arm, Variant, variants
from experepair.bench.instance import Instance
from experepair.domain.text import encodable
from experepair.errors import OutputError, UsageError
from experepair.steps.report import write_all

CAMPAIGN = "campaign.json"
START = "start.jsonl"
OUTCOME = "outcome.json"
MEMORY = "memory.db"
INDEXES = "indexes"
RUNS = "runs"
_LOCK = "campaign.lock"


class Phase(StrEnum):
    """The paper's two phases (3.1)."""

    INITIAL = "initial"
    """Seed issues: static prompts, memory is filled."""
    INFERENCE = "inference"
    """Memory is recalled."""


class Order(StrEnum):
    """What a repair of the inference phase may have learned from."""

    ONLINE = "online"
    """Earlier issues of the repository too: these go one after another."""
    FROZEN = "frozen"
    """The start state alone: nothing is learned, all may go at once."""


class Campaign(BaseModel, frozen=True, extra="forbid"):
    """What a campaign was told; `campaign.json`. It doesn't change any more."""

    version: Literal[1] = 1
    dataset: str
    """As it was given, for people."""
    instances: tuple[str, ...]
    """Ids of the inference phase, in time order."""
    seeds: tuple[str, ...] = ()
    """Ids of the initial phase, in time order; they are in no table of the inference phase."""
    statements: str
    """Digest of all that runs see of these instances."""
    arms: tuple[Arm, ...]
    models: tuple[str, ...] = ()
    """Those that are compared; empty means that of the settings alone."""
    repeats: int = Field(default=1, ge=1)
    order: Order = Order.ONLINE
    profile: str = "default"
    settings: dict[str, Any] = {}
    """Flags, as settings of each repair."""
    start: str = ""
    """Digest of `start.jsonl`, the memory that every variant begins with; "" means an empty one."""
    created: str
    """UTC, ISO 8601."""

    @property
    def variants(self) -> tuple[Variant, ...]:
        """What is compared."""
        return tuple(variants(self.arms, self.models, self.repeats))


class State(StrEnum):
    """How far a repair is."""

    DONE = "done"
    FAILED = "failed"
    """Something else than the issue ended it; it can be tried again."""
    REFUSED = "refused"
    """It can't be repaired here at all, such as one in another language."""


class Failure(BaseModel, frozen=True, extra="forbid"):
    """Why a repair failed."""

    why: str
    at: str
    """UTC, ISO 8601."""
    trace: str = ""
    """Of an error that nobody expected."""


class Outcome(BaseModel, frozen=True, extra="forbid"):
    """How a repair ended; `outcome.json` in its folder. It is written last: without it the repair isn't over."""

    instance_id: str
    state: State
    status: str = ""
    """Of the result, if there is one."""
    failures: tuple[Failure, ...] = ()
    """All of them, the newest last."""

    @property
    def why(self) -> str:
        """The newest failure's reason, "" when it is done."""
        return self.failures[-1].why if self.failures and self.state is not State.DONE else ""


class Folder:
    """The folder of a campaign.

    Args:
        root: of it.
    """

    def __init__(self, root: Path) -> None:
        self.root = root

    def line(self, phase: Phase, name: str) -> Path:
        """Where a variant (or, in the initial phase, a model) has its memory and its runs."""
        return self.root / phase / name

    def run(self, phase: Phase, name: str, instance_id: str) -> Path:
        """The folder of one repair."""
        return self.line(phase, name) / RUNS / instance_id

    @contextmanager
    def held(self) -> Iterator[None]:
        """One process at a time runs a campaign.

        Raises:
            UsageError: another one does.
            OutputError: the folder can't be written.
        """
        try:
            self.root.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(self.root / _LOCK, os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise OutputError(f"can't write the campaign {str(self.root)!r}: {error.strerror}") from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            os.close(descriptor)
            raise UsageError(
                f"another experepair runs the campaign {str(self.root)!r}; wait until it ends, or stop it"
            ) from error
        try:
            yield
        finally:
            os.close(descriptor)

    def begin(self, campaign: Campaign) -> None:
        """Write the settings of a new campaign, once what they name is there."""
        write_all(self.root, {CAMPAIGN: campaign.model_dump_json(indent=2) + "\n"})

    @property
    def exists(self) -> bool:
        """Whether a campaign has begun here."""
        return (self.root / CAMPAIGN).exists()

    def campaign(self) -> Campaign:
        """Its settings.

        Raises:
            UsageError: there is none, or it can't be read.
        """
        path = self.root / CAMPAIGN
        try:
            return Campaign.model_validate_json(path.read_bytes())
        except OSError as error:
            raise UsageError(
                f"there is no campaign in {str(self.root)!r} ({error.strerror}); `experepair bench run` makes one"
            ) from error
        except ValidationError as error:
            first = error.errors()[0]
            raise UsageError(f"{str(path)!r} is no campaign: {first['loc']}: {first['msg']}") from error


def read_outcome(folder: Path) -> Outcome | None:
    """How a repair ended; None when it isn't over."""
    try:
        return Outcome.model_validate_json((folder / OUTCOME).read_bytes())
    except (OSError, ValidationError):
        return None


def write_outcome(folder: Path, outcome: Outcome) -> Outcome:
    """Keep how a repair ended.

    Raises:
        OutputError: it can't be written.
    """
    write_all(folder, {OUTCOME: encodable(outcome.model_dump_json(indent=2)) + "\n"})
    return outcome


def statements_digest(instances: Sequence[Instance]) -> str:
    """Tells apart what runs see: another text, commit or time makes another campaign."""
    seen = [
        (one.id, one.repo, one.base_commit, one.problem_statement, str(one.created_at), one.version)
        for one in sorted(instances, key=lambda one: one.id)
    ]
    return digest(json.dumps(seen).encode())


def digest(content: bytes) -> str:
    """SHA-256 in hexadecimal."""
    return hashlib.sha256(content).hexdigest()
