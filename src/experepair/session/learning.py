"""What memory is taught from outside a repair: what `experepair memory learn` calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from experepair.domain.issue import Issue
from experepair.domain.memory import Insight, Operation
from experepair.domain.roles import Agent, Role
from experepair.errors import UsageError
from experepair.journal.entries import Consulted, Entry, Intent, Replied, RunStarted
from experepair.journal.reading import read_journal
from experepair.journal.trajectory import trajectory
from experepair.memory.insights.operations import read_operations
from experepair.memory.learn.diffs import blobs_of, functions
from experepair.memory.learn.extraction import lesson_of
from experepair.memory.learn.history import Observer, mine
from experepair.memory.learn.human import lesson_of_patch
from experepair.memory.learn.masking import masked
from experepair.memory.lesson import Learned, Lesson
from experepair.session.issues import is_trusted, read_issue
from experepair.session.memory import open_store
from experepair.session.out import JOURNAL
from experepair.session.settings import Settings, load
from experepair.steps.report import RESULT
from experepair.steps.result import Result
from experepair.workspace.repository import Repository

_LARGEST_PATCH = 1_000_000


@dataclass(frozen=True, slots=True)
class Taught:
    """What came of teaching memory.

    Attributes:
        store: where it was kept, without password.
        repository: scope of it.
        new: how many sources were new: commits, or the one run or patch.
        demonstrations: ids of those that were stored; of mined ones there are too many to tell.
        quarantined: whether they wait to be accepted.
    """

    store: str
    repository: str
    new: int
    demonstrations: tuple[str, ...] = ()
    quarantined: bool = False


def learn_history(
    repo: Path,
    *,
    memory: str | None = None,
    commit: str = "HEAD",
    since: datetime | None = None,
    limit: int = 0,
    observer: Observer | None = None,
) -> Taught:
    """Learn from the past commits of a repository; those that are known are passed over.

    Args:
        repo: folder of a git repository; it is only read.
        memory: its address; None means that of the settings.
        commit: only its ancestors, and itself.
        since: nothing that was committed before.
        limit: most commits, the newest first; 0 means all.
        observer: shows progress.

    Raises:
        UsageError: there is no such repository or commit, its history can't be read, or the store can't be opened.
    """
    repository = Repository.open(repo)
    head = repository.resolve(commit)
    settings = load(repository.root, {"memory": memory})
    with open_store(settings) as store:
        lessons = mine(
            repository,
            repository.scope,
            commit=head,
            since=since,
            limit=limit,
            known=partial(store.knows, repository.scope),
            config=settings.mining,
            observer=observer,
        )
        return Taught(store.url, repository.scope, store.learn_many(lessons))


def learn_run(repo: Path, run: Path, *, memory: str | None = None) -> Taught:
    """Learn a finished run: its demonstrations, and the insights that were drawn at its end, if any were.

    A run that this memory was told of already teaches nothing more.

    Args:
        repo: folder of the repository that was repaired.
        run: folder with the run's journal and result.
        memory: its address; None means that of the settings.

    Raises:
        UsageError: the folder holds no finished run of this repository, or the store can't be opened.
        JournalError: the journal can't be read.
    """
    repository = Repository.open(repo)
    entries = read_journal(run / JOURNAL)
    result = _result(run)
    started = next((entry for entry in entries if isinstance(entry, RunStarted)), None)
    if started is None or started.run_id != result.run_id:
        raise UsageError(f"journal and result in {str(run)!r} are not of the same run")
    if started.repository != repository.scope:
        raise UsageError(
            f"the run in {str(run)!r} repaired {started.repository!r}, not {repository.scope!r}; give its repository"
        )
    issue = Issue(
        started.issue_id,
        started.repository,
        started.issue,
        started.author,
        started.trusted,
        datetime.fromisoformat(started.created_at) if started.created_at else None,
    )
    lived = trajectory(entries, issue, result.chosen, result.patch.diff if result.patch else "")
    naming = partial(functions, read_blob=blobs_of(repository.git))
    settings = load(repository.root, {"memory": memory})
    lesson = lesson_of(lived, _operations(entries, settings), datetime.now(UTC), naming)
    return _taught(masked(lesson, repository.root), settings)


def learn_patch(
    repo: Path,
    patch: str,
    issue: str,
    *,
    memory: str | None = None,
    issue_author: str | None = None,
    untrusted: bool = False,
) -> Taught:
    """Learn a human's fix.

    Args:
        repo: folder of the repository that it belongs to.
        patch: file with a diff.
        issue: what it fixes: a file, "-" for standard input, or the text.
        memory: its address; None means that of the settings.
        issue_author: who wrote the issue; then it is trusted only when the settings list him.
        untrusted: what is learned is not recalled until it is accepted.

    Raises:
        UsageError: patch or issue can't be read, or the store can't be opened.
    """
    repository = Repository.open(repo)
    settings = load(repository.root, {"memory": memory})
    trusted = not untrusted and is_trusted(issue_author, settings.trusted_authors)
    given = read_issue(issue, repository.scope, issue_author, trusted=trusted)
    lesson = lesson_of_patch(
        repository,
        _read_patch(Path(patch)),
        given,
        at=datetime.now(UTC),
        test_chars=settings.mining.test_chars,
    )
    return _taught(lesson, settings)


def _operations(entries: Sequence[Entry], settings: Settings) -> Mapping[Agent, tuple[Operation, ...]]:
    """What the summary said of the insights that it was shown; none when there was no summary."""
    shown = next((entry for entry in entries if isinstance(entry, Consulted)), None)
    asked = {entry.call for entry in entries if isinstance(entry, Intent) and entry.role == Role.SUMMARIZE}
    replies = [entry.text for entry in entries if isinstance(entry, Replied) and entry.call in asked]
    if shown is None or not replies:
        return {}
    read = TypeAdapter(tuple[Insight, ...]).validate_python
    present = {Agent(agent): read(insights) for agent, insights in shown.insights.items()}
    caps = settings.learn
    return read_operations(
        replies[-1], present, most=caps.most_operations, longest=caps.insight_chars
    ).operations


def _taught(lesson: Lesson, settings: Settings) -> Taught:
    with open_store(settings) as store:
        learned: Learned = store.learn(lesson)
        return Taught(
            store.url,
            lesson.issue.repository,
            int(learned.new),
            learned.demonstrations,
            quarantined=not lesson.issue.trusted,
        )


def _result(run: Path) -> Result:
    path = run / RESULT
    try:
        return Result.model_validate_json(path.read_bytes())
    except OSError as error:
        raise UsageError(
            f"there is no result in {str(run)!r} ({error.strerror}): give the folder of a finished run"
        ) from error
    except ValidationError as error:
        raise UsageError(
            f"{str(path)!r} is no result of a run: {error.error_count()} fields are wrong"
        ) from error


def _read_patch(path: Path) -> str:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise UsageError(f"can't read the patch {str(path)!r}: {error.strerror}") from error
    if len(content) > _LARGEST_PATCH:
        raise UsageError(f"the patch {str(path)!r} has {len(content):,} bytes, more than {_LARGEST_PATCH:,}")
    return content.decode("utf-8", "replace")
