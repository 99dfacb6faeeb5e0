"""Put the entries of a journal together: calls, executions, stages, candidates, what memory gave."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from experepair.domain.memory import Demonstration, Insight
from experepair.domain.roles import Agent
from experepair.errors import JournalError
from experepair.journal import entries
from experepair.journal.entries import Entry
from experepair.journal.trajectory import shown_in
from experepair.steps.result import Result
from experepair.steps.spending import spending
from experepair.web.run.model import Call, Candidate, Execution, Matrix, Remembered, Repair, Stage

T = TypeVar("T")
SET_UP = "set-up"
"""What happens before the first stage."""
_INSIGHTS: TypeAdapter[tuple[Insight, ...]] = TypeAdapter(tuple[Insight, ...])
_DEMONSTRATIONS: TypeAdapter[tuple[Demonstration, ...]] = TypeAdapter(tuple[Demonstration, ...])


def assembled(journal: tuple[Entry, ...], result: Result | None, *, live: bool) -> Repair:
    """Everything about a run.

    Raises:
        JournalError: the journal has no beginning.
    """
    if not any(isinstance(entry, entries.RunStarted) for entry in journal):
        raise JournalError("the journal has no beginning: its first entry should be a run_started")
    calls = _calls(journal)
    executions = {entry.seq: _execution(entry) for entry in journal if isinstance(entry, entries.Executed)}
    decision = _last_decision(journal, "review")
    return Repair(
        journal,
        result,
        live,
        calls,
        executions,
        tuple(_stages(journal, calls, executions)),
        _memories(journal, calls),
        _candidates(journal, result),
        spending(journal),
        _matrix(journal, result),
        result.patch.name if result and result.patch else _chosen(decision),
        result.patch.reasons if result and result.patch else _text(decision, "reasons"),
    )


def at(entry: entries.Record) -> datetime:
    """When an entry was appended."""
    return datetime.fromisoformat(entry.at)


def _calls(journal: Sequence[Entry]) -> dict[str, Call]:
    shown = shown_in(journal)
    replies = {entry.call: entry for entry in journal if isinstance(entry, entries.Replied)}
    failures = {entry.call: entry for entry in journal if isinstance(entry, entries.CallFailed)}
    attempts: dict[str, list[entries.Attempt]] = {}
    for entry in journal:
        if isinstance(entry, entries.Attempt):
            attempts.setdefault(entry.call, []).append(entry)
    calls = {}
    for entry in journal:
        if isinstance(entry, entries.Intent):
            name = entry.call
            reply, failed = replies.get(name), failures.get(name)
            end = reply or failed
            calls[name] = Call(
                entry,
                reply,
                None if reply else failed,
                tuple(attempts.get(name, ())),
                at(entry),
                at(end) if end else None,
                shown.get(name, ()),
            )
    return calls


def _execution(entry: entries.Executed) -> Execution:
    ended = at(entry)
    return Execution(entry, ended - timedelta(seconds=entry.duration_s), ended)


def _stages(
    journal: Sequence[Entry], calls: Mapping[str, Call], executions: Mapping[int, Execution]
) -> Iterable[Stage]:
    name, events, ended = SET_UP, list[Entry](), None
    for entry in journal:
        if isinstance(entry, entries.StageStarted | entries.RunStarted):
            if any(not isinstance(one, entries.RunStarted) for one in events):
                yield _stage(name, events, ended, calls, executions)
                events = []
            name = entry.stage if isinstance(entry, entries.StageStarted) else SET_UP
            ended = None
        events.append(entry)
        if isinstance(entry, entries.StageEnded):
            ended = at(entry)
    if events:
        yield _stage(name, events, ended, calls, executions)


def _stage(
    name: str,
    events: Sequence[Entry],
    ended: datetime | None,
    calls: Mapping[str, Call],
    executions: Mapping[int, Execution],
) -> Stage:
    asked = [calls[one.call] for one in events if isinstance(one, entries.Intent)]
    ran = [executions[one.seq] for one in events if isinstance(one, entries.Executed)]
    began, last = at(events[0]), at(events[-1])
    return Stage(
        name,
        began,
        ended,
        tuple(events),
        spending(events),
        _union([(call.began, call.ended or last) for call in asked]),
        _union([(max(one.began, began), one.ended) for one in ran]),
        sum(call.paused_s for call in asked),
        last,
    )


def _union(spans: list[tuple[datetime, datetime]]) -> float:
    """Seconds in which at least one of the spans runs."""
    total, until = 0.0, None
    for began, ended in sorted(spans):
        start = began if until is None else max(began, until)
        total += max(0.0, (ended - start).total_seconds())
        until = ended if until is None else max(until, ended)
    return total


def _memories(journal: Sequence[Entry], calls: Mapping[str, Call]) -> dict[str, Remembered]:
    """What memory gave; by ids in the order in which prompts show them, what no prompt showed last."""
    agents: dict[str, str] = {}
    insights: dict[str, Insight] = {}
    demonstrations: dict[str, Demonstration] = {}
    scores: dict[str, float] = {}
    applied: dict[str, list[str]] = {}
    for entry in journal:
        if isinstance(entry, entries.Recalled):
            given = entry.given or {}
            for insight in _read(_INSIGHTS, given.get("insights", ())):
                insights[insight.id], agents[insight.id] = insight, entry.agent
            for one in _read(_DEMONSTRATIONS, given.get("demonstrations", ())):
                demonstrations[one.id], agents[one.id] = one, entry.agent
            for line in entry.data.get("taken", ()):
                scores[line["id"]] = max(scores.get(line["id"], 0.0), float(line["score"]))
        elif isinstance(entry, entries.Applied):
            for each in entry.ids:
                applied.setdefault(each, []).append(entry.where)
    users: dict[str, list[str]] = {}
    for name, call in calls.items():
        for each in call.memories:
            users.setdefault(each, []).append(name)
    order = [*users, *(each for each in agents if each not in users)]
    return {
        each: Remembered(
            each,
            agents.get(each, ""),
            demonstrations.get(each),
            insights.get(each),
            scores.get(each),
            tuple(users.get(each, ())),
            tuple(dict.fromkeys(applied.get(each, ()))),
        )
        for each in order
    }


def _read(adapter: TypeAdapter[tuple[T, ...]], given: object) -> tuple[T, ...]:
    try:
        return adapter.validate_python(tuple(given) if isinstance(given, list | tuple) else ())
    except ValidationError:  # another version's
        return ()


def _candidates(journal: Sequence[Entry], result: Result | None) -> tuple[Candidate, ...]:
    if result and result.candidates:
        outputs = {
            one.name: one for one in journal if isinstance(one, entries.Tried) and one.agent == Agent.PATCH
        }
        return tuple(
            Candidate(
                one.name,
                one.passed,
                one.diff or "",
                outputs[one.name].output if one.name in outputs else "",
                one.feedback,
                one.parent or "",
            )
            for one in result.candidates
        )
    tried = {one.name: one for one in journal if isinstance(one, entries.Tried) and one.agent == Agent.PATCH}
    return tuple(
        Candidate(
            one.name,
            one.succeeded,
            one.output if "\n@@ " in one.output else "",
            one.output,
            one.feedback,
        )
        for one in tried.values()
    )


def _matrix(journal: Sequence[Entry], result: Result | None) -> Matrix | None:
    if result and result.table:
        return Matrix(result.table.header, result.table.rows, result.table.set_aside)
    for entry in reversed(journal):
        if isinstance(entry, entries.Decided) and entry.stage == "validate" and "table" in entry.data:
            header, *rows = ([str(cell) for cell in line] for line in entry.data["table"])
            return Matrix(tuple(header), tuple(tuple(row) for row in rows))
    return None


def _last_decision(journal: Sequence[Entry], stage: str) -> entries.Decided | None:
    decided = (one for one in reversed(journal) if isinstance(one, entries.Decided) and one.stage == stage)
    return next(decided, None)


def _chosen(decision: entries.Decided | None) -> str:
    return decision.what.split(" ", 1)[0].rstrip(",") if decision else ""


def _text(decision: entries.Decided | None, name: str) -> str:
    found: Any = decision.data.get(name, "") if decision else ""
    return str(found)
