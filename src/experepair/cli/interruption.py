"""Ctrl-C ends a command with its own exit status and one line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import typer


@contextmanager
def interruptible() -> Iterator[None]:
    """Exit with 130 when the user interrupts what is inside."""
    try:
        yield
    except KeyboardInterrupt:
        typer.echo("experepair: interrupted; a run that has a journal goes on with --resume", err=True)
        raise typer.Exit(130) from None
