"""The two bugs that the demo repairs, one after the other, and how its maintainers' tests judge a patch."""

from __future__ import annotations

import asyncio
import sys
from dataclasses import dataclass
from pathlib import Path

from experepair.demo.package import Package, resource
from experepair.domain.command import NO_CHANGES, Command, Completed
from experepair.domain.edit import Unparsed
from experepair.errors import UsageError
from experepair.folders import cache_folder
from experepair.sandbox.interpreter import find_interpreter
from experepair.sandbox.open import Kind, open_sandbox
from experepair.workspace.checkout import checkout
from experepair.workspace.diff import changes_of_patch
from experepair.workspace.repository import Repository

_LAID = "tests/test_of_the_fix.py"


@dataclass(frozen=True, slots=True)
class Bug:
    """One bug.

    Attributes:
        name: of its folder, and of the folder of its results.
        tests: selects the maintainers' tests of their fix, as pytest's -k does.
    """

    name: str
    tests: str

    @property
    def issue(self) -> Path:
        """The issue, told from the symptom."""
        return resource(f"{self.name}/issue.md")

    @property
    def journal(self) -> Path:
        """What the model replied, with memory."""
        return resource(f"{self.name}/journal.jsonl")

    @property
    def journal_without_memory(self) -> Path:
        """What it replied without; only of a bug that has something to remember."""
        return resource(f"{self.name}/without_memory.jsonl")


DATES = Bug("dates", "splitlines or indent")
PLACEHOLDERS = Bug("placeholders", "multi_replace")
"""Comes second, so that what the first one taught is there to recall."""


def judge(package: Package, bug: Bug, patch: str) -> tuple[str, str]:
    """What the maintainers' own tests of the fix say without and with a patch, in pytest's last line each."""
    return asyncio.run(_judge(package, bug, patch))


async def _judge(package: Package, bug: Bug, patch: str) -> tuple[str, str]:
    repository = Repository.open(package.repository)
    tree = checkout(repository, repository.resolve("HEAD"), cache_folder() / "checkouts")
    changes = changes_of_patch(tree, patch)
    if isinstance(changes, Unparsed):
        raise UsageError(f"the patch can't be judged: {changes.reason}")
    interpreter = find_interpreter(package.repository, sys.executable)
    root = package.repository
    async with open_sandbox(Kind.AUTO, tree=tree.root, mount_at=root, interpreter=interpreter) as sandbox:
        before, after = [
            await sandbox.run(_oracle(root, bug), {**laid, _LAID: package.oracle.read_bytes()})
            for laid in (NO_CHANGES, changes)
        ]
    return _last_line(before), _last_line(after)


def _oracle(root: Path, bug: Bug) -> Command:
    command = ("{python}", "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", bug.tests, _LAID)
    return Command(command, env=(("PYTHONPATH", str(root)),))


def _last_line(completed: Completed) -> str:
    lines = [line for line in completed.stdout.splitlines() if line.strip()]
    return lines[-1] if lines else completed.stderr.strip()[-200:]
