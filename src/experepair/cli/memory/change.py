"""`experepair memory accept`, `forget`, `revert` and `verdict`: what people say of what was learned."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from experepair.cli.memory.common import Json, Memory, Names, Repo, say_changed
from experepair.memory.store.records import Verdict


def accept(names: Names, repo: Repo = None, memory: Memory = None, json: Json = False) -> None:
    """Let what is quarantined or forgotten be recalled; its operations on insights are applied now."""
    from experepair.session.managing import managed

    with managed(repo, memory) as opened:
        say_changed(opened.store.accept(opened.scope, names), "accepted", json)


def forget(
    names: Names,
    repo: Repo = None,
    memory: Memory = None,
    erase: Annotated[
        bool,
        typer.Option(
            "--erase", help="Remove the content for good: from events, indexes and the pages of the database."
        ),
    ] = False,
    json: Json = False,
) -> None:
    """Recall something no more; it stays, and `accept` brings it back, unless it is erased."""
    from experepair.session.managing import forget as forgotten
    from experepair.session.managing import managed

    with managed(repo, memory) as opened:
        say_changed(forgotten(opened, names, erase=erase), "erased" if erase else "forgotten", json)


def revert(
    name: Annotated[
        str, typer.Argument(help="A run's id or folder, an issue, or a lesson's key.", metavar="RUN|ISSUE")
    ],
    repo: Repo = None,
    memory: Memory = None,
    json: Json = False,
) -> None:
    """Undo exactly what a run or an issue taught: demonstrations, and what it did to insights."""
    from experepair.session.managing import managed, run_name

    with managed(repo, memory) as opened:
        say_changed(opened.store.revert(opened.scope, run_name(name)), "reverted", json)


def verdict(
    run: Annotated[str, typer.Argument(help="Id of a run, or the folder of its results.", metavar="RUN")],
    said: Annotated[Verdict, typer.Argument(help="accepted, rejected, or edited.", metavar="VERDICT")],
    patch: Annotated[
        Path | None, typer.Argument(help="The patch that took its place, for edited.", metavar="[PATCH]")
    ] = None,
    repo: Repo = None,
    memory: Memory = None,
    json: Json = False,
) -> None:
    """Say what became of a repair's patch: a rejected one stops being a success, an edited one is replaced by yours."""
    from experepair.session.managing import judge, managed

    with managed(repo, memory) as opened:
        say_changed(judge(opened, run, said, patch), said, json)
