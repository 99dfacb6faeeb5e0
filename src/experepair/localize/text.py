"""Content of a file as lines of text, and what they cost in a prompt."""

from __future__ import annotations

from math import ceil

from experepair.workspace.text import decode

_CHARACTERS_PER_TOKEN = 3.2
"""Measured on Python code; providers differ, budgets hold a reserve."""


def text_of(content: bytes) -> str:
    """Content as text, decoded as edits decode it; content with NUL, which can't be edited, near enough."""
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        return content.decode("utf-16", "replace")
    decoded = decode(content)
    return decoded.text if decoded else content.decode("latin-1")


def utf8_of(content: bytes) -> bytes:
    """Content in UTF-8, as parsers read it; the number of its lines stays the same."""
    try:
        content.decode()
    except UnicodeDecodeError:
        return text_of(content).encode("utf-8", "replace")
    return content


def lines_of(content: bytes) -> list[str]:
    """Lines without their ends, counted as parsers count them."""
    lines = [line.removesuffix("\r") for line in text_of(content).split("\n")]
    if not lines[-1]:
        lines.pop()
    return lines


def tokens_of(text: str) -> int:
    """About how many tokens a model takes for a text."""
    return ceil(len(text) / _CHARACTERS_PER_TOKEN)


def without_traceback_heads(issue_text: str) -> str:
    """The issue without the first line of tracebacks: any may quote it, and files that hold it are about tracebacks."""
    return issue_text.replace("Traceback (most recent call last)", " ")
