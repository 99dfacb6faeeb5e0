"""A human's fix as a demonstration for the patch agent: a kind of its own, not shown as proved by execution."""

from __future__ import annotations

from datetime import datetime
from hashlib import sha256

from experepair.domain.issue import Issue
from experepair.domain.memory import Demonstration, Origin
from experepair.domain.roles import Agent
from experepair.errors import UsageError
from experepair.memory.learn.diffs import blobs_of, functions, joined, split
from experepair.memory.learn.identity import identity
from experepair.memory.learn.masking import masked
from experepair.memory.lesson import Lesson, Source
from experepair.workspace.repository import Repository


def lesson_of_patch(
    repository: Repository,
    patch: str,
    issue: Issue,
    *,
    at: datetime,
    commit: str = "",
    test_chars: int = 6000,
) -> Lesson:
    """What a human's fix of an issue teaches; the texts are masked. The same fix of the same issue has the same key.

    Args:
        repository: that it belongs to; the patch need not apply any more.
        patch: as git or `diff -u` write it; a mail around it is left out.
        issue: what it fixes.
        at: when it is learned.
        commit: that it was made for, if known.
        test_chars: of the changed tests that are kept; 0 means none.

    Raises:
        UsageError: it changes no file, or only tests.
    """
    files = split(patch.replace("\r\n", "\n"))
    if not files:
        raise UsageError("the patch is no diff: make one with `git diff` or `git format-patch --stdout`")
    source = [file for file in files if not file.is_test and file.changed]
    if not source:
        names = ", ".join(file.path for file in files[:5])
        raise UsageError(
            f"the patch changes no line of source, only {names}; give the fix together with its tests"
        )
    named = "\0".join((issue.id, issue.text, patch)).encode("utf-8", "backslashreplace")
    key = f"patch:{sha256(named).hexdigest()[:16]}"
    demonstration = Demonstration(
        identity(issue.repository, key, Agent.PATCH, 0),
        Agent.PATCH,
        issue.id,
        issue.text,
        joined(source, (file for file in files if file.is_test), test_chars),
        origin=Origin.HUMAN,
        trusted=issue.trusted,
        commit=commit,
        created_at=issue.created_at,
        paths=tuple(file.path for file in source),
        functions=functions(source, blobs_of(repository.git)),
    )
    lesson = Lesson(key, Source.HUMAN, issue, at, commit, demonstrations=(demonstration,), patch=patch)
    return masked(lesson, None if repository.bare else repository.root)
