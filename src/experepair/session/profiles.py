"""Named sets of settings: ours, and the paper's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from experepair.errors import UsageError

DEFAULT, PAPER = "default", "paper"

_PAPER: Mapping[str, Any] = {
    # A.1, "Test and Patch Generation" and "Patch Validation"
    "repair": {
        "trials": 3,
        "rounds": 3,
        "samples": 4,
        "validation_tests": 3,
        "refinements": 4,
        "most_edits": 3,
        # what the paper doesn't have
        "tree_listing": True,
        "existing_tests": 0,
        "executed_functions": 0,
        "trace_time_s": 0.0,
    },
    # "Memory Activation": BM25, the five nearest, by issue and feedback alone
    "recall": {
        "retriever": "paper",
        "top_k": 5,
        "affinity_weight": 0.0,
        "past_repairs": 0,
        "mined": False,
    },
    # "Memory Storage"
    "learn": {"most_insights": 15, "most_operations": 4},
    # section 4: another model reviews than the one that repairs
    "models": {"review": "deepseek:deepseek-reasoner"},
}

PROFILES: Mapping[str, Mapping[str, Any]] = {DEFAULT: {}, PAPER: _PAPER}
"""Settings by profile: below flags, above the environment and the files."""


def profile_settings(name: str) -> Mapping[str, Any]:
    """The settings of a profile.

    Raises:
        UsageError: there is no such profile.
    """
    if name not in PROFILES:
        raise UsageError(f"there is no profile {name!r}; there are {', '.join(PROFILES)}")
    return PROFILES[name]
