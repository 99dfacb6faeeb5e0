"""Where an environment's editable installs point to: projects beside the repository, which it needs to be bound too."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote, urlsplit

_PROJECT_FILES = ("pyproject.toml", "setup.py", "setup.cfg")
_MOST = 50


def editable_projects(site_packages: Path, repo: Path) -> tuple[str, ...]:
    """Folders of projects outside `repo` that are installed editable, sorted.

    Only folders that hold a project's configuration count, so that an environment that came with a hostile repository
    can't have just anything shown to the sandbox.
    """
    found = set()
    for place in _places(site_packages):
        project = _project(place)
        if project is not None and not _overlap(project, repo) and not _overlap(project, site_packages):
            found.add(str(project))
    return tuple(sorted(found)[:_MOST])


def _places(site_packages: Path) -> Iterator[Path]:
    """Paths that records and .pth files name."""
    for record in sorted(site_packages.glob("*.dist-info/direct_url.json")):
        try:
            told = json.loads(record.read_text("utf-8"))
            editable, url = bool(told["dir_info"].get("editable")), urlsplit(told["url"])
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            continue
        if editable and url.scheme == "file":
            yield Path(unquote(url.path))
    for record in sorted((*site_packages.glob("*.pth"), *site_packages.glob("*.egg-link"))):
        try:
            lines = record.read_text("utf-8", "replace").splitlines()
        except OSError:
            continue
        yield from (Path(line.strip()) for line in lines if line.startswith("/") and "\0" not in line)


def _project(place: Path) -> Path | None:
    """The project that an import path belongs to: the folder itself, or one of the two above it."""
    place = Path(os.path.normpath(place))
    for folder in (place, *place.parents[:2]):
        if folder.is_dir() and any((folder / name).is_file() for name in _PROJECT_FILES):
            return folder
    return None


def _overlap(one: Path, other: Path) -> bool:
    one, other = one.resolve(), other.resolve()
    return one.is_relative_to(other) or other.is_relative_to(one)
