"""Localization by the patch agent: from the ranked list to files, from files to places (paper, 3.2.2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from experepair.domain.edit import Unparsed
from experepair.domain.issue import Issue
from experepair.domain.place import RankedFile, Ranking, Span
from experepair.domain.roles import Agent, Role
from experepair.llm.fit import estimate_tokens
from experepair.localize.executed import EXECUTED, Observed
from experepair.localize.explain import explain
from experepair.localize.languages import language_of
from experepair.localize.skeleton import skeleton
from experepair.localize.spans import render as render_spans
from experepair.localize.spans import spans as grow
from experepair.prompts.loader import render
from experepair.steps.kit import Kit
from experepair.steps.remember import applied, ranked, recall, suspects
from experepair.steps.replies import read_files, read_places

_BODIES = 3
"""Definitions of a long file that are shown in full when places are chosen."""
_REASONS = 4
"""Reasons why a file is listed, in the prompt."""
_WORDS = frozenset({"code", "title", "best", "best_title"})
"""Evidence that is a matter of many words; it says nothing to a model that the outline doesn't."""


@dataclass(frozen=True, slots=True)
class Places:
    """Where the patch agent works.

    Attributes:
        ranking: of files and functions, found without a model.
        files: what the agent chose of it, best first.
        chosen: what it chose in these files.
        spans: what is shown to it: the choices grown to definitions with their neighbours.
        code: these spans as prompts show them.
    """

    ranking: Ranking
    files: tuple[str, ...]
    chosen: tuple[Span, ...]
    spans: tuple[Span, ...]
    code: str


@dataclass(frozen=True, slots=True)
class ShownFile:
    """A file as a prompt shows it."""

    path: str
    outline: str
    reasons: str = ""
    bodies: str = ""


async def localize(issue: Issue, ranking: Ranking, kit: Kit) -> Places:
    """Let the agent choose files of the ranking, then places; what it can't say the ranking says."""
    if kit.config.tree_listing:
        ranking = Ranking(())
        files = await _choose_from_tree(issue, kit)
    else:
        files = await _choose_files(issue, ranking, kit)
    read, budget = kit.checkout.read, kit.config.span_tokens
    if sum(_tokens(path, kit) for path in files) <= kit.config.whole_tokens:
        chosen = tuple(Span(path, 0, 0) for path in files)
    else:
        chosen = await _choose_places(issue, ranking, files, kit)
        if not grow(chosen, read, max_tokens=budget):
            chosen = _best(ranking, files)
    return _shown(ranking, files, chosen, kit)


async def sharpen(issue: Issue, places: Places, seen: Observed, kit: Kit) -> Places:
    """Rank again by what the reproduction executed; show what it puts first beside what the agent chose.

    The agent's choice stays, and comes first in the budget. The file that the new ranking puts first is added when the agent
    left it out, and the best of the executed functions are. No model is asked (docs/decisions/0006-executed-functions.md).
    """
    if not seen.failing or not kit.config.executed_functions:
        return places
    ranking = await ranked(kit, issue, seen)
    added = _executed(ranking, places, kit)
    missed = [file.path for file in ranking.files[:1] if file.path not in places.files]
    kit.decide(
        "localize",
        f"{len(added)} executed functions added, {len(missed)} files",
        functions=[span.label for span in added],
        files=missed,
        confidence=ranking.confidence,
    )
    return _shown(ranking, (*places.files, *missed), (*places.chosen, *added), kit)


def _executed(ranking: Ranking, places: Places, kit: Kit) -> list[Span]:
    """The executed functions that the ranking puts first, as many as their budget holds; those that are shown cost nothing."""
    functions = [one for file in ranking.files for one in file.functions]
    executed = [one for one in functions if any(item.kind == EXECUTED for item in one.evidence)]
    best = sorted(executed, key=lambda one: -one.score)[: kit.config.executed_functions]
    best = [one for one in best if one.score >= kit.config.executed_share * best[0].score]
    added: list[Span] = []
    left = kit.config.executed_tokens
    for span in (one.span for one in best):
        if any(
            shown.path == span.path and shown.start <= span.start and span.end <= shown.end
            for shown in places.spans
        ):
            continue
        cost = estimate_tokens(render_spans([span], kit.checkout.read))
        if cost <= left:
            added.append(span)
            left -= cost
    return added


def _shown(ranking: Ranking, files: tuple[str, ...], chosen: tuple[Span, ...], kit: Kit) -> Places:
    read = kit.checkout.read
    spans = grow(chosen, read, max_tokens=kit.config.span_tokens)
    kit.decide(
        "localize",
        f"{len(spans)} spans in {len({span.path for span in spans})} files",
        spans=[span.label for span in spans],
    )
    return Places(ranking, files, chosen, spans, render_spans(spans, read))


async def _choose_files(issue: Issue, ranking: Ranking, kit: Kit) -> tuple[str, ...]:
    config = kit.config
    sure = ranking.confidence >= config.sure_margin
    ranked = ranking.files[: config.sure_files if sure else config.ranked_files]
    fallback = tuple(file.path for file in ranked[: config.chosen_files])
    recalled = await recall(kit, Agent.PATCH, issue, paths=suspects(kit, ranking))
    shown = [_outlined(file, config.outlined(number), kit) for number, file in enumerate(ranked)]
    prompt = render(
        "localize_files",
        issue=issue,
        recalled=recalled,
        agent_task="patch",
        files=shown,
        most=config.chosen_files,
    )
    reply = await kit.models.reply(Role.LOCALIZE, prompt)
    applied(kit, Agent.PATCH, "files", recalled, reply.text)
    chosen = read_files(reply.text, _texts(reply.text, kit))
    if isinstance(chosen, Unparsed):
        kit.decide(
            "localize", "files of the ranking, the agent's choice could not be used", reason=chosen.reason
        )
        return fallback
    kit.decide(
        "localize",
        f"{len(chosen)} files chosen of {len(ranked)}",
        files=chosen,
        ranked=[file.path for file in ranked],
        confidence=ranking.confidence,
    )
    return chosen[: config.chosen_files]


async def _choose_from_tree(issue: Issue, kit: Kit) -> tuple[str, ...]:
    """Let the agent choose from all source files; there is no ranking to say what it can't, so it is asked again."""
    listed = [
        path for path in kit.checkout.files() if (known := language_of(path)) and not known.is_test(path)
    ]
    recalled = await recall(kit, Agent.PATCH, issue)
    prompt = render(
        "localize_tree",
        issue=issue,
        recalled=recalled,
        agent_task="patch",
        listing=tree_listing(listed),
        most=kit.config.chosen_files,
    )
    for _ in range(kit.config.trials):
        reply = await kit.models.reply(Role.LOCALIZE, prompt)
        applied(kit, Agent.PATCH, "files", recalled, reply.text)
        chosen = read_files(reply.text, _texts(reply.text, kit))
        if not isinstance(chosen, Unparsed):
            kit.decide("localize", f"{len(chosen)} files chosen of {len(listed)}", files=chosen)
            return chosen[: kit.config.chosen_files]
        kit.decide("localize", "the agent's choice of files could not be used", reason=chosen.reason)
    return ()


def tree_listing(paths: Sequence[str]) -> str:
    """Paths as an indented tree, each folder once."""
    lines: list[str] = []
    above: tuple[str, ...] = ()
    for path in sorted(paths):
        *folders, name = path.split("/")
        common = next(
            (depth for depth, pair in enumerate(zip(above, folders, strict=False)) if pair[0] != pair[1]),
            min(len(above), len(folders)),
        )
        lines += [f"{'  ' * depth}{folders[depth]}/" for depth in range(common, len(folders))]
        lines.append(f"{'  ' * len(folders)}{name}")
        above = tuple(folders)
    return "\n".join(lines)


async def _choose_places(issue: Issue, ranking: Ranking, files: Sequence[str], kit: Kit) -> tuple[Span, ...]:
    by_path = {file.path: file for file in ranking.files}
    shown = [_detailed(by_path.get(path, RankedFile(path, 0.0)), kit) for path in files]
    recalled = await recall(kit, Agent.PATCH, issue, paths=suspects(kit, ranking, files))
    prompt = render("localize_spans", issue=issue, recalled=recalled, agent_task="patch", files=shown)
    reply = await kit.models.reply(Role.LOCALIZE, prompt)
    applied(kit, Agent.PATCH, "places", recalled, reply.text)
    places = read_places(reply.text, _texts(reply.text, kit))
    if isinstance(places, Unparsed):
        kit.decide("localize", "places of the ranking, the agent's could not be used", reason=places.reason)
        return ()
    return places


def _texts(reply: str, kit: Kit) -> frozenset[str]:
    """Files of the tree that a reply names and that are text."""
    named = (path for path in kit.checkout.files() if path in reply)
    return frozenset(path for path in named if b"\0" not in (kit.checkout.read(path) or b""))


def _outlined(file: RankedFile, tokens: int, kit: Kit) -> ShownFile:
    speaking = [
        explain(one.kind, one.detail) for one in file.evidence if one.detail and one.kind not in _WORDS
    ]
    return ShownFile(
        file.path, _outline(file, kit, tokens), "; ".join(list(dict.fromkeys(speaking))[:_REASONS])
    )


def _detailed(file: RankedFile, kit: Kit) -> ShownFile:
    tokens, read = kit.config.detail_tokens, kit.checkout.read
    if _tokens(file.path, kit) <= tokens:
        return ShownFile(file.path, "", bodies=render_spans(grow([Span(file.path, 0, 0)], read), read))
    best = grow([function.span for function in file.functions[:_BODIES]], read, max_tokens=tokens // 2)
    return ShownFile(file.path, _outline(file, kit, tokens // 2), bodies=render_spans(best, read))


def _tokens(path: str, kit: Kit) -> int:
    return estimate_tokens((kit.checkout.read(path) or b"").decode("utf-8", "replace"))


def _outline(file: RankedFile, kit: Kit, tokens: int) -> str:
    best = [function.span for function in file.functions]
    return skeleton(file.path, kit.checkout.read(file.path) or b"", max_tokens=tokens, best=best)


def _best(ranking: Ranking, files: Sequence[str]) -> tuple[Span, ...]:
    """The best functions of the chosen files; a file without ranked functions as a whole, last."""
    by_path = {file.path: file for file in ranking.files}
    functions = [one for path in files if path in by_path for one in by_path[path].functions]
    best = [one.span for one in sorted(functions, key=lambda one: -one.score)]
    return (*best, *(Span(path, 0, 0) for path in files))
