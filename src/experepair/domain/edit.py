"""Edits as a model writes them (paper, Figure 6)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Edit:
    """One modification: in `path`, replace `original` by `patched`.

    An empty `original` makes a new file, or fills an empty one.
    """

    path: str
    original: str
    patched: str


@dataclass(frozen=True, slots=True)
class Unparsed:
    """A model's reply, or a part of it, that could not be used. Data, not an error.

    Attributes:
        reason: what is wrong with it, fit to be shown to the model as feedback.
        text: the offending text.
    """

    reason: str
    text: str
