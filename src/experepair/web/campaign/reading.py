"""How far a campaign is, and how each of its repairs ended; a file that hasn't changed isn't read again."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from experepair.bench.campaign.state import CAMPAIGN, OUTCOME, RUNS, Campaign, Folder, Phase
from experepair.bench.report.collect import EVALUATION, verdicts
from experepair.session.out import JOURNAL
from experepair.steps.report import RESULT
from experepair.web.run.reading import held

LOCK = "campaign.lock"


@dataclass(frozen=True, slots=True)
class Ended:
    """One repair as tables show it.

    Attributes:
        instance_id: what was repaired.
        folder: of the run.
        state: done, failed, refused, running, or waiting.
        status: of the result; "" while there is none.
        resolved: what the evaluation says of the patch; None when there is none.
        usd: cost; None when unknown.
        seconds: wall time.
        calls: to models.
        reproduced: whether there is a valid reproduction.
        files: chosen by the patch agent.
        passing: candidates that pass.
        patch: the final one; "" for none.
        why: of a failure.
    """

    instance_id: str
    folder: Path
    state: str = "waiting"
    status: str = ""
    resolved: bool | None = None
    usd: float | None = None
    seconds: float = 0.0
    calls: int = 0
    reproduced: bool = False
    files: tuple[str, ...] = ()
    passing: int = 0
    patch: str = ""
    why: str = ""

    @property
    def verdict(self) -> str:
        """In one word: what the evaluation says, else how the repair ended, else how far it is."""
        if self.state != "done":
            return self.state
        if self.resolved is None:
            return self.status or "done"
        return "resolved" if self.resolved else "unresolved"

    @property
    def good(self) -> bool | None:
        """Whether it succeeded, as far as is known; None while it isn't over."""
        if self.state != "done":
            return None
        return self.resolved if self.resolved is not None else self.status == "repaired"


@dataclass(frozen=True, slots=True)
class Line:
    """One of what is compared: a variant of a campaign."""

    name: str
    repairs: Mapping[str, Ended]

    def count(self, *verdicts: str) -> int:
        """Repairs of which that is said."""
        return sum(one.verdict in verdicts for one in self.repairs.values())

    @property
    def over(self) -> int:
        """Repairs that are done."""
        return sum(one.state == "done" for one in self.repairs.values())

    @property
    def judged(self) -> int:
        """Repairs whose patch was evaluated."""
        return sum(one.resolved is not None for one in self.repairs.values())

    @property
    def good(self) -> int:
        """Repairs that succeeded, as far as is known."""
        return sum(bool(one.good) for one in self.repairs.values())

    @property
    def usd(self) -> float | None:
        """Cost of those that are done; None when a price is unknown."""
        costs = [one.usd for one in self.repairs.values() if one.state == "done"]
        return None if any(cost is None for cost in costs) else sum(cost or 0.0 for cost in costs)


@dataclass(frozen=True, slots=True)
class Standing:
    """A campaign as it is now.

    Attributes:
        campaign: its settings.
        root: its folder.
        live: whether a process runs it.
        lines: variants of the inference phase.
    """

    campaign: Campaign
    root: Path
    live: bool
    lines: tuple[Line, ...]

    def line(self, name: str) -> Line | None:
        """The variant with that name."""
        return next((line for line in self.lines if line.name == name), None)

    @property
    def state(self) -> str:
        """Changes when a repair begins or ends."""
        told = [[one.verdict for one in line.repairs.values()] for line in self.lines]
        return f"{hash(json.dumps(told)):x}{int(self.live)}"


def standing(root: Path) -> Standing:
    """Read a campaign.

    Raises:
        UsageError: there is none, or it can't be read.
    """
    folder = Folder(root)
    campaign = folder.campaign()
    lines = []
    for variant in campaign.variants:
        home = folder.line(Phase.INFERENCE, variant.name)
        verdict = verdicts(home / EVALUATION)
        repairs = {}
        for name in campaign.instances:
            one = _ended(name, home / RUNS / name)
            judged = verdict(name, one.patch) if one.state == "done" else None
            repairs[name] = replace(one, resolved=judged) if judged is not None else one
        lines.append(Line(variant.name, repairs))
    return Standing(campaign, root, held(root / LOCK), tuple(lines))


def is_campaign(folder: Path) -> bool:
    """Whether a campaign has begun there."""
    return (folder / CAMPAIGN).is_file()


def _ended(name: str, run: Path) -> Ended:
    outcome = _stamp(run / OUTCOME)
    if outcome is None:
        return Ended(name, run, "running" if (run / JOURNAL).exists() else "waiting")
    return _read(name, run, outcome, _stamp(run / RESULT))


def _stamp(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size


@lru_cache(maxsize=20_000)
def _read(name: str, run: Path, outcome: object, result: object) -> Ended:
    """A finished repair; the stamps only make a changed file be read again."""
    del outcome, result
    told = _json(run / OUTCOME)
    failures = told.get("failures") or [{}]
    one = Ended(
        name,
        run,
        str(told.get("state", "failed")),
        str(told.get("status", "")),
        why=str(failures[-1].get("why", "")),
    )
    found = _json(run / RESULT)
    get: Callable[..., Any] = found.get
    spent = (get("spending") or {}).get("total") or {}
    return replace(
        one,
        usd=spent.get("usd"),
        seconds=float(get("elapsed_s") or 0.0),
        calls=int(spent.get("calls") or 0),
        reproduced=bool(get("reproduction")),
        files=tuple((get("places") or {}).get("files") or ()),
        passing=sum(bool(one.get("passed")) for one in get("candidates") or ()),
        patch=str((get("patch") or {}).get("diff") or ""),
    )


def _json(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
