"""A demonstration as a document of the derived index, and back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING

from experepair.domain.memory import Demonstration, Origin
from experepair.memory.retrieve.retriever import Entry
from experepair.memory.retrieve.terms import failure_terms, issue_terms

if TYPE_CHECKING:
    import tantivy

MARK = "head"
"""The one document that says up to which event the index goes."""


@cache
def schema() -> tantivy.Schema:
    """What a document holds: two bags of terms, what filters ask for, and the entry as it is given back."""
    import tantivy

    builder = tantivy.SchemaBuilder()
    for bag in ("issue", "failure"):
        builder.add_text_field(bag, tokenizer_name="whitespace", index_option="freq")
    for name in ("id", "path", "origin", "mark"):
        builder.add_text_field(name, tokenizer_name="raw", index_option="basic")
    builder.add_text_field("entry", stored=True, tokenizer_name="raw", index_option="basic")
    builder.add_unsigned_field("event", stored=True)
    return builder.build()


def document(demonstration: Demonstration, diff_weight: float) -> tantivy.Document:
    """What the index keeps of a demonstration."""
    import tantivy

    made = tantivy.Document()
    made.add_text("id", demonstration.id)
    made.add_text("origin", demonstration.origin)
    made.add_text("issue", _bag(issue_terms(demonstration, diff_weight)))
    if demonstration.failure is not None:
        made.add_text("failure", _bag(failure_terms(demonstration.failure, diff_weight)))
    for path in demonstration.paths:
        made.add_text("path", path)
    at = demonstration.created_at
    fields = (
        demonstration.id,
        demonstration.issue_id,
        demonstration.origin,
        demonstration.trusted,
        demonstration.commit,
        at.isoformat() if at else None,
        demonstration.paths,
        demonstration.failure is not None,
    )
    made.add_text("entry", json.dumps(fields))
    return made


def entry_in(found: tantivy.Document) -> Entry:
    """What `document` was made from, as far as retrieval needs it."""
    name, issue_id, origin, trusted, commit, at, paths, answers = json.loads(found.get_first("entry") or "")
    created_at = datetime.fromisoformat(at) if at else None
    return Entry(name, issue_id, Origin(origin), trusted, commit, created_at, tuple(paths), answers)


def marker(event: int) -> tantivy.Document:
    """The document that says how far the index goes."""
    import tantivy

    made = tantivy.Document()
    made.add_text("mark", MARK)
    made.add_unsigned("event", event)
    return made


def _bag(counts: Mapping[str, int]) -> str:
    """Terms, each as often as it counts; it is their number that matters, not their order."""
    return " ".join(" ".join([term] * times) for term, times in counts.items())
