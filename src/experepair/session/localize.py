"""A ranking from outside: what `experepair localize` calls."""

from __future__ import annotations

from pathlib import Path

from experepair.domain.place import Ranking
from experepair.localize.history import History
from experepair.localize.rank import rank
from experepair.localize.source import GitSource
from experepair.session.issues import read_issue
from experepair.workspace.repository import Repository


def localize(repo: Path | str, issue: str, *, commit: str = "HEAD") -> Ranking:
    """Rank the files and functions of a commit that an issue may be about; no model is asked.

    Args:
        repo: folder of a git repository; it is only read.
        issue: path of a file, "-" for standard input, or the text itself.
        commit: what to search.

    Raises:
        UsageError: repository, commit or issue can't be read.
    """
    repository = Repository.open(Path(repo))
    given = read_issue(issue, repository.scope)
    resolved = repository.resolve(commit)
    source = GitSource(repository.root, resolved)
    return rank(given.text, source, history=History(repository.root, resolved))
