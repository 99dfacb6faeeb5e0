"""A ranking from outside: what `experepair localize` calls."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from experepair.domain.place import Ranking, Span
from experepair.localize.history import History
from experepair.localize.rank import rank
from experepair.localize.snippet import snippet
from experepair.localize.source import GitSource
from experepair.session.issues import read_issue
from experepair.session.memory import past_repairs
from experepair.session.settings import load
from experepair.workspace.repository import Repository


@dataclass(frozen=True, slots=True)
class Located:
    """A ranking, with the code that it is of.

    Attributes:
        ranking: files and functions, best first.
        issue_text: what they were ranked for.
        source: the commit.
    """

    ranking: Ranking
    issue_text: str
    source: GitSource

    def snippet(self, span: Span) -> tuple[tuple[int, str], ...]:
        """The lines of a function that are most like the issue, with their numbers."""
        content = self.source.read(span.path)
        return snippet(self.issue_text, span, content) if content else ()


def localize(repo: Path | str, issue: str, *, commit: str = "HEAD", memory: str | None = None) -> Located:
    """Rank the files and functions of a commit that an issue may be about; no model is asked.

    Args:
        repo: folder of a git repository; it is only read.
        issue: path of a file, "-" for standard input, or the text itself.
        commit: what to search.
        memory: address of the memory whose past repairs count, or "none"; None means that of the settings.

    Raises:
        UsageError: repository, commit, issue, settings or memory can't be read.
    """
    repository = Repository.open(Path(repo))
    given = read_issue(issue, repository.scope)
    resolved = repository.resolve(commit)
    source = GitSource(repository.root, resolved)
    known = past_repairs(memory, load(repository.root, {}), repository, given)
    ranking = rank(given.text, source, history=History(repository.root, resolved), past_repairs=known)
    return Located(ranking, given.text, source)
