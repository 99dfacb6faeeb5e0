"""What a repair has cost, counted from its journal."""

from __future__ import annotations

from collections.abc import Iterable

from pydantic import BaseModel

from experepair.journal.entries import Entry, Executed, Intent, Replied


class Spent(BaseModel, frozen=True, extra="forbid"):
    """Calls of one role, or of all."""

    calls: int = 0
    answered: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    usd: float | None = 0.0
    """None as soon as the price of one call is unknown."""
    latency_s: float = 0.0
    """Sum over the calls, in seconds; calls that ran at once count each."""


class Spending(BaseModel, frozen=True, extra="forbid"):
    """Calls, tokens and cost by role, and the executions."""

    total: Spent = Spent()
    by_role: dict[str, Spent] = {}
    executions: int = 0
    execution_s: float = 0.0
    """Sum over the executions, in seconds."""


def spending(journal: Iterable[Entry]) -> Spending:
    """Sum up a journal."""
    roles: dict[str, str] = {}
    by_role: dict[str, Spent] = {}
    total, executions, execution_s = Spent(), 0, 0.0
    for entry in journal:
        match entry:
            case Intent():
                roles[entry.call] = entry.role
                asked = Spent(calls=1)
                by_role[entry.role] = _add(by_role.get(entry.role, Spent()), asked)
                total = _add(total, asked)
            case Replied():
                answer = _answer(entry)
                role = roles.get(entry.call, "")
                by_role[role] = _add(by_role.get(role, Spent()), answer)
                total = _add(total, answer)
            case Executed():
                executions += 1
                execution_s += entry.duration_s
    return Spending(total=total, by_role=by_role, executions=executions, execution_s=round(execution_s, 3))


def _answer(entry: Replied) -> Spent:
    usage = entry.usage
    return Spent(
        answered=1,
        input_tokens=usage.input if usage else 0,
        output_tokens=usage.output if usage else 0,
        cached_tokens=usage.cached if usage else 0,
        usd=entry.cost_usd,
        latency_s=entry.latency_s,
    )


def _add(a: Spent, b: Spent) -> Spent:
    return Spent(
        calls=a.calls + b.calls,
        answered=a.answered + b.answered,
        input_tokens=a.input_tokens + b.input_tokens,
        output_tokens=a.output_tokens + b.output_tokens,
        cached_tokens=a.cached_tokens + b.cached_tokens,
        usd=None if a.usd is None or b.usd is None else a.usd + b.usd,
        latency_s=round(a.latency_s + b.latency_s, 3),
    )
