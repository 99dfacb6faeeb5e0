"""Memory seen from outside a repair: what the commands of `experepair memory` call."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from experepair.domain.memory import Query, Recalled
from experepair.domain.roles import Agent
from experepair.errors import ExpeRepairError, OutputError, UsageError
from experepair.memory.eligibility import Ancestors, Bounds
from experepair.memory.learn.diffs import blobs_of, functions, joined, split
from experepair.memory.learn.masking import mask
from experepair.memory.recall import Recaller
from experepair.memory.retrieve.folder import drop_indexes
from experepair.memory.retrieve.verify import verify_index
from experepair.memory.store import Changed, Filter, Held, InsightRecord, LogEntry, Stored, Usage, Verdict
from experepair.session.memory import open_store
from experepair.session.settings import Settings, load
from experepair.steps.report import RESULT
from experepair.steps.result import Result
from experepair.workspace.repository import Repository

if TYPE_CHECKING:
    from experepair.memory.store import Store

_WHOLE = 100_000
"""Most demonstrations of one lesson."""


@dataclass(frozen=True)
class Managed:
    """An open store, and the repository that a command is about.

    Attributes:
        store: of record.
        settings: of the user and the repository.
        scope: the repository; "" for all of them.
        repository: its folder, if there is one here.
    """

    store: Store
    settings: Settings
    scope: str
    repository: Repository | None


@dataclass(frozen=True, slots=True)
class Shown:
    """All that is known of what a name stands for.

    Attributes:
        demonstrations: with what the store knows of them.
        usage: how repairs used these, by id.
        insights: with their records.
        lessons: that the name stands for.
        log: events about it, newest first.
    """

    demonstrations: tuple[Stored, ...]
    usage: dict[str, Usage]
    insights: tuple[InsightRecord, ...]
    lessons: tuple[Held, ...]
    log: tuple[LogEntry, ...]


@contextmanager
def managed(
    repo: str | None, memory: str | None, *, everything: bool = False, make: bool = False
) -> Iterator[Managed]:
    """Open the store, and find out which repository is meant.

    Args:
        repo: folder of a repository, or its name as memory knows it; None means that of the working directory, or the only
            one that memory holds.
        memory: address of the store; None means that of the settings.
        everything: all repositories are meant.
        make: whether a store that isn't there yet is made.

    Raises:
        UsageError: there is no such repository, or no memory yet.
        MemoryUnavailable: the store can't be opened.
    """
    repository = _repository(repo)
    settings = load(repository.root if repository else None, {"memory": memory})
    with open_store(settings, make=make) as store:
        scope = "" if everything else _scope(store, repo, repository)
        yield Managed(store, settings, scope, None if everything else repository)


def search(opened: Managed, text: str, agents: tuple[Agent, ...], top: int) -> dict[Agent, Recalled]:
    """What a repair of an issue with this text would be given, by agent, and the scores of it.

    Mined fixes count when they are ancestors of the repository's HEAD, or without a folder of it all of them.
    """
    root = opened.repository
    ancestors = Ancestors(root.root, root.resolve("HEAD")) if root else _any_commit
    config = opened.settings.recall.model_copy(update={"top_k": top})
    recaller = Recaller(opened.store, opened.scope, Bounds(ancestors=ancestors), config)
    return {agent: recaller.recall(Query(agent, "", text)) for agent in agents}


def show(opened: Managed, name: str) -> Shown:
    """Everything about a demonstration, an insight, a lesson's key, a run or an issue.

    Raises:
        UsageError: memory knows nothing of that name.
    """
    store, scope = opened.store, opened.scope
    lessons = store.lesson(scope, name)
    keys = [held.key for held in lessons]
    found = dict(store.demonstrations([name]))
    for key in keys:
        page = store.listing(Filter(scope=scope, key=key), limit=_WHOLE)
        found |= {one.demonstration.id: one for one in page.entries}
    insights = tuple(one for agent in Agent for one in store.insights(scope, agent) if one.insight.id == name)
    log = store.log(scope, name)
    if not (found or lessons or insights or log):
        raise UsageError(
            f"memory knows no demonstration, insight, lesson, run or issue {name!r} of {scope!r}; "
            "`experepair memory list` and `memory log` show what there is"
        )
    return Shown(tuple(found.values()), store.usage(list(found)), insights, lessons, log)


def forget(opened: Managed, names: list[str], *, erase: bool) -> Changed:
    """Hide entries, or remove their content from events, database pages and indexes.

    Raises:
        UsageError: a name stands for nothing.
        OutputError: the content is erased, but not from the indexes.
    """
    changed = opened.store.forget(opened.scope, names, erase)
    if erase:
        try:
            drop_indexes(opened.store.identity, opened.scope)
        except OSError as error:
            raise OutputError(
                f"the content is erased, but the index in {error.filename!r} that may still hold it can't be removed "
                f"({error.strerror}); remove it by hand"
            ) from error
    return changed


def judge(opened: Managed, run: str, verdict: Verdict, patch: Path | None) -> Changed:
    """Say what became of the patch of a repair.

    Args:
        opened: the store and the repository.
        run: the id of the run, or the folder of its results.
        verdict: what the human says.
        patch: a file with his own diff, for an edited one.

    Raises:
        UsageError: there is no such run, or the patch is missing or can't be read.
    """
    if (patch is None) == (verdict is Verdict.EDITED):
        raise UsageError(
            "a patch belongs to the verdict `edited`, and only to it: give the file with the diff"
        )
    run_id, root = run_name(run), opened.repository
    if patch is None:
        return opened.store.verdict(opened.scope, run_id, verdict)
    text = _text_of(patch)
    if not (files := split(text)):
        raise UsageError(f"{str(patch)!r} holds no diff; make one with `git diff`")
    source = [file for file in files if not file.is_test and file.changed]
    if not source:
        raise UsageError(f"{str(patch)!r} changes no line of source; give the fix together with its tests")
    tests = (file for file in files if file.is_test)
    naming = partial(functions, read_blob=blobs_of(root.git)) if root else functions
    folders = {str(root.root): "<repo>"} if root else {}
    return opened.store.verdict(
        opened.scope,
        run_id,
        verdict,
        mask(joined(source, tests, opened.settings.mining.test_chars), folders),
        paths=tuple(file.path for file in source),
        functions=naming(source),
    )


def run_name(run: str) -> str:
    """The id of a run that is given by its id or by the folder of its results.

    Raises:
        UsageError: the folder holds no result.
    """
    folder = Path(run)
    if not folder.is_dir():
        return run
    try:
        return Result.model_validate_json((folder / RESULT).read_bytes()).run_id
    except (OSError, ValueError) as error:
        raise UsageError(f"{run!r} holds no result of a repair; give its folder or the run's id") from error


def verify(opened: Managed) -> tuple[str, ...]:
    """What doesn't fit together in the store and its indexes, in words; nothing when all is well."""
    store, config = opened.store, opened.settings.recall
    scopes = [opened.scope] if opened.scope else sorted(store.scopes())
    indexes = (verify_index(store, scope, agent, config) for scope in scopes for agent in Agent)
    return (*store.verify(), *(line for found in indexes for line in found))


def _any_commit(commit: str) -> bool:
    del commit
    return True


def _repository(repo: str | None) -> Repository | None:
    try:
        return Repository.open(Path(repo or "."))
    except ExpeRepairError:
        if repo is not None and Path(repo).is_dir():
            raise
        return None


def _scope(store: Store, repo: str | None, repository: Repository | None) -> str:
    if repository is not None:
        return repository.scope
    known = store.scopes()
    if repo is None and len(known) == 1:
        return next(iter(known))
    if repo in known:
        return str(repo)
    there = f"it holds {', '.join(sorted(known)[:10])}" if known else "it holds nothing yet"
    raise UsageError(
        f"memory knows no repository {repo!r}; {there}"
        if repo
        else f"which repository is meant? Give its folder or its name; {there}"
    )


def _text_of(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8", "replace")
    except OSError as error:
        raise UsageError(f"can't read the patch {str(path)!r}: {error.strerror}") from error
