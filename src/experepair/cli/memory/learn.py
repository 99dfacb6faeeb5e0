"""`experepair memory learn`: from a repository's history, a finished run, or a human's fix, without a model."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from experepair.session.learning import Taught

_STAGES = {"names": "reading what commits touch", "diffs": "learning from"}


def learn(
    repo: Annotated[Path, typer.Argument(help="Folder of a git repository.", metavar="REPO")],
    commit: Annotated[str, typer.Option(help="Learn from its ancestors and itself.")] = "HEAD",
    since: Annotated[
        datetime | None,
        typer.Option(formats=["%Y-%m-%d"], help="Only commits from this day (UTC) on.", metavar="YYYY-MM-DD"),
    ] = None,
    limit: Annotated[
        int, typer.Option(min=0, help="Most commits, the newest first; 0 means all.", show_default=True)
    ] = 0,
    run: Annotated[
        Path | None, typer.Option(help="Learn from this finished run instead: the folder of its results.")
    ] = None,
    patch: Annotated[
        str | None, typer.Option(help="Learn a human's fix instead: a file with a diff; needs --issue.")
    ] = None,
    issue: Annotated[
        str | None,
        typer.Option(
            "--issue", "-i", help="What the patch fixes: a file, - for standard input, or the text."
        ),
    ] = None,
    issue_author: Annotated[str | None, typer.Option(help="Who wrote the issue.")] = None,
    untrusted: Annotated[
        bool, typer.Option("--untrusted", help="Beside --patch, don't recall it until it is accepted.")
    ] = False,
    memory: Annotated[
        str | None, typer.Option(help="Where memory is: a file, sqlite:///PATH or postgresql://…")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print what was learned as JSON.")] = False,
) -> None:
    """Fill memory without a model: from the past commits of a repository, a finished run, or a human's fix.

    Past commits become demonstrations for the patch agent. What is known already is passed over, so it can be run again at
    any time.
    """
    from experepair.errors import UsageError
    from experepair.session import learning

    if (patch is None) != (issue is None):
        raise UsageError("--patch and --issue belong together: the fix, and what it fixes")
    if patch is not None and run is not None:
        raise UsageError("give --run or --patch, not both")
    if patch is None and (untrusted or issue_author):
        raise UsageError("--untrusted and --issue-author say something of an --issue; give it with --patch")
    if (patch or run) and (since or limit or commit != "HEAD"):
        raise UsageError(
            "--since, --limit and --commit choose past commits; leave them out with --run and --patch"
        )
    if patch is not None and issue is not None:
        taught = learning.learn_patch(
            repo, patch, issue, memory=memory, issue_author=issue_author, untrusted=untrusted
        )
        _tell(taught, "fix", json)
    elif run is not None:
        _tell(learning.learn_run(repo, run, memory=memory), "run", json)
    else:
        with _progress() as observer:
            taught = learning.learn_history(
                repo, memory=memory, commit=commit, since=_utc(since), limit=limit, observer=observer
            )
        _tell(taught, "past commit", json)


def _utc(day: datetime | None) -> datetime | None:
    from datetime import UTC

    return day and day.replace(tzinfo=UTC)


@contextmanager
def _progress() -> Iterator[Callable[[str, int, int], None] | None]:
    """A bar on a terminal, on standard error; nothing elsewhere."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True)) as progress:
        bar = progress.add_task("")
        yield lambda stage, done, total: progress.update(
            bar, description=f"{_STAGES[stage]} commits", completed=done, total=total
        )


def _tell(taught: Taught, source: str, json: bool) -> None:
    from dataclasses import asdict

    from experepair.domain.text import visible

    if json:
        import json as encoder

        typer.echo(encoder.dumps(asdict(taught), indent=2))
        return
    many = "" if taught.new == 1 else "s"
    what = (
        f"learned {taught.new} new {source}{many}"
        if taught.new
        else f"nothing new: no {source} that isn't known"
    )
    typer.echo(visible(f"{what} (memory of {taught.repository} in {taught.store})"))
    for one in taught.demonstrations:
        typer.echo(f"  demonstration {one}")
    if taught.new and taught.quarantined:
        typer.echo(
            "It is quarantined, since its issue is not trusted: `experepair memory accept` lets it be recalled."
        )
