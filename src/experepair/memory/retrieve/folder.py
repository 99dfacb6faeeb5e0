"""Where derived indexes are, and how they are removed."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

from experepair.domain.roles import Agent
from experepair.folders import cache_folder


def scope_folder(identity: str, scope: str, root: Path | None = None) -> Path:
    """Everything that is derived from one repository's entries in one store; it may be removed at any time.

    Args:
        identity: of the store.
        scope: the repository.
        root: of all indexes; None means the user's cache.

    Raises:
        UsageError: the user has no home.
    """
    digest = hashlib.sha256(scope.encode("utf-8", "surrogatepass")).hexdigest()[:24]
    return (root or cache_folder() / "memory") / identity / digest


def agent_folder(identity: str, scope: str, agent: Agent, root: Path | None = None) -> Path:
    """The part of one agent."""
    return scope_folder(identity, scope, root) / agent.value


def drop_indexes(identity: str, scope: str, root: Path | None = None) -> None:
    """Remove what is derived from a repository's entries, so that erased texts are gone; it is made again when needed.

    Raises:
        OSError: something there can't be removed.
    """
    folder = scope_folder(identity, scope, root)
    if folder.exists():
        shutil.rmtree(folder)
