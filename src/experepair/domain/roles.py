"""Who speaks to a model, and who owns memory."""

from __future__ import annotations

from enum import StrEnum


class Role(StrEnum):
    """The task that a call to a model serves; each can have its own model and temperature."""

    REPRODUCE = "reproduce"
    JUDGE = "judge"
    LOCALIZE = "localize"
    PATCH = "patch"
    REFINE = "refine"
    VALIDATE = "validate"
    REVIEW = "review"
    SUMMARIZE = "summarize"


class Agent(StrEnum):
    """The owner of a memory (paper, 3.2): judge, reviewer and summarizer own none."""

    TEST = "test"
    PATCH = "patch"
