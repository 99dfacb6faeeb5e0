"""The lines of a definition that show best why it is suspected."""

from __future__ import annotations

import re
from collections import Counter
from math import log

from experepair.domain.place import Span
from experepair.localize.terms import count_terms
from experepair.localize.text import lines_of

_HEAD = re.compile(r"\s*(?:async\s+)?(?:def|class)\s")


def snippet(issue_text: str, span: Span, content: bytes, *, most: int = 3) -> tuple[tuple[int, str], ...]:
    """The signature of a definition, and those of its lines that hold most of the issue's rarer words.

    Args:
        issue_text: title and body.
        span: of the file.
        content: of the file.
        most: lines, the signature included.

    Returns:
        Numbers and lines, ascending.
    """
    lines = lines_of(content)
    wanted = count_terms(issue_text).keys()
    numbers = range(max(span.start, 1), min(span.end, len(lines)) + 1)
    found = {number: wanted & count_terms(lines[number - 1]).keys() for number in numbers}
    if not numbers:
        return ()
    head = next((number for number in numbers if _HEAD.match(lines[number - 1])), numbers[0])
    having = Counter(term for terms in found.values() for term in terms)
    scores = {
        number: sum(log(1 + len(numbers) / having[term]) for term in sorted(terms))
        for number, terms in found.items()
        if terms and number > head
    }
    best = sorted(scores, key=lambda number: (-scores[number], number))[: most - 1]
    return tuple((number, lines[number - 1]) for number in sorted({head, *best}))
