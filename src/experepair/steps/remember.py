"""What memory says in a repair: journalled, and the same again when the run is resumed, so that its prompts stay."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from types import GenericAlias
from typing import Any, TypeVar, cast

from pydantic import TypeAdapter

from experepair.domain.issue import Issue
from experepair.domain.memory import Demonstration, Failure, Insight, PastRepair, Query, Recalled
from experepair.domain.place import Ranking
from experepair.domain.roles import Agent
from experepair.errors import ExpeRepairError
from experepair.journal import entries
from experepair.llm.recording import sent_part
from experepair.localize.executed import NOTHING, Observed
from experepair.prompts.loader import TASKS, remembered
from experepair.prompts.shortened import fitted
from experepair.steps.kit import Kit
from experepair.steps.replies import read_applied

T = TypeVar("T")


async def recall(
    kit: Kit, agent: Agent, issue: Issue, failure: Failure | None = None, paths: Sequence[str] = ()
) -> Recalled:
    """What memory has for a trial, as far as its prompt has room; the same for the same query throughout a run.

    A memory that can't be asked is none, and the journal says why: a repair doesn't end for that.

    Args:
        kit: of the repair.
        agent: whose memory is asked.
        issue: what is repaired.
        failure: the newest failed output, and the feedback to it.
        paths: files that are suspected, best first.
    """
    query = Query(agent, issue.id, issue.text, failure, tuple(paths))
    before = _given_before(kit, query)
    try:
        found = before or (await kit.memory.recall(query) if kit.remembers else Recalled())
    except ExpeRepairError as error:
        kit.decide("memory", f"memory could not be asked: {error}")
        return Recalled()
    fit = fitted(found, kit.config.memory_tokens, kit.config.demonstration_tokens)
    shown = fit.recalled
    parts = {sent_part(part).sha256: ids for part, ids in remembered(shown, TASKS[query.agent])}
    kit.journal.append(
        entries.Recalled(
            agent=query.agent,
            query=query.digest,
            considered=shown.considered,
            taken=(*(one.id for one in shown.insights), *(one.id for one in shown.demonstrations)),
            data={**shown.audit, **({"no_room": fit.left_out} if fit.left_out else {})},
            parts=parts,
            given=None
            if before
            else {
                "insights": _values(Insight, shown.insights),
                "demonstrations": _values(Demonstration, shown.demonstrations),
            },
        )
    )
    return shown


def applied(kit: Kit, agent: Agent, where: str, recalled: Recalled, reply: str) -> None:
    """Journal which of the insights that a prompt showed its reply says it applied."""
    by_number = {insight.number: insight.id for insight in recalled.insights}
    named = tuple(by_number[number] for number in read_applied(reply) if number in by_number)
    if named:
        kit.journal.append(entries.Applied(agent=agent, where=where, ids=named))


async def ranked(kit: Kit, issue: Issue, observed: Observed = NOTHING) -> Ranking:
    """The ranking without a model, with what memory says of past repairs."""
    past = await _past_repairs(kit, issue) if kit.remembers else ()
    return await asyncio.to_thread(kit.rank, issue.text, observed, past)


def suspects(kit: Kit, ranking: Ranking, chosen: Sequence[str] = ()) -> tuple[str, ...]:
    """Files that memory is asked with: those that the patch agent chose, then those of the ranking."""
    paths = dict.fromkeys((*chosen, *(file.path for file in ranking.files)))
    return tuple(paths)[: kit.config.ranked_files]


async def present_insights(kit: Kit) -> Mapping[Agent, tuple[Insight, ...]]:
    """All insights, as the summarizer sees them.

    Raises:
        ExpeRepairError: memory can't be asked.
    """
    for entry in kit.journal.entries:
        if isinstance(entry, entries.Consulted):
            return {Agent(agent): _read(Insight, given) for agent, given in entry.insights.items()}
    found = {agent: await kit.memory.insights(agent) for agent in Agent}
    kit.journal.append(
        entries.Consulted(insights={agent: tuple(_values(Insight, known)) for agent, known in found.items()})
    )
    return found


def given_in(entry: entries.Recalled) -> Recalled:
    """The insights and demonstrations that an entry holds; none when an earlier entry holds them."""
    given = entry.given or {"insights": (), "demonstrations": ()}
    return Recalled(
        _read(Insight, given["insights"]),
        _read(Demonstration, given["demonstrations"]),
        entry.considered,
        entry.data,
    )


async def _past_repairs(kit: Kit, issue: Issue) -> tuple[PastRepair, ...]:
    for entry in kit.journal.entries:
        if isinstance(entry, entries.PastRepairs):
            return _read(PastRepair, entry.repairs)
    try:
        found = await kit.memory.past_repairs(issue)
    except ExpeRepairError as error:
        kit.decide("memory", f"memory could not be asked for past repairs: {error}")
        return ()
    kit.journal.append(entries.PastRepairs(repairs=tuple(_values(PastRepair, found))))
    return found


def _given_before(kit: Kit, query: Query) -> Recalled | None:
    for entry in kit.journal.entries:
        if isinstance(entry, entries.Recalled) and entry.query == query.digest and entry.given is not None:
            return given_in(entry)
    return None


def _adapter(kind: type[T]) -> TypeAdapter[tuple[T, ...]]:
    return cast("TypeAdapter[tuple[T, ...]]", TypeAdapter(cast("Any", GenericAlias(tuple, (kind, ...)))))


def _values(kind: type[T], found: Sequence[T]) -> list[dict[str, Any]]:
    values: list[dict[str, Any]] = _adapter(kind).dump_python(tuple(found), mode="json")
    return values


def _read(kind: type[T], given: Sequence[Mapping[str, Any]]) -> tuple[T, ...]:
    return _adapter(kind).validate_python(tuple(given))
