"""Past commits as demonstrations for the patch agent: memory before the first repair, without a model."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime

from experepair.domain.issue import Issue
from experepair.domain.memory import Demonstration, Origin
from experepair.domain.roles import Agent
from experepair.domain.text import encodable
from experepair.errors import UsageError
from experepair.localize.log import Logged, read_log
from experepair.memory.learn.diffs import functions, joined, split
from experepair.memory.learn.identity import identity
from experepair.memory.learn.masking import masked
from experepair.memory.learn.worth import MiningConfig, Worthy, choose, merged
from experepair.memory.lesson import Lesson, Source
from experepair.workspace.git import Git
from experepair.workspace.repository import Repository

_NAMES_CHUNK = 4000
_DIFFS_CHUNK = 200
"""Commits read by one run of git."""
_PROCESSES = 2

Known = Callable[[Collection[str]], Collection[str]]
"""Which of some keys of lessons have been learned."""
Observer = Callable[[str, int, int], None]
"""Told of a stage ("names", "diffs"), how many of its commits are done, and how many there are."""


def mine(
    repository: Repository,
    scope: str,
    *,
    commit: str = "HEAD",
    since: datetime | None = None,
    limit: int = 0,
    known: Known | None = None,
    at: datetime | None = None,
    config: MiningConfig | None = None,
    observer: Observer | None = None,
) -> Iterator[Lesson]:
    """What the history of a commit teaches, the newest first; the texts are masked.

    Args:
        repository: it is only read.
        scope: what memory is kept under.
        commit: only its ancestors, and itself.
        since: nothing that was committed before.
        limit: most commits to learn from, those that are known counted; 0 means all.
        known: leaves out what has been learned.
        at: when it is learned; now when None.
        config: which commits count.
        observer: shows progress.

    Raises:
        UsageError: there is no such commit, or git can't read the history.
    """
    config, tell, git = config or MiningConfig(), observer or _nobody, repository.git
    head = repository.resolve(commit)
    worthy = _worthy(git, head, config, tell)
    if since is not None:
        worthy = [each for each in worthy if each.commit.at >= since.timestamp()]
    worthy = worthy[:limit] if limit else worthy
    if known is not None:
        learned = set(known([_key(each) for each in worthy]))
        worthy = [each for each in worthy if _key(each) not in learned]
    texts = {each.commit.id: each.text for each in worthy}
    when, done = at or datetime.now(UTC), 0
    tell("diffs", 0, len(worthy))
    for chunk, read in _concurrently(git, [each.commit.id for each in worthy]):
        for logged in read:
            lesson = _lesson(logged, texts[logged.id], scope, when, config)
            if lesson is not None:
                yield masked(lesson, None if repository.bare else repository.root)
        done += chunk
        tell("diffs", done, len(worthy))


def _worthy(git: Git, head: str, config: MiningConfig, tell: Observer) -> list[Worthy]:
    listed = [line.split() for line in git.line("rev-list", "--parents", head).split("\n")]
    parents = {commit: tuple(before) for commit, *before in listed}
    brought = merged(parents, head)
    wanted = [commit for commit, before in parents.items() if len(before) == 1 or commit in brought]
    logged: list[Logged] = []
    for start in range(0, len(wanted), _NAMES_CHUNK):
        tell("names", start, len(wanted))
        chunk = wanted[start : start + _NAMES_CHUNK]
        logged += _read(git, chunk, "--diff-merges=first-parent", "--raw", "-M100%")
    tell("names", len(wanted), len(wanted))
    return choose(logged, brought, config)


def _concurrently(git: Git, commits: Sequence[str]) -> Iterator[tuple[int, list[Logged]]]:
    """Commits with their diffs, chunk by chunk, while git reads the next ones; how many were asked for comes with them."""
    chunks = [commits[start : start + _DIFFS_CHUNK] for start in range(0, len(commits), _DIFFS_CHUNK)]
    running: deque[tuple[int, Future[list[Logged]]]] = deque()
    with ThreadPoolExecutor(_PROCESSES, "git log") as pool:
        try:
            for chunk in chunks:
                running.append((len(chunk), pool.submit(_read, git, chunk, *_DIFFS)))
                if len(running) > _PROCESSES:
                    size, first = running.popleft()
                    yield size, first.result()
            for size, each in running:
                yield size, each.result()
        finally:
            pool.shutdown(cancel_futures=True)


_DIFFS = ("--diff-merges=first-parent", "-p", "-U3", "-M")


def _read(git: Git, commits: Sequence[str], *how: str) -> list[Logged]:
    try:
        return list(read_log(git, commits, *how))
    except UsageError as error:
        if git.attempt("config", "--get-regexp", r"^remote\..*\.promisor$").stdout:
            raise UsageError(
                f"the history of {str(git.cwd)!r} can't be learned from: it is a partial clone that lacks old contents; "
                "bring them with `git fetch --refetch --no-filter`, or learn from a full clone"
            ) from error
        raise


def _lesson(logged: Logged, text: str, scope: str, at: datetime, config: MiningConfig) -> Lesson | None:
    """The lesson of one commit; None when its changes are none of source, or too many."""
    files = split(_decoded(logged.difference))
    source = [file for file in files if not file.is_test]
    changed = sum(file.changed for file in source)
    if not 1 <= changed <= config.most_lines:
        return None
    key = f"commit:{logged.id}"
    committed = _time(logged.at)
    issue = Issue(logged.id, scope, encodable(text), created_at=committed)
    demonstration = Demonstration(
        identity(scope, key, Agent.PATCH, 0),
        Agent.PATCH,
        issue.id,
        issue.text,
        joined(source, (file for file in files if file.is_test), config.test_chars),
        origin=Origin.MINED,
        commit=logged.id,
        created_at=committed,
        paths=tuple(file.path for file in source),
        functions=functions(source),
    )
    return Lesson(key, Source.HISTORY, issue, at, logged.id, demonstrations=(demonstration,))


def _key(worthy: Worthy) -> str:
    return f"commit:{worthy.commit.id}"


def _decoded(difference: bytes) -> str:
    """Old sources have old encodings; Latin-1 reads every byte as something."""
    with suppress(UnicodeDecodeError):
        return difference.decode("utf-8")
    return difference.decode("latin-1")


def _time(seconds: int) -> datetime | None:
    with suppress(OverflowError, ValueError, OSError):
        return datetime.fromtimestamp(seconds, UTC)
    return None


def _nobody(stage: str, done: int, total: int) -> None:
    del stage, done, total
