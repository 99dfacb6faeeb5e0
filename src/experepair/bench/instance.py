"""One issue of a dataset, in two types: what a run may see, and what only an evaluation may."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from experepair.domain.issue import Issue
from experepair.workspace.repository import normalized_remote


@dataclass(frozen=True, slots=True)
class Instance:
    """What a run may see of a row. Whatever takes an `Instance` can't see the answer.

    Attributes:
        id: names it within the dataset; fit to be the name of a folder.
        repo: "owner/name", a URL, or the path of a local repository.
        base_commit: what is to be repaired.
        problem_statement: the issue as it was written.
        created_at: when it was written, UTC; None when unknown.
        version: of the repository, as the dataset counts; "" when unknown.
    """

    id: str
    repo: str
    base_commit: str
    problem_statement: str
    created_at: datetime | None = None
    version: str = ""

    @property
    def scope(self) -> str:
        """What memory of its repository is kept under, wherever the repository lies on this machine."""
        if is_hosted(self.repo):
            return f"github.com/{self.repo.lower()}"
        return normalized_remote(self.repo) or str(Path(self.repo).expanduser().resolve())

    def issue(self) -> Issue:
        """The issue as a repair takes it."""
        return Issue(self.id, self.scope, self.problem_statement.strip() + "\n", created_at=self.created_at)


@dataclass(frozen=True, slots=True, repr=False)
class Answer:
    """The sealed rest of a row: for evaluations only. It never shows itself in a message or a log.

    Attributes:
        instance_id: whose answer it is.
        patch: the maintainers' own fix.
        test_patch: the hidden tests.
        fail_to_pass: names of the tests that the fix must make pass.
        pass_to_pass: names of the tests that must go on passing.
        hints: what was said below the issue.
        row: the whole row, for the official harness.
    """

    instance_id: str
    patch: str
    test_patch: str
    fail_to_pass: tuple[str, ...]
    pass_to_pass: tuple[str, ...]
    hints: str
    row: Mapping[str, Any]

    def __repr__(self) -> str:
        return f"Answer({self.instance_id!r}, sealed)"


@dataclass(frozen=True, slots=True)
class Refusal:
    """A row that can't be taken.

    Attributes:
        id: of the row, or its place in the file.
        reason: in one line.
    """

    id: str
    reason: str


def is_hosted(repo: str) -> bool:
    """Whether the repository is named as owner/name."""
    owner, slash, name = repo.partition("/")
    return bool(slash) and all(
        part and part[0] not in ".-~" and all(mark.isalnum() or mark in "._-" for mark in part)
        for part in (owner, name)
    )
