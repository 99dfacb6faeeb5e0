"""Outputs and diffs cut to a size that a prompt bears: head and tail stay."""

from __future__ import annotations


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
