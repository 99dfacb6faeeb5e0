"""A repair from outside: what `experepair fix` calls, and what `experepair.repair` is."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

from experepair.errors import UsageError
from experepair.journal.entries import Entry
from experepair.llm.model import Model
from experepair.llm.roles import check_affordable
from experepair.memory.memory import Memory
from experepair.session.issues import is_trusted, read_issue
from experepair.session.opened import Job, opened
from experepair.session.out import choose_out
from experepair.session.profiles import DEFAULT
from experepair.session.settings import Settings, load
from experepair.steps import workflow
from experepair.steps.result import Result, Status
from experepair.workspace.diff import apply_to_worktree
from experepair.workspace.repository import Repository


def repair(
    repo: Path | str,
    issue: str,
    *,
    issue_author: str | None = None,
    commit: str = "HEAD",
    include_dirty: bool = False,
    failing_test: str | None = None,
    out: Path | str | None = None,
    resume: bool = False,
    apply: bool = False,
    replay: Model | None = None,
    memory: Memory | str | None = None,
    untrusted: bool = False,
    profile: str = DEFAULT,
    observer: Callable[[Entry], None] | None = None,
    tell: Callable[[str], None] | None = None,
    **settings: Any,
) -> Result:
    """Repair one issue of a repository.

    Args:
        repo: folder of a git repository; it is only read, unless `apply`.
        issue: path of a file, "-" for standard input, or the text itself.
        issue_author: who wrote the issue; then it is trusted only when the settings list him.
        commit: what to repair.
        include_dirty: repair the work tree as it is, with its uncommitted changes.
        failing_test: id of an existing test that fails because of the issue; it becomes the reproduction.
        out: folder for the results and the journal; None means experepair-out/ISSUE, numbered.
        resume: go on with the run in `out`; what was answered is not paid again.
        apply: apply the patch to the work tree when the issue is repaired.
        replay: a model that answers in the place of all others, such as `ReplayModel` or `ScriptedModel`.
        memory: what is recalled and learned: a memory, its address, or "none"; None means that of the settings, which is
            a file in the user's data folder unless they say otherwise.
        untrusted: what is learned from this issue is not recalled until it is accepted.
        profile: name of a set of settings, "default" or "paper"; `settings` go over it.
        observer: is called with every entry of the journal.
        tell: is called with what the user should know, as text.
        settings: fields of `Settings`, over the environment and the settings files.

    Returns:
        The result, as in result.json; `out` is the folder of the rest, and `not_applied` says why `apply` could not be
        done, if it could not.

    Raises:
        UsageError, ProviderError, SandboxUnavailable, JournalError, OutputError: see `experepair.errors`.
    """
    if apply and include_dirty:
        raise UsageError(
            "a patch to uncommitted changes can't be applied over them; commit them, or leave out --apply"
        )
    repository = Repository.open(Path(repo))
    loaded = load(repository.root, settings, profile)
    resolved = repository.resolve(commit)
    if not include_dirty:
        _refuse_dirty(repository, resolved)
    trusted = not untrusted and is_trusted(issue_author, loaded.trusted_authors)
    given = read_issue(issue, repository.scope, issue_author, trusted=trusted)
    job = Job(
        given,
        repository,
        resolved,
        choose_out(Path(out) if out else None, given.id, resume=resume),
        include_dirty,
        failing_test,
        resume,
        replay,
        memory,
    )
    result = asyncio.run(repair_job(job, loaded, observer, tell or (lambda note: None)))
    if apply and result.status is Status.REPAIRED and result.patch is not None:
        return _apply(repository, result, result.patch.diff)
    return result


def _apply(repository: Repository, result: Result, diff: str) -> Result:
    """Apply the patch; that it could not be applied doesn't lose the result."""
    try:
        apply_to_worktree(repository, diff)
    except UsageError as error:
        return result.model_copy(update={"not_applied": str(error)})
    return result


async def repair_job(
    job: Job,
    settings: Settings,
    observer: Callable[[Entry], None] | None,
    tell: Callable[[str], None],
) -> Result:
    """The repair itself: what one issue and each of many have in common.

    Args:
        job: what to repair, and where the results go.
        settings: of the repair.
        observer: is called with every entry of the journal.
        tell: is called with what the user should know.

    Raises:
        UsageError, ProviderError, SandboxUnavailable, JournalError, OutputError: see `experepair.errors`.
    """
    if job.replay is None:
        for warning in check_affordable(settings.models_config()):
            tell(warning)
    async with opened(job, settings, observer, tell) as kit:
        tell(f"results: {job.out}")
        return await workflow.repair(job.issue, kit, job.failing_test)


def _refuse_dirty(repository: Repository, commit: str) -> None:
    if not repository.is_dirty() or commit != repository.resolve("HEAD"):
        return
    raise UsageError(
        f"{str(repository.root)!r} has uncommitted changes; commit them, or give --include-dirty to repair the "
        "work tree as it is, or --commit to repair a commit"
    )
