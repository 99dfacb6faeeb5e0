"""What demonstrations and queries are to the index: weighted, code-aware terms."""

from __future__ import annotations

import re
from collections.abc import Mapping
from math import ceil, log

from experepair.domain.issue import Issue
from experepair.domain.memory import Demonstration, Failure
from experepair.localize.terms import count_terms

MOST_CHARACTERS = 100_000
"""Of each text that are read: an output without end says no more by being long."""

_CHANGED = re.compile(r"^[+-](?!\+\+ |-- )(.*)$", re.MULTILINE)


def changed_lines(success: str) -> str:
    """The lines that a diff removes and adds; a script whole."""
    return "\n".join(_CHANGED.findall(success)) if "\n@@ " in success else success


def issue_terms(demonstration: Demonstration, diff_weight: float) -> dict[str, int]:
    """Terms of the issue, the files and definitions touched, and with less weight of the success."""
    touched = " ".join((*demonstration.paths, *demonstration.functions))
    counts = dict(count_terms(f"{demonstration.issue[:MOST_CHARACTERS]}\n{touched}"))
    return _with_less(counts, changed_lines(demonstration.source), diff_weight)


def failure_terms(failure: Failure, diff_weight: float) -> dict[str, int]:
    """Terms of the feedback, and with less weight of the output that it was given to."""
    return _with_less(dict(count_terms(failure.feedback[-MOST_CHARACTERS:])), failure.output, diff_weight)


def _with_less(counts: dict[str, int], text: str, weight: float) -> dict[str, int]:
    """Counts, and those of another text times a weight, rounded up: an index counts whole occurrences."""
    if weight:
        for term, times in count_terms(text[:MOST_CHARACTERS]).items():
            counts[term] = counts.get(term, 0) + ceil(times * weight)
    return counts


def query_weights(counts: Mapping[str, int], title: str = "", title_weight: float = 0.0) -> dict[str, float]:
    """What each term of a query counts: more when it is there often, and when it is in the title."""
    weights = {term: 1.0 + log(times) for term, times in counts.items()}
    for term in count_terms(title) if title_weight else ():
        weights[term] = weights.get(term, 0.0) + title_weight
    return weights


def issue_query(text: str, title_weight: float) -> dict[str, float]:
    """The terms of an issue under repair."""
    shown = text[:MOST_CHARACTERS]
    return query_weights(count_terms(shown), Issue("", "", shown).title, title_weight)
