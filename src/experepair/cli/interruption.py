"""Ctrl-C and SIGTERM end a command with its own exit status and one line."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager

import typer


@contextmanager
def interruptible() -> Iterator[None]:
    """Exit with 130 when the user interrupts what is inside, or something terminates it."""
    signal.signal(signal.SIGTERM, lambda number, frame: signal.raise_signal(signal.SIGINT))
    try:
        yield
    except KeyboardInterrupt:
        typer.echo("experepair: interrupted; a run that has a journal goes on with --resume", err=True)
        raise typer.Exit(130) from None
