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
