"""Localization by the patch agent: from the ranked list to files, from files to places (paper, 3.2.2)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from experepair.domain.edit import Unparsed
from experepair.domain.issue import Issue
from experepair.domain.place import RankedFile, Ranking, Span
from experepair.domain.roles import Agent, Role
from experepair.localize.outline import outline
from experepair.localize.spans import named_spans, ranked_spans, render_spans
from experepair.prompts.loader import render
from experepair.steps.kit import Kit
from experepair.steps.replies import PlaceName, read_files, read_places


@dataclass(frozen=True, slots=True)
class Places:
    """Where the patch agent works.

    Attributes:
        ranking: of files and functions, found without a model.
        files: what the agent chose of it, best first.
        spans: what is shown to it.
        code: these spans as prompts show them.
    """

    ranking: Ranking
    files: tuple[str, ...]
    spans: tuple[Span, ...]
    code: str


@dataclass(frozen=True, slots=True)
class ShownFile:
    """A file as a prompt shows it."""

    path: str
    outline: str
    evidence: str = ""


async def localize(issue: Issue, kit: Kit) -> Places:
    """Rank, let the agent choose files, then places; what it can't say the ranking says."""
    ranking = await asyncio.to_thread(kit.rank, issue.text)
    files = await _choose_files(issue, ranking, kit)
    named = await _choose_places(issue, ranking, files, kit)
    budget = kit.config.span_tokens
    spans = named_spans([(place.path, place.name, place.lines) for place in named], kit.checkout.read, budget)
    if not spans:
        spans = ranked_spans(_only(ranking, files), kit.checkout.read, budget)
    kit.decide(
        "localize",
        f"{len(spans)} spans in {len({span.path for span in spans})} files",
        spans=[span.label for span in spans],
    )
    return Places(ranking, files, spans, render_spans(spans, kit.checkout.read))


async def _choose_files(issue: Issue, ranking: Ranking, kit: Kit) -> tuple[str, ...]:
    config = kit.config
    sure = ranking.confidence >= config.sure_margin
    ranked = ranking.files[: config.sure_files if sure else config.ranked_files]
    fallback = tuple(file.path for file in ranked[: config.chosen_files])
    recalled = await kit.recall(Agent.PATCH, issue)
    shown = [
        ShownFile(file.path, _outline(file, kit, config.outline_tokens), _reasons(file)) for file in ranked
    ]
    prompt = render(
        "localize_files",
        issue=issue,
        recalled=recalled,
        agent_task="patch",
        files=shown,
        most=config.chosen_files,
    )
    reply = await kit.models.reply(Role.LOCALIZE, prompt)
    chosen = read_files(reply.text, frozenset(kit.checkout.files()))
    if isinstance(chosen, Unparsed):
        kit.decide("localize", "files of the ranking, the agent's choice could not be used", reason=chosen.reason)
        return fallback
    kit.decide(
        "localize",
        f"{len(chosen)} files chosen of {len(ranked)}",
        files=chosen,
        ranked=[file.path for file in ranked],
        confidence=ranking.confidence,
    )
    return chosen[: config.chosen_files]


async def _choose_places(
    issue: Issue, ranking: Ranking, files: Sequence[str], kit: Kit
) -> tuple[PlaceName, ...]:
    by_path = {file.path: file for file in ranking.files}
    shown = [
        ShownFile(path, _outline(by_path.get(path, RankedFile(path, 0.0)), kit, kit.config.detail_tokens, True))
        for path in files
    ]
    recalled = await kit.recall(Agent.PATCH, issue)
    prompt = render("localize_spans", issue=issue, recalled=recalled, agent_task="patch", files=shown)
    reply = await kit.models.reply(Role.LOCALIZE, prompt)
    places = read_places(reply.text, frozenset(kit.checkout.files()))
    if isinstance(places, Unparsed):
        kit.decide("localize", "places of the ranking, the agent's could not be used", reason=places.reason)
        return ()
    return places


def _outline(file: RankedFile, kit: Kit, tokens: int, bodies: bool = False) -> str:
    content = kit.checkout.read(file.path) or b""
    return outline(file.path, content, tokens, best=[function.span for function in file.functions], bodies=bodies)


def _reasons(file: RankedFile) -> str:
    return "; ".join(f"{evidence.kind}: {evidence.detail}" for evidence in file.evidence[:4])


def _only(ranking: Ranking, files: Sequence[str]) -> list[RankedFile]:
    by_path = {file.path: file for file in ranking.files}
    return [by_path.get(path, RankedFile(path, 0.0)) for path in files]
