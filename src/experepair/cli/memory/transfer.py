"""`experepair memory export` and `import`: all that is known, as JSON Lines."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Annotated

import typer

from experepair.cli.memory.common import All, Json, Memory, Repo, say, say_json


def export(
    repo: Repo = None,
    memory: Memory = None,
    everything: All = False,
    out: Annotated[Path | None, typer.Option(help="File to write (default: standard output).")] = None,
) -> None:
    """Write all that is known, states and history included, as JSON Lines; `import --trusted` restores it."""
    import json

    from experepair.session.managing import managed

    with managed(repo, memory, everything=everything) as opened, _written(out) as file:
        for line in opened.store.export(opened.scope or None):
            file.write(json.dumps(line, separators=(",", ":")) + "\n")


def import_(
    file: Annotated[str, typer.Argument(help="File of an export, - for standard input.", metavar="FILE")],
    memory: Memory = None,
    trusted: Annotated[
        bool,
        typer.Option(
            "--trusted",
            help="It is a backup of one's own: take over its states; else all of it is quarantined.",
        ),
    ] = False,
    json: Json = False,
) -> None:
    """Take in an export: all of it or nothing; twice is once."""
    from experepair.session.managing import managed

    with managed(None, memory, everything=True, make=True) as opened, _read(file) as lines:
        found = opened.store.import_(lines, trusted)
    if json:
        say_json(found)
        return
    quarantined = (
        "" if trusted or not found.lessons else "; they are quarantined until `experepair memory accept`"
    )
    say(
        f"imported {found.lessons} new lessons with {found.demonstrations} demonstrations, "
        f"{found.events} other events{quarantined}"
    )
    for reason in found.skipped:
        say(f"  left out: {reason}", "yellow")


@contextmanager
def _written(out: Path | None) -> Iterator[IO[str]]:
    from experepair.errors import OutputError

    if out is None:
        yield sys.stdout
        return
    try:
        with out.open("w", encoding="ascii") as file:
            yield file
    except OSError as error:
        raise OutputError(f"can't write {str(out)!r}: {error.strerror or error}") from error


@contextmanager
def _read(name: str) -> Iterator[IO[str]]:
    from experepair.errors import UsageError

    if name == "-":
        yield sys.stdin
        return
    try:
        with Path(name).open(encoding="utf-8") as file:
            yield file
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"can't read the export {name!r}: {error}") from error
