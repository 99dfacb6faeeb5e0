"""A repair from outside: what `experepair fix` calls, and what `experepair.repair` is."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

import experepair
from experepair.domain.command import Command
from experepair.domain.issue import Issue
from experepair.errors import UsageError
from experepair.journal.entries import Entry, RunStarted
from experepair.journal.journal import Journal
from experepair.llm.ledger import Ledger
from experepair.llm.model import Model
from experepair.llm.roles import Models, check_affordable
from experepair.localize.history import History
from experepair.localize.rank import rank
from experepair.localize.source import GitSource
from experepair.memory.memory import Memory, NoMemory
from experepair.sandbox.interpreter import find_interpreter
from experepair.sandbox.journalled import JournalledSandbox
from experepair.sandbox.normalise import normalise
from experepair.sandbox.open import open_sandbox
from experepair.session.issues import read_issue
from experepair.session.out import choose_out, open_journal
from experepair.session.settings import Settings, cache_folder, load
from experepair.steps import workflow
from experepair.steps.kit import Kit
from experepair.steps.result import Result, Status
from experepair.testing.framework import recognise
from experepair.workspace.checkout import Checkout, checkout
from experepair.workspace.diff import apply_to_worktree
from experepair.workspace.repository import Repository

_OLDEST_CURRENT = (3, 11)
"""From this version on prompts don't say which it is: the difference rarely matters, and journals stay portable."""


@dataclass(frozen=True)
class Job:
    """One repair, as it was asked for.

    Attributes:
        repo: folder of the repository.
        issue: a file, "-", or the text.
        issue_author: who wrote it, if known.
        commit: what to repair.
        include_dirty: repair the work tree with its uncommitted changes.
        failing_test: id of an existing test that is the reproduction.
        out: folder for the results; None means a numbered one below the working directory.
        resume: go on with the run that is there.
        replay: answers in the place of every model.
        memory: what is recalled and learned.
    """

    repo: Path
    issue: str
    issue_author: str | None = None
    commit: str = "HEAD"
    include_dirty: bool = False
    failing_test: str | None = None
    out: Path | None = None
    resume: bool = False
    replay: Model | None = None
    memory: Memory | None = None


def repair(
    repo: Path | str,
    issue: str,
    *,
    issue_author: str | None = None,
    commit: str = "HEAD",
    include_dirty: bool = False,
    failing_test: str | None = None,
    out: Path | None = None,
    resume: bool = False,
    apply: bool = False,
    replay: Model | None = None,
    memory: Memory | None = None,
    observer: Callable[[Entry], None] | None = None,
    tell: Callable[[str], None] | None = None,
    **settings: Any,
) -> Result:
    """Repair one issue of a repository.

    Args:
        repo: folder of a git repository; it is only read, unless `apply`.
        issue: path of a file, "-" for standard input, or the text itself.
        issue_author: who wrote the issue.
        commit: what to repair.
        include_dirty: repair the work tree as it is, with its uncommitted changes.
        failing_test: id of an existing test that fails because of the issue; it becomes the reproduction.
        out: folder for the results and the journal; None means experepair-out/ISSUE, numbered.
        resume: go on with the run in `out`; what was answered is not paid again.
        apply: apply the patch to the work tree when the issue is repaired.
        replay: a model that answers in the place of all others, such as `ReplayModel` or `ScriptedModel`.
        memory: what is recalled and learned; None means no memory.
        observer: is called with every entry of the journal.
        tell: is called with what the user should know, as text.
        settings: fields of `Settings`, over the environment and the settings files.

    Returns:
        The result, as in result.json; `out` is the folder of the rest.

    Raises:
        UsageError, ProviderError, SandboxUnavailable, JournalError, OutputError: see `experepair.errors`.
    """
    job = Job(
        Path(repo), issue, issue_author, commit, include_dirty, failing_test, out, resume, replay, memory
    )
    repository = Repository.open(job.repo)
    loaded = load(repository.root, settings)
    result = asyncio.run(_repair(job, repository, loaded, observer, tell or (lambda note: None)))
    if apply and result.status is Status.REPAIRED and result.patch is not None:
        apply_to_worktree(repository, result.patch.diff)
    return result


async def _repair(
    job: Job,
    repository: Repository,
    settings: Settings,
    observer: Callable[[Entry], None] | None,
    tell: Callable[[str], None],
) -> Result:
    commit = repository.resolve(job.commit)
    _refuse_dirty(job, repository, commit)
    issue = read_issue(job.issue, repository.scope, job.issue_author)
    out = choose_out(job.out, issue.id, resume=job.resume)
    if job.replay is None:
        for warning in check_affordable(settings.models_config()):
            tell(warning)
    async with _opened(job, repository, commit, settings, issue, out, observer, tell) as kit:
        tell(f"results: {out}")
        return await workflow.repair(issue, kit, job.failing_test)


@asynccontextmanager
async def _opened(
    job: Job,
    repository: Repository,
    commit: str,
    settings: Settings,
    issue: Issue,
    out: Path,
    observer: Callable[[Entry], None] | None,
    tell: Callable[[str], None],
) -> AsyncIterator[Kit]:
    """Everything that the steps need: the checkout, a proved sandbox, the models, the journal."""
    async with AsyncExitStack() as stack:
        tree = await asyncio.to_thread(
            checkout, repository, commit, cache_folder() / "checkouts", job.include_dirty
        )
        interpreter = find_interpreter(repository.root, settings.python, rootfs=settings.rootfs)
        sandbox = await stack.enter_async_context(
            open_sandbox(
                settings.sandbox,
                tree=tree.root,
                mount_at=repository.root,
                interpreter=interpreter,
                limits=settings.limits,
                rootfs=settings.rootfs,
            )
        )
        journal = stack.enter_context(open_journal(out, resume=job.resume))
        run_id = _begin(journal, tree, issue, settings)
        if observer is not None:
            journal.subscribe(observer)
        journalled = JournalledSandbox(
            sandbox,
            journal,
            partial(normalise, root=str(repository.root), interpreter=interpreter),
            max_parallel=settings.max_parallel or None,
        )
        models = await stack.enter_async_context(_models(job, settings, journal, out, tell))
        source = GitSource(tree.root)
        history = History(repository.root, commit)
        kit = Kit(
            run_id=run_id,
            models=models,
            sandbox=journalled,
            checkout=tree,
            memory=job.memory or NoMemory(),
            journal=journal,
            rank=lambda text: rank(text, source, history=history),
            framework=recognise(tree.files(), tree.read, settings.test_command or ""),
            python_version=await _python_version(journalled),
            env=_import_path(tree, repository.root),
            limits=settings.limits,
            config=settings.repair,
            out=out,
            sandbox_report=f"{sandbox.isolation.backend} ({sandbox.isolation.tree})",
            notes=(*tree.notes, *interpreter.notes, *sandbox.isolation.notes),
        )
        yield kit


def _models(job: Job, settings: Settings, journal: Journal, out: Path, tell: Callable[[str], None]) -> Models:
    config = settings.models_config() if job.replay is None else settings.replayed_config()
    ledger = Ledger(config.max_cost_usd, config.max_tokens)
    ledger.restore(journal.entries)
    return Models.live(
        config,
        journal,
        ledger,
        replay=job.replay,
        manual_folder=out / "manual",
        on_prompt=lambda path: tell(f"waiting for {path.name.replace('prompt', 'reply')} beside {path}"),
    )


def _begin(journal: Journal, tree: Checkout, issue: Issue, settings: Settings) -> str:
    """Journal the start; a run that is resumed keeps its id, and must be of the same issue and commit."""
    before = next((entry for entry in journal.entries if isinstance(entry, RunStarted)), None)
    if before is not None and (before.issue, before.commit) != (issue.text, tree.commit):
        what = "issue" if before.issue != issue.text else "commit"
        raise UsageError(f"the run to resume is of another {what}: {before.issue_id} at {before.commit}")
    run_id = before.run_id if before else uuid4().hex
    journal.append(
        RunStarted(
            run_id=run_id,
            experepair=experepair.__version__,
            repository=issue.repository,
            commit=tree.commit,
            issue_id=issue.id,
            issue=issue.text,
            settings=settings.model_dump(mode="json", exclude_defaults=True),
        )
    )
    return run_id


def _refuse_dirty(job: Job, repository: Repository, commit: str) -> None:
    if job.include_dirty or not repository.is_dirty() or commit != repository.resolve("HEAD"):
        return
    raise UsageError(
        f"{str(repository.root)!r} has uncommitted changes; commit them, or give --include-dirty to repair the "
        "work tree as it is, or --commit to repair a commit"
    )


async def _python_version(sandbox: JournalledSandbox) -> str:
    """What prompts say of the target's interpreter.

    Raises:
        UsageError: it doesn't run.
    """
    command = Command(("{python}", "-c", "import sys; print('%d.%d' % sys.version_info[:2])"))
    completed = await sandbox.run(command, purpose="the interpreter's version")
    try:
        version = tuple(int(part) for part in completed.stdout.split("."))
    except ValueError:
        said = completed.stderr.strip() or f"exit status {completed.exit_code}"
        raise UsageError(
            f"the repository's interpreter does not run in the sandbox: {said}; name another one with --python"
        ) from None
    return "3.11 or later" if version >= _OLDEST_CURRENT else ".".join(str(part) for part in version)


def _import_path(tree: Checkout, root: Path) -> tuple[tuple[str, str], ...]:
    """The private tree comes first on the import path, so that scripts import the patched code."""
    folders = [root]
    folders.extend(
        root / name for name in ("src", "lib") if any(f.startswith(f"{name}/") for f in tree.files())
    )
    return (("PYTHONPATH", ":".join(str(folder) for folder in folders)),)
