"""Text from issues, code and models, made fit to be shown."""

from __future__ import annotations

import re

_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]"
)


def visible(text: str) -> str:
    """The text with terminal control, bidi and zero-width characters and lone surrogates as escapes.

    Tab, line feed and the carriage return of a line's end stay.
    """
    return _HIDDEN.sub(lambda mark: ascii(mark[0])[1:-1], text.replace("\r\n", "\n"))


def encodable(text: str) -> str:
    """The text with lone surrogates as escapes, so that it can be written as UTF-8; nothing else changes."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def clip(text: str, most: int) -> str:
    """At most about `most` characters: the first third and the last two thirds, cut at lines where possible.

    The end says more than the beginning: errors and summaries stand there.
    """
    if len(text) <= most:
        return text
    head, tail = text[: most // 3], text[-(most - most // 3) :]
    head = head[: head.rfind("\n") + 1] or head
    tail = tail[tail.find("\n") + 1 :] or tail
    left_out = len(text) - len(head) - len(tail)
    return f"{head.rstrip()}\n[... {left_out} characters left out ...]\n{tail}"
