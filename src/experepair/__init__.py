"""Repairs real issues in real repositories with a language model, and learns from every repair.

    import experepair

    result = experepair.repair("path/to/repository", "bug.md", model="anthropic:claude-sonnet-4-5", max_cost=2.0)
    print(result.status, result.patch and result.patch.diff)

What stands in `__all__` is public; it is loaded when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from experepair.domain.place import Ranking
    from experepair.llm.model import Model, ScriptedModel
    from experepair.llm.replay import ReplayModel
    from experepair.memory.memory import Memory, NoMemory
    from experepair.session.repair import repair
    from experepair.steps.result import Result, Status

__version__ = "0.1.0"

__all__ = [
    "Memory",
    "Model",
    "NoMemory",
    "Ranking",
    "ReplayModel",
    "Result",
    "ScriptedModel",
    "Status",
    "__version__",
    "repair",
]

_WHERE = {
    "Memory": "memory.memory",
    "Model": "llm.model",
    "NoMemory": "memory.memory",
    "Ranking": "domain.place",
    "ReplayModel": "llm.replay",
    "Result": "steps.result",
    "ScriptedModel": "llm.model",
    "Status": "steps.result",
    "repair": "session.repair",
}


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module 'experepair' has no attribute {name!r}")
    value = getattr(import_module(f"experepair.{_WHERE[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
