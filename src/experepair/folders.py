"""Where experepair keeps things on this machine."""

from __future__ import annotations

import os
from pathlib import Path

from experepair.errors import UsageError


def cache_folder() -> Path:
    """What can be made again: checkouts, indexes, staging; it may be deleted at any time.

    Raises:
        UsageError: the user has no home.
    """
    return _below("XDG_CACHE_HOME", ".cache")


def config_folder() -> Path:
    """The user's own settings.

    Raises:
        UsageError: the user has no home.
    """
    return _below("XDG_CONFIG_HOME", ".config")


def data_folder() -> Path:
    """What can't be made again: the memory.

    Raises:
        UsageError: the user has no home.
    """
    return _below("XDG_DATA_HOME", ".local/share")


def _below(variable: str, default: str) -> Path:
    given = os.environ.get(variable, "")
    try:
        base = Path(given) if given.startswith("/") else Path.home() / default
    except RuntimeError as error:
        raise UsageError(f"there is no home folder to work in; set HOME or {variable}") from error
    return base / "experepair"
