"""`experepair memory search`: what a repair would be given."""

from __future__ import annotations

from typing import Annotated

import typer

from experepair.cli.memory.common import Json, Memory, Repo, say, say_json, say_table, title_of
from experepair.domain.roles import Agent


def search(
    query: Annotated[
        str, typer.Argument(help="An issue: a file, - for standard input, or text.", metavar="QUERY")
    ],
    repo: Repo = None,
    memory: Memory = None,
    agent: Annotated[Agent | None, typer.Option(help="Whose memory (default: both agents').")] = None,
    top: Annotated[int, typer.Option(min=1, help="How many demonstrations of each agent.")] = 10,
    json: Json = False,
) -> None:
    """Search memory as a repair would: the insights, and the demonstrations nearest to an issue, with their scores.

    What is quarantined, rejected or forgotten is not found, and what is too unlike the issue neither.
    """
    from experepair.session.issues import read_issue
    from experepair.session.managing import managed
    from experepair.session.managing import search as found_in

    issue = read_issue(query, "")
    with managed(repo, memory) as opened:
        found = found_in(opened, issue.text, (agent,) if agent else tuple(Agent), top)
    if json:
        say_json({name.value: recalled for name, recalled in found.items()})
        return
    for name, recalled in found.items():
        scores = {line["id"]: line for line in recalled.audit.get("taken", ())}
        say(
            f"{name} agent: {recalled.considered} demonstrations, {len(recalled.demonstrations)} found",
            "bold",
        )
        for insight in recalled.insights:
            say(f"  insight {insight.number}: {insight.text}")
        if recalled.demonstrations:
            say_table(
                ("id", "score", "likeness", "origin", "issue", "title", "files"),
                (
                    (
                        one.id,
                        f"{scores[one.id]['score']:.2f}" if one.id in scores else "",
                        f"{scores[one.id]['likeness']:.2f}" if one.id in scores else "",
                        f"{one.origin}{'' if one.trusted else ', untrusted'}",
                        one.issue_id,
                        title_of(one.issue),
                        ", ".join(one.paths[:3]),
                    )
                    for one in recalled.demonstrations
                ),
            )
