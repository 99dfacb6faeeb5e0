"""What localization knows of programming languages: one module each, found by a file's suffix.

A new language is a new module with a class like `languages.python.Python`, and a line in `_MODULES`.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from types import MappingProxyType
from typing import cast

from experepair.localize.languages.language import Definition, Kind, Language, Outline, Statement

__all__ = ["Definition", "Kind", "Language", "Outline", "Statement", "language_of", "suffixes"]

_MODULES = MappingProxyType({".py": "python"})


def suffixes() -> tuple[str, ...]:
    """Suffixes of the files that can be indexed."""
    return tuple(_MODULES)


def language_of(path: str) -> Language | None:
    """The language that a file is written in, by its suffix; None when it is none of ours."""
    stem, dot, ending = path.rpartition("/")[2].rpartition(".")  # a PurePath takes ten times as long
    module = _MODULES.get(dot + ending) if stem else None
    return _load(module) if module else None


@cache
def _load(module: str) -> Language:
    """Load the language's grammar on first use: it is a compiled library."""
    return cast("Language", import_module(f"{__name__}.{module}").LANGUAGE)
