"""Sources that run under the target's interpreter, never imported here: they must suit Python 3.6 and later."""

from __future__ import annotations

from functools import cache
from importlib.resources import files


@cache
def source(name: str) -> str:
    """Text of one of the sources in this folder, without its ending."""
    return files(__name__).joinpath(f"{name}.py").read_text(encoding="utf-8")
