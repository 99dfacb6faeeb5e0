"""Secrets and absolute paths taken out of everything before memory keeps it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from experepair.domain.memory import Demonstration, Operation
from experepair.domain.text import encodable
from experepair.memory.learn.credentials import MASKED, RULES, Rule
from experepair.memory.lesson import Lesson

_KEY_BLOCK = re.compile(
    r"(?P<begin>-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----)(?P<body>.*?)"
    r"(?P<end>-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|\Z)",
    re.DOTALL,
)
_KEY_LINE = re.compile(r"(^[+-])?[A-Za-z0-9+/=]{16,}", re.MULTILINE)

_BEGINS = r"(?<![\w.~>-])"
_PATHS: tuple[tuple[tuple[str, ...], re.Pattern[str], str], ...] = (
    (
        ("/home/", "/Users/"),
        re.compile(_BEGINS + r"/(?:home|Users)/(?!<)[\w.@+-]+(?=[/:;,\s'\"`)\]}>]|$)"),
        "~",
    ),
    (
        (":\\Users\\", ":\\\\Users\\\\", ":/Users/"),
        re.compile(r"\b[A-Za-z]:(?P<s>\\\\|\\|/)Users(?P=s)(?!<)[\w.@+ -]+?(?=\\|/|['\"`\n]|$)"),
        "~",
    ),
    (("/root/",), re.compile(_BEGINS + r"/root(?=/\.?\w)"), "~"),
    (
        ("/var/folders/",),
        re.compile(_BEGINS + r"(?:/private)?/var/folders/[\w+]{2}/[\w+]+/[TC0](?=[/\s'\"`),:]|$)"),
        "<tmp>",
    ),
    (
        ("/tmp/",),  # noqa: S108 (what is looked for, not used)
        re.compile(_BEGINS + r"(?:/private|/var)?/tmp/(?:pytest-of-[^/\s'\"]+/pytest-\d+|tmp[\w-]{6,}|[\w.-]*[.-](?=\w*\d)\w{6,})(?=[/\s'\"`),:]|$)"),
        "<tmp>",
    ),
)  # fmt: skip


def mask(text: str, folders: Mapping[str, str] | None = None) -> str:
    """The text without secrets and without the folders of those who wrote it; its lines stay what they are.

    Masking twice is masking once. A password that looks like a word and is not in an address can't be told from one.

    Args:
        text: anything; NUL characters and lone surrogates, which no database takes, become escapes.
        folders: names for more folders, by their absolute paths.
    """
    text = encodable(text.replace("\0", "\\x00"))
    for folder, name in (folders or {}).items():
        if folder in text:
            text = re.sub(_BEGINS + re.escape(folder) + r"(?![\w-])", name.replace("\\", r"\\"), text)
    if "PRIVATE KEY" in text:
        text = _KEY_BLOCK.sub(_masked_block, text)
    lowered = ""
    for rule in RULES:
        lowered = lowered or (text.lower() if rule.any_case else "")
        if _holds(lowered if rule.any_case else text, rule.marks):
            text = _without(rule, text)
    for marks, pattern, name in _PATHS:
        if _holds(text, marks):
            text = pattern.sub(name, text)
    return text


def masked(lesson: Lesson, root: Path | None = None) -> Lesson:
    """The lesson with every text that is kept masked.

    Args:
        lesson: as it was drawn from its source.
        root: top of the repository's work tree, if there is one.
    """
    folders = {str(root): "<repo>"} if root and len(root.parts) > 1 else {}

    def safe(text: str) -> str:
        return mask(text, folders)

    def demonstration(one: Demonstration) -> Demonstration:
        failure = one.failure and replace(
            one.failure, output=safe(one.failure.output), feedback=safe(one.failure.feedback)
        )
        issue = safe_issue if one.issue == lesson.issue.text else safe(one.issue)
        return replace(
            one,
            issue=issue,
            success=safe(one.success),
            failure=failure,
            paths=tuple(map(encodable, one.paths)),
            functions=tuple(map(encodable, one.functions)),
        )

    def operation(one: Operation) -> Operation:
        return replace(one, text=safe(one.text))

    safe_issue = safe(lesson.issue.text)
    return replace(
        lesson,
        issue=replace(lesson.issue, text=safe_issue),
        demonstrations=tuple(map(demonstration, lesson.demonstrations)),
        operations={agent: tuple(map(operation, each)) for agent, each in lesson.operations.items()},
        patch=safe(lesson.patch),
    )


def _holds(text: str, marks: Iterable[str]) -> bool:
    for mark in marks:  # noqa: SIM110  (half the time of `any`, and this is most of what masking costs)
        if mark in text:
            return True
    return False


def _masked_block(block: re.Match[str]) -> str:
    """Marks and line ends of a private key stay, diff signs and quotes too."""
    return block["begin"] + _KEY_LINE.sub(rf"\g<1>{MASKED}", block["body"]) + block["end"]


def _without(rule: Rule, text: str) -> str:
    name = "secret" if "secret" in rule.pattern.groupindex else 0

    def cover(found: re.Match[str]) -> str:
        if not rule.is_secret(found[name]):
            return found[0]
        start, end = found.start(name) - found.start(), found.end(name) - found.start()
        return found[0][:start] + MASKED + found[0][end:]

    return rule.pattern.sub(cover, text)
