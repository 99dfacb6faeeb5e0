"""Existing tests as examples of how this repository is imported and set up."""

from __future__ import annotations

from dataclasses import dataclass

from experepair.steps.kit import Kit
from experepair.testing.related import related_tests

_FILES = 2
_CHARS = 3500


@dataclass(frozen=True, slots=True)
class Excerpt:
    """The beginning of a file."""

    path: str
    text: str


def similar_tests(issue_text: str, kit: Kit) -> tuple[Excerpt, ...]:
    """The beginnings of the test files that are nearest to the issue; hidden tests are never asked for."""
    read, files = kit.checkout.read, kit.checkout.files()
    excerpts = []
    for path in related_tests(issue_text, (), files, read, _FILES):
        text = (read(path) or b"").decode("utf-8", "replace")
        excerpts.append(
            Excerpt(path, text[: text.rfind("\n", 0, _CHARS) + 1] if len(text) > _CHARS else text)
        )
    return tuple(excerpts)
