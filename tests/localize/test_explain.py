"""Evidence in words, and the lines that are shown beside it."""

from __future__ import annotations

import pytest

from experepair.domain.place import Span
from experepair.localize.explain import confidence, explain
from experepair.localize.snippet import snippet

CODE = b"""import os


@decorated
def reserve(item):
    shelf = find(item)
    count = 1
    if not shelf:
        raise LookupError("the warehouse has no such item")
    return shelf
"""


@pytest.mark.parametrize(
    ("kind", "detail", "said"),
    [
        ("path", "a/b.py", "the issue names a/b.py"),
        ("best_title", "Cart.total", "its definition of Cart.total is like the title"),
        ("code", "", "words of the issue"),
        ("history", "12ab Fix {tax}", "changed by a similar past commit: 12ab Fix {tax}"),
        ("unheard-of", "x", "unheard-of: x"),
    ],
)
def test_evidence_is_said_in_words(kind: str, detail: str, said: str) -> None:
    assert explain(kind, detail) == said


def test_the_confidence_is_said_with_its_margin() -> None:
    assert confidence(2.0) == "sure (the first file is 2.00 ahead of the second)"
    assert confidence(0.0).startswith("a guess")


def test_a_snippet_is_the_signature_and_the_lines_that_hold_the_rarer_words_of_the_issue() -> None:
    issue = "LookupError: the warehouse has no such item\nreserve(item) fails"
    shown = snippet(issue, Span("a.py", 4, 10, "reserve"), CODE, most=2)
    assert shown == (
        (5, "def reserve(item):"),
        (9, '        raise LookupError("the warehouse has no such item")'),
    )


@pytest.mark.parametrize("span", [Span("a.py", 40, 50), Span("a.py", 0, 0)])
def test_a_snippet_of_lines_that_are_not_there_is_empty(span: Span) -> None:
    assert snippet("anything", span, CODE) == ()
