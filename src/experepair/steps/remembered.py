"""What memory had to do with a repair, read out of its journal, for result and report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from experepair.domain.issue import Issue
from experepair.domain.memory import Demonstration, Insight
from experepair.domain.roles import Agent
from experepair.journal import entries
from experepair.journal.entries import Entry
from experepair.journal.trajectory import shown_in
from experepair.memory.eligibility import near_duplicates
from experepair.steps.kit import Kit
from experepair.steps.remember import given_in
from experepair.steps.result import LearnedInfo, MemoryInfo, RememberedInfo


def memory_info(issue: Issue, kit: Kit) -> MemoryInfo | None:
    """Which memories were in which prompts, which the agents say they applied, and what was learned; None without one."""
    if not kit.remembers and not kit.learns:
        return None
    journal = kit.journal.entries
    recalls = [entry for entry in journal if isinstance(entry, entries.Recalled)]
    insights: dict[str, tuple[Agent, Insight]] = {}
    demonstrations: dict[str, Demonstration] = {}
    for recall in recalls:
        if recall.given is not None:
            found = given_in(recall)
            insights |= {one.id: (Agent(recall.agent), one) for one in found.insights}
            demonstrations |= {one.id: one for one in found.demonstrations}
    prompts, named, scores = _prompts(journal), _named(journal), _scores(recalls)
    told = [
        RememberedInfo(
            id=each,
            kind="insight",
            agent=agent,
            text=one.text,
            prompts=prompts[each],
            applied=named.get(each, ()),
        )
        for each, (agent, one) in insights.items()
        if each in prompts
    ]
    shown = [one for each, one in demonstrations.items() if each in prompts]
    told += [
        RememberedInfo(
            id=one.id,
            kind="demonstration",
            agent=one.agent,
            text=Issue(one.issue_id, issue.repository, one.issue).title,
            origin=one.origin,
            trusted=one.trusted,
            issue=one.issue_id,
            source=one.run_id or one.commit,
            score=scores.get(one.id),
            prompts=prompts[one.id],
        )
        for one in shown
    ]
    similar = near_duplicates(issue.text, tuple(shown), kit.recalling.near_duplicate)
    return MemoryInfo(
        place=kit.memory_place,
        recalls=len(recalls),
        considered=max((recall.considered for recall in recalls), default=0),
        remembered=tuple(told),
        similar=tuple(dict.fromkeys(str(one) for one in similar)),
        learned=_learned(journal),
    )


def _prompts(journal: Sequence[Entry]) -> Mapping[str, tuple[str, ...]]:
    """The calls in whose prompts each memory was, as "role" or "role x4"."""
    roles = {entry.call: entry.role for entry in journal if isinstance(entry, entries.Intent)}
    counts: dict[str, Counter[str]] = {}
    for call, ids in shown_in(journal).items():
        for each in ids:
            counts.setdefault(each, Counter())[roles[call]] += 1
    return {
        each: tuple(role if times == 1 else f"{role} x{times}" for role, times in count.items())
        for each, count in counts.items()
    }


def _named(journal: Sequence[Entry]) -> Mapping[str, tuple[str, ...]]:
    named: dict[str, dict[str, None]] = {}
    for entry in journal:
        if isinstance(entry, entries.Applied):
            for each in entry.ids:
                named.setdefault(each, {})[entry.where] = None
    return {each: tuple(where) for each, where in named.items()}


def _scores(recalls: Sequence[entries.Recalled]) -> Mapping[str, float]:
    """The best score that each had, as far as the audit tells."""
    best: dict[str, float] = {}
    for recall in recalls:
        taken: Any = recall.data.get("taken", ())
        for line in taken:
            best[line["id"]] = max(best.get(line["id"], 0.0), float(line["score"]))
    return best


def _learned(journal: Sequence[Entry]) -> LearnedInfo | None:
    told = [entry for entry in journal if isinstance(entry, entries.Learned)]
    if not told:
        return None
    last = told[-1]
    return LearnedInfo(
        new=last.new,
        demonstrations=last.demonstrations,
        operations=last.operations,
        dropped=last.dropped,
        quarantined=last.quarantined,
        failed=last.failed,
    )
