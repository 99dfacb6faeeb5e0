"""`experepair memory list`, `show`, `log` and `stats`: what there is, and where it came from."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from experepair.cli.memory.common import (
    All,
    Json,
    Memory,
    Repo,
    counts,
    say,
    say_json,
    say_table,
    title_of,
    when,
)
from experepair.domain.memory import Origin
from experepair.domain.roles import Agent
from experepair.memory.store.records import State

if TYPE_CHECKING:
    from experepair.memory.store import Filter, InsightRecord, LogEntry, Stored
    from experepair.session.managing import Managed, Shown


class What(StrEnum):
    """What is listed."""

    DEMONSTRATIONS = "demonstrations"
    INSIGHTS = "insights"
    LESSONS = "lessons"


Page = Annotated[int, typer.Option(min=1, help="Which page, from 1.")]
Size = Annotated[int, typer.Option(min=1, max=10_000, help="How many on a page.")]


def list_(
    what: Annotated[
        What, typer.Argument(help="demonstrations, insights, or lessons (what each repair or commit taught).")
    ] = What.DEMONSTRATIONS,
    repo: Repo = None,
    memory: Memory = None,
    everything: All = False,
    agent: Annotated[Agent | None, typer.Option(help="Whose demonstrations or insights.")] = None,
    origin: Annotated[Origin | None, typer.Option(help="Of what origin.")] = None,
    state: Annotated[State | None, typer.Option(help="In which state.")] = None,
    issue: Annotated[str | None, typer.Option(help="Learned from this issue.")] = None,
    text: Annotated[str, typer.Option(help="With this text in issue, script or patch.")] = "",
    page: Page = 1,
    size: Size = 50,
    json: Json = False,
) -> None:
    """List demonstrations, insights or lessons; what was learned last comes first (of a history, the oldest commits)."""
    from experepair.memory.store import Filter
    from experepair.session.managing import managed

    with managed(repo, memory, everything=everything) as opened:
        if what is What.INSIGHTS:
            _list_insights(opened, agent, json)
        elif what is What.LESSONS:
            _list_lessons(opened, state, page, size, json)
        else:
            wanted = Filter(opened.scope or None, agent, origin, state, issue, None, text)
            _list_demonstrations(opened, wanted, page, size, json)


def _list_demonstrations(opened: Managed, wanted: Filter, page: int, size: int, json: bool) -> None:
    found = opened.store.listing(wanted, (page - 1) * size, size)
    if json:
        say_json(found)
        return
    say_table(
        ("id", "agent", "origin", "state", "issue", "title", "files"),
        (
            (
                one.demonstration.id,
                one.demonstration.agent,
                one.demonstration.origin,
                one.state,
                one.demonstration.issue_id,
                title_of(one.demonstration.issue),
                ", ".join(one.demonstration.paths[:3]),
            )
            for one in found.entries
        ),
    )
    pages = -(-found.total // size)
    say(f"page {page} of {pages}, {found.total} demonstrations" if found.total else "no demonstrations")


def _list_insights(opened: Managed, agent: Agent | None, json: bool) -> None:
    scopes = [opened.scope] if opened.scope else sorted(opened.store.scopes())
    found = [
        one
        for scope in scopes
        for each in ((agent,) if agent else tuple(Agent))
        for one in opened.store.insights(scope, each)
    ]
    if json:
        say_json(found)
    elif found:
        _say_insights(found)
    else:
        say("no insights")


def _say_insights(found: list[InsightRecord]) -> None:
    say_table(
        ("id", "agent", "no.", "recalled", "named", "those repairs ended", "insight"),
        (
            (
                one.insight.id,
                one.agent,
                str(one.insight.number),
                str(one.usage.recalled),
                str(one.usage.named),
                counts(one.usage.outcomes),
                one.insight.text,
            )
            for one in found
        ),
    )


def _list_lessons(opened: Managed, state: State | None, page: int, size: int, json: bool) -> None:
    found = opened.store.lessons(opened.scope or None, state, (page - 1) * size, size)
    if json:
        say_json(found)
        return
    if not found:
        say("no lessons" if page == 1 else "no more lessons")
        return
    say_table(
        ("key", "at", "state", "outcome", "verdict", "issue", "title"),
        (
            (
                one.key,
                when(one.at),
                one.state,
                one.outcome,
                one.verdict or "",
                one.issue_id,
                one.title[:80],
            )
            for one in found
        ),
    )


def show(
    name: Annotated[
        str,
        typer.Argument(help="Id of a demonstration, insight, run or issue, or a lesson's key.", metavar="ID"),
    ],
    repo: Repo = None,
    memory: Memory = None,
    json: Json = False,
) -> None:
    """Show everything about one entry: its text, where it came from, how it was used, and what happened to it."""
    from experepair.session.managing import managed
    from experepair.session.managing import show as shown_of

    with managed(repo, memory) as opened:
        found = shown_of(opened, name)
    if json:
        say_json(found)
    else:
        _say_shown(found)


def _say_shown(found: Shown) -> None:
    for held in found.lessons:
        verdict = f", verdict: {held.verdict}" if held.verdict else ""
        say(f"lesson {held.key}  {held.state}  {held.outcome}{verdict}  {when(held.at)}", "bold")
        say(f"  issue {held.issue_id}: {held.title}")
    if found.insights:
        _say_insights(list(found.insights))
    for one in found.demonstrations:
        _say_demonstration(one)
        usage = found.usage[one.demonstration.id]
        say(f"recalled in {usage.recalled} repairs; they ended: {counts(usage.outcomes)}\n")
    say("what happened, newest first:", "bold")
    for entry in found.log:
        say(f"  {entry.event}  {when(entry.at)}  {entry.kind}  {entry.key}  by {entry.actor}")


def _say_demonstration(one: Stored) -> None:
    demonstration = one.demonstration
    trusted = "" if demonstration.trusted else ", untrusted"
    say(
        f"demonstration {demonstration.id}  {demonstration.agent} agent, {demonstration.origin}{trusted}, {one.state}",
        "bold",
    )
    facts = {
        "issue": demonstration.issue_id,
        "run": demonstration.run_id,
        "commit": demonstration.commit,
        "files": ", ".join(demonstration.paths),
        "functions": ", ".join(demonstration.functions),
    }
    for name, value in facts.items():
        if value:
            say(f"  {name}: {value}")
    say(f"\n{demonstration.issue.strip()}\n")
    if demonstration.failure:
        say("tried and failed:", "bold")
        say(demonstration.failure.output)
        say("the feedback:", "bold")
        say(demonstration.failure.feedback)
    say("worked:" if demonstration.origin is Origin.VALIDATED else "made:", "bold")
    say(demonstration.success)


def log(
    name: Annotated[
        str | None,
        typer.Argument(help="Only what concerns this demonstration, insight, run or issue.", metavar="[ID]"),
    ] = None,
    repo: Repo = None,
    memory: Memory = None,
    everything: All = False,
    before: Annotated[
        int | None, typer.Option(help="Only events older than this one, for the next page.")
    ] = None,
    size: Size = 50,
    json: Json = False,
) -> None:
    """Show who added, edited or removed what, when, and from which issue and run; newest first."""
    from experepair.session.managing import managed

    with managed(repo, memory, everything=everything) as opened:
        found = opened.store.log(opened.scope or None, name, before, size)
    if json:
        say_json(found)
        return
    say_table(
        ("event", "lesson", "at", "by", "what", "detail"),
        ((str(one.event), one.key, when(one.at), one.actor, one.kind, _detail(one)) for one in found),
    )


def _detail(entry: LogEntry) -> str:
    """What an event says, in one line."""
    detail = entry.detail
    if "operation" in detail:
        said = detail.get("result") or detail.get("refused") or detail["operation"]
        return f"{detail.get('agent', '')}: {said}: {detail.get('text') or ''}".rstrip(": ")[:160]
    if "uses" in detail:
        return f"recalled {len(detail['uses'])}, named {sum(bool(use[1]) for use in detail['uses'])}"
    if "success" in detail or "origin" in detail:
        return f"{detail.get('agent', '')}, {detail.get('origin', '')}: {detail.get('id', '')}"
    if isinstance(issue := detail.get("issue"), dict):
        return f"{entry.outcome} {title_of(str(issue.get('text', '')))}".strip()
    return ", ".join(f"{name} {value}" for name, value in detail.items() if value not in (None, "", [], {}))[
        :160
    ]


def stats(
    repo: Repo = None,
    memory: Memory = None,
    everything: All = False,
    verify: Annotated[
        bool,
        typer.Option("--verify", help="Compare tables, events and indexes; exit status 1 if they differ."),
    ] = False,
    json: Json = False,
) -> None:
    """Show how memory grows, how it is used, and how repairs end with and without recalled memory."""
    from experepair.session.managing import managed
    from experepair.session.managing import verify as differences

    with managed(repo, memory, everything=everything) as opened:
        found = opened.store.stats(opened.scope or None)
        wrong = differences(opened) if verify else ()
        place = opened.store.url
    if json:
        say_json({"store": place, "stats": found, "differences": wrong if verify else None})
    else:
        rows = {
            "store": f"{place}, {found.size / 2**20:.1f} MiB, {found.events} events",
            "lessons": counts(found.lessons),
            "demonstrations": counts(found.demonstrations),
            "insights": counts(found.insights),
            "growth by month": counts(found.growth),
            "recalls": counts(found.recalls),
            "repairs that recalled something": counts(found.with_memory),
            "repairs that recalled nothing": counts(found.without_memory),
        }
        say_table(("", ""), rows.items())
        for line in wrong:
            say(line, "red")
        if verify and not wrong:
            say("verified: tables, events and indexes agree", "green")
    raise typer.Exit(1 if wrong else 0)
