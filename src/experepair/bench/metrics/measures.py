"""One repair in numbers, from its journal, its result, its evaluation, and what its script was found to show."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from experepair.bench.metrics.scripts import Shown
from experepair.bench.metrics.spans import span_s
from experepair.domain.roles import Agent
from experepair.journal.entries import Applied, Decided, Entry, Tried
from experepair.steps.result import Result
from experepair.steps.spending import spending

_SCRIPT = re.compile(r"S\d+")
_YES = "judge: yes"


@dataclass(frozen=True)
class Measures:
    """One repair.

    Attributes:
        instance_id: what was repaired.
        status: how it ended.
        resolved: whether the hidden tests pass; None when nobody has judged.
        usd: cost; None when a price is unknown.
        tokens: prompts and replies.
        calls: to models.
        wall_s: seconds.
        script: whether any script was written.
        executes: the last script ran without an error of the environment (ESR); no script doesn't.
        reproduces: it fails on the untouched code and passes with the maintainers' fix (RSR); None when nobody has run it.
        accepted: the judge said yes to it.
        file_ranks: place of each file of the maintainers' fix in the ranking, from 1; None for one that isn't ranked.
        chosen: whether the patch agent chose all of these files; None when they are not known.
        recalled: entries of memory that were in a prompt.
        named: insights that an output said it applied.
        stages: cost, tokens and calls by role.
    """

    instance_id: str
    status: str
    resolved: bool | None = None
    usd: float | None = 0.0
    tokens: int = 0
    calls: int = 0
    wall_s: float = 0.0
    script: bool = False
    executes: bool | None = False
    reproduces: bool | None = False
    accepted: bool = False
    file_ranks: tuple[int | None, ...] = ()
    chosen: bool | None = None
    recalled: int = 0
    named: int = 0
    stages: dict[str, tuple[float | None, int, int]] = field(default_factory=dict)

    def within(self, top: int) -> bool | None:
        """Whether every file of the maintainers' fix is among the first of the ranking; None when that isn't known."""
        if not self.file_ranks:
            return None
        return all(rank is not None and rank <= top for rank in self.file_ranks)

    @property
    def agrees(self) -> bool | None:
        """Whether the judge said of the last script what execution with the maintainers' fix says."""
        return None if not self.script or self.reproduces is None else self.accepted == self.reproduces


def measure(
    instance_id: str,
    entries: Sequence[Entry],
    result: Result,
    shown: Shown | None,
    *,
    resolved: bool | None = None,
    gold_files: Sequence[str] = (),
) -> Measures:
    """Measure one repair.

    Args:
        instance_id: what was repaired.
        entries: its journal.
        result: how it ended.
        shown: what its last script was found to show; None when nobody has run it.
        resolved: what the evaluation says; None when there is none.
        gold_files: files that the maintainers' fix changes; empty when they aren't known.
    """
    spent = spending(entries)
    script = last_script(entries)
    missing = script is not None and (shown is None or not shown.is_of(script))
    ranked = [file.path for file in result.places.ranked] if result.places else []
    places = {path: number for number, path in enumerate(ranked, 1)}
    chosen = set(result.places.files) if result.places else set()
    known = shown if shown is not None and script is not None else Shown(script="")
    return Measures(
        instance_id,
        result.status,
        resolved,
        spent.total.usd,
        spent.total.input_tokens + spent.total.output_tokens,
        spent.total.calls,
        span_s(entries),
        script is not None,
        None if missing else known.executes,
        None if missing else known.reproduces,
        _accepted(entries),
        tuple(places.get(path) for path in gold_files),
        set(gold_files) <= chosen if gold_files else None,
        len(result.memory.remembered) if result.memory else 0,
        len({one for entry in entries if isinstance(entry, Applied) for one in entry.ids}),
        {
            role: (one.usd, one.input_tokens + one.output_tokens, one.calls)
            for role, one in spent.by_role.items()
        },
    )


def last_script(entries: Sequence[Entry]) -> str | None:
    """The body of the last reproduction script that was written; None when there is none."""
    found = None
    for entry in entries:
        if isinstance(entry, Tried) and entry.agent == Agent.TEST and _SCRIPT.fullmatch(entry.name):
            found = entry.output
    return found


def _accepted(entries: Sequence[Entry]) -> bool:
    """Whether the judge's last word was yes; a later script that never came to him has not been accepted."""
    accepted = False
    for entry in entries:
        if isinstance(entry, Decided) and entry.stage == "reproduce" and entry.what.startswith("judge:"):
            accepted = entry.what == _YES
    return accepted
