"""How instances are chosen on the command line."""

from __future__ import annotations

from collections.abc import Sequence


def ids(given: Sequence[str]) -> tuple[str, ...]:
    """Ids from options that hold one or more, separated by commas."""
    return tuple(name for text in given for name in text.replace(",", " ").split())
