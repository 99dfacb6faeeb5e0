"""Everything that the steps of a repair need, opened in order and closed again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from typing import Any
from uuid import uuid4

import experepair
from experepair.domain.issue import Issue
from experepair.domain.memory import PastRepair
from experepair.domain.place import Ranking
from experepair.errors import UsageError
from experepair.folders import cache_folder
from experepair.journal.entries import Entry, RunStarted
from experepair.journal.journal import Journal
from experepair.journal.lease import LeaseConfig
from experepair.llm.ledger import Ledger
from experepair.llm.model import Model
from experepair.llm.roles import Models
from experepair.localize.config import RankingConfig
from experepair.localize.executed import NOTHING, Observed
from experepair.localize.history import History
from experepair.localize.rank import Ranker
from experepair.localize.source import GitSource
from experepair.memory.eligibility import Bounds
from experepair.memory.learn.masking import mask
from experepair.memory.memory import Memory
from experepair.memory.repository import RepositoryMemory
from experepair.sandbox.image import ImageChoice
from experepair.sandbox.interpreter import Interpreter, find_interpreter
from experepair.sandbox.journalled import JournalledSandbox
from experepair.sandbox.normalise import normalise
from experepair.sandbox.open import open_sandbox
from experepair.session.environment import examine, prepare
from experepair.session.memory import NONE, open_memory
from experepair.session.out import forgotten_unless_begun, open_journal
from experepair.session.settings import Settings
from experepair.steps.kit import Kit, Rank
from experepair.testing.framework import recognise
from experepair.workspace.checkout import Checkout, checkout
from experepair.workspace.repository import Repository

IN_IMAGE = Interpreter("python", found="image")
"""Stands for the interpreter until the image is looked into."""


@dataclass(frozen=True)
class Job:
    """One repair.

    Attributes:
        issue: what is repaired.
        repository: where.
        commit: its id.
        out: folder for the results and the journal.
        include_dirty: repair the work tree with its uncommitted changes.
        failing_test: id of an existing test that is the reproduction.
        resume: go on with the run that is in `out`.
        replay: answers in the place of every model.
        memory: what is recalled and learned, or where it is; None leaves it to the settings.
        bounds: what must not be recalled; the ancestors are those of the commit, whatever it says.
        indexes: folder for what is derived from memory; None means the user's cache.
        ledger: keeps the caps; None means a new one with those of the settings.
        lease: of the journal.
    """

    issue: Issue
    repository: Repository
    commit: str
    out: Path
    include_dirty: bool = False
    failing_test: str | None = None
    resume: bool = False
    replay: Model | None = None
    memory: Memory | str | None = None
    bounds: Bounds = field(default_factory=Bounds)
    indexes: Path | None = None
    ledger: Ledger | None = None
    lease: LeaseConfig = field(default_factory=LeaseConfig)


@asynccontextmanager
async def opened(
    job: Job,
    settings: Settings,
    observer: Callable[[Entry], None] | None,
    tell: Callable[[str], None],
) -> AsyncIterator[Kit]:
    """Everything that the steps need: the checkout, a proved sandbox, the models, the journal."""
    issue, repository, commit, out = job.issue, job.repository, job.commit, job.out
    async with AsyncExitStack() as stack:
        memory = stack.enter_context(
            open_memory(job.memory, settings, repository, commit, bounds=job.bounds, indexes=job.indexes)
        )
        tree = await asyncio.to_thread(
            checkout, repository, commit, cache_folder() / "checkouts", job.include_dirty
        )
        image = image_of(settings)
        interpreter = (
            IN_IMAGE if image else find_interpreter(repository.root, settings.python, rootfs=settings.rootfs)
        )
        opening = partial(
            open_sandbox,
            settings.sandbox,
            mount_at=settings.mount_at or repository.root,
            image=image,
            limits=settings.limits,
            rootfs=settings.rootfs,
        )
        ground = await prepare(tree, repository, interpreter, settings, opening, tell)
        sandbox = await stack.enter_async_context(opening(tree=ground.tree, interpreter=ground.interpreter))
        interpreter, root = sandbox.interpreter, Path(sandbox.place)
        surroundings = replace(ground.surroundings, python=interpreter.path, found=interpreter.found)
        journal = stack.enter_context(
            await asyncio.to_thread(open_journal, out, job.lease, resume=job.resume)
        )
        stack.enter_context(forgotten_unless_begun(journal, out, resume=job.resume))
        run_id = _begin(journal, tree, issue, settings, memory.place)
        if journal.fence > 1 and isinstance(memory.memory, RepositoryMemory):
            await memory.memory.raise_fence(run_id, journal.fence)
        if observer is not None:
            journal.subscribe(observer)
        journalled = JournalledSandbox(
            sandbox,
            journal,
            partial(normalise, root=str(root), interpreter=interpreter),
            max_parallel=settings.max_parallel or None,
            scope=f"{tree.tree_id} {ground.layers} {interpreter.path} {interpreter.version} {settings.rootfs} {sandbox.isolation.backend}{sandbox.isolation.image}",
        )
        models = await stack.enter_async_context(_models(job, settings, journal, tell))
        files = GitSource(tree.root, shared_with=repository.root)
        history = History(repository.root, commit)
        framework = recognise(tree.files(), tree.read, settings.test_command or "")
        environment = await examine(journalled, tree, root, surroundings, framework)
        if settings.preflight:
            environment.preflight.refuse()
        kit = Kit(
            run_id=run_id,
            models=models,
            sandbox=journalled,
            checkout=tree,
            memory=memory.memory,
            remembers=memory.remembers,
            learns=memory.learns,
            memory_place=memory.place,
            journal=journal,
            rank=_ranking(files, history),
            framework=framework,
            python_version=environment.python_version,
            import_error=environment.import_error,
            env=(*environment.variables, *sorted(settings.variables.items())),
            limits=settings.limits,
            config=settings.repair,
            recalling=settings.recall,
            learning=settings.learn,
            out=out,
            sandbox_report=sandbox.isolation.summary,
            notes=(
                *_dirty(job),
                *tree.notes,
                *interpreter.notes,
                *ground.notes,
                *sandbox.isolation.notes,
                *environment.notes,
            ),
        )
        yield kit


def _ranking(files: GitSource, history: History) -> Rank:
    """Opens the index when it is first asked, and keeps it for the next time."""
    opened_index = cache(lambda: Ranker(files, history, RankingConfig()))

    def rank(
        issue_text: str, observed: Observed = NOTHING, past_repairs: Sequence[PastRepair] = (), /
    ) -> Ranking:
        return opened_index().rank(issue_text, past_repairs, observed)

    return rank


def image_of(settings: Settings) -> ImageChoice | None:
    """The image that the settings name, None without one.

    Raises:
        UsageError: they ask for what an image has no place for.
    """
    if settings.image is None:
        return None
    if settings.build_products:
        raise UsageError(
            "--build-products are this machine's, and an --image keeps its own: build the repository in the image, or "
            "give --setup, which runs in it"
        )
    return ImageChoice(settings.image, settings.image_workdir, settings.python)


def _dirty(job: Job) -> tuple[str, ...]:
    if not job.include_dirty or not (job.repository.is_dirty() or job.repository.untracked()):
        return ()
    return (
        "repaired with the uncommitted changes of the work tree; patch.diff applies to it as it was then",
    )


def _models(job: Job, settings: Settings, journal: Journal, tell: Callable[[str], None]) -> Models:
    config = settings.models_config() if job.replay is None else settings.replayed_config()
    ledger = job.ledger or Ledger(config.max_cost_usd, config.max_tokens)
    ledger.restore(journal.entries)
    return Models.live(
        config,
        journal,
        ledger,
        replay=job.replay,
        manual_folder=job.out / "manual",
        on_prompt=lambda path: tell(f"waiting for {path.name.replace('prompt', 'reply')} beside {path}"),
    )


def _begin(journal: Journal, tree: Checkout, issue: Issue, settings: Settings, memory: str) -> str:
    """Journal the start; a run that is resumed keeps its id, and must be of the same issue and commit."""
    before = next((entry for entry in journal.entries if isinstance(entry, RunStarted)), None)
    if before is not None and (before.issue, before.tree) != (issue.text, tree.tree_id):
        what = "issue" if before.issue != issue.text else "commit or work tree"
        raise UsageError(f"the run to resume is of another {what}: {before.issue_id} at {before.commit}")
    run_id = before.run_id if before else uuid4().hex
    journal.append(
        RunStarted(
            run_id=run_id,
            experepair=experepair.__version__,
            repository=issue.repository,
            commit=tree.commit,
            tree=tree.tree_id,
            issue_id=issue.id,
            issue=issue.text,
            author=issue.author,
            trusted=issue.trusted,
            created_at=issue.created_at.isoformat() if issue.created_at else "",
            fence=journal.fence,
            settings=journalled_settings(settings, memory),
        )
    )
    return run_id


def journalled_settings(settings: Settings, memory: str) -> dict[str, Any]:
    """What a run was told, without passwords in addresses: memory's is as the store says it."""
    told = settings.model_dump(mode="json", exclude_defaults=True, exclude={"memory"})
    return {**_masked(told), "memory": memory or NONE}


def _masked(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _masked(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_masked(inner) for inner in value]
    return mask(value) if isinstance(value, str) else value
