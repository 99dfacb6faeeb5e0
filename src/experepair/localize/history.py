"""Past commits: which files were changed for reasons like this issue's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import log, sqrt
from pathlib import Path

from experepair.domain.place import Evidence
from experepair.errors import UsageError
from experepair.localize.commits import (
    COMMIT_SHIFT,
    DIFF_SHIFT,
    DIFF_WEIGHT,
    Change,
    CommitStore,
    parse_changes,
)
from experepair.localize.config import HistoryConfig
from experepair.localize.index.folder import SegmentFolder, cache_folder
from experepair.localize.index.view import Index
from experepair.localize.languages import language_of
from experepair.localize.lexical import Saturation, idf
from experepair.workspace.git import Git

_SATURATION = Saturation(1.2, 0.75)


@dataclass
class PastCommits:
    """How much past commits speak for each file (by position), and which."""

    files: dict[int, float] = field(default_factory=dict)
    functions: dict[tuple[int, str], float] = field(default_factory=dict)
    evidence: dict[int, list[Evidence]] = field(default_factory=dict)

    def add(self, kind: str, file: int, share: float, detail: str, names: Sequence[str]) -> None:
        """A commit (or whatever `kind` is) speaks for a file, and for definitions in it by their simple names."""
        self.files[file] = self.files.get(file, 0.0) + share
        self.evidence.setdefault(file, []).append(Evidence(kind, detail, share))
        for name in names:
            self.functions[file, name] = self.functions.get((file, name), 0.0) + share / len(names)


class History:
    """The ancestors of a commit, newest first, as far as they touch source files.

    Args:
        repository: a working tree or a bare repository.
        commit: the commit under repair; only its ancestors and itself are read.
        config: how many are read, and how they count.
        cache: folder of the cache; None means the user's own.
    """

    def __init__(
        self,
        repository: Path,
        commit: str = "HEAD",
        *,
        config: HistoryConfig | None = None,
        cache: Path | None = None,
    ) -> None:
        self._git = Git(repository)
        self._commit = commit
        self._config = config or HistoryConfig()
        self._cache = cache or cache_folder()
        self.notes: list[str] = []

    @cached_property
    def _store(self) -> CommitStore:
        name = str((self._git.cwd / self._git.line("rev-parse", "--git-common-dir")).resolve())
        folder = SegmentFolder(self._cache, name, "commits-2")
        if folder.note:
            self.notes.append(folder.note)
        return CommitStore(folder)

    @cached_property
    def _ages(self) -> dict[tuple[int, int], int]:
        """How many newer commits there are, for each commit that counts, by its place in the store."""
        try:
            return self._read()
        except UsageError as error:
            self.notes.append(f"no history: {error}")
            return {}

    def _read(self) -> dict[tuple[int, int], int]:
        git, config = self._git, self._config
        cut = self._boundary()
        listed = git.line(
            "rev-list",
            "--min-parents=1",  # the first commit brings every file, and says nothing of any
            "--max-parents=1",
            f"--max-count={2 * config.commits + len(cut)}",
            "--end-of-options",
            self._commit,
        ).split()
        known = [commit for commit in listed if commit not in cut]
        if cut:
            self.notes.append(f"short history: a shallow clone with {len(known)} commits before its end")
        elif not known:
            self.notes.append("no history: there are no earlier commits")
        ages: dict[tuple[int, int], int] = {}
        for start in range(0, len(known), config.commits):
            chunk = known[start : start + config.commits]
            self._store.update(git, chunk)
            places = self._store.places
            if start:  # merging may have moved what was found before
                ages = {}
                chunk = known[: start + config.commits]
            for commit in chunk:
                if len(ages) < config.commits and self._touches_sources(places[commit]):
                    ages[places[commit]] = len(ages)
            if len(ages) >= config.commits:
                break
        return ages

    def _boundary(self) -> set[str]:
        """Commits whose parents a shallow clone lacks: they seem to add every file."""
        shallow = self._git.cwd / self._git.line("rev-parse", "--git-path", "shallow")
        try:
            return set(shallow.read_text().split())
        except OSError:
            return set()

    def _touches_sources(self, place: tuple[int, int]) -> bool:
        return any(not _is_test(change.new) for change in self._changes(place))

    def _changes(self, place: tuple[int, int]) -> list[Change]:
        segment, document = place
        return parse_changes(self._store.folder.segments[segment].texts("changes")[document])

    def similar(self, query: Mapping[str, int], index: Index) -> PastCommits:
        """Files that commits like the query changed: more so the more alike, the newer, the smaller they are.

        Args:
            query: terms of the issue, and how often each is there.
            index: of the commit; files that are gone are left out, renamed ones followed.
        """
        scores = self._scores(query)
        config = self._config
        found = PastCommits()
        top = max(scores.values(), default=0.0)
        names = self._current_names(index)
        taken = 0
        for place in sorted(scores, key=lambda place: (-scores[place], self._ages[place])):
            changed = [change for change in self._changes(place) if not _is_test(change.new)]
            if len(changed) > config.max_files:
                continue
            segment, document = place
            share = (
                (scores[place] / top) ** 2 / sqrt(len(changed)) / (1 + self._ages[place] / config.half_life)
            )
            columns = self._store.folder.segments[segment]
            detail = f"{columns.texts('key')[document][:10]} {columns.texts('subject')[document]}"
            for change in changed:
                file = index.position.get(names.get(change.new, change.new))
                if file is not None:
                    found.add("history", file, share, detail, change.names)
            taken += 1
            if taken >= config.top:
                break
        return found

    def _scores(self, query: Mapping[str, int]) -> dict[tuple[int, int], float]:
        ages = self._ages
        segments = self._store.folder.segments if ages else []
        sizes = [segment.numbers("size") for segment in segments]
        mean = sum(sizes[segment][document] for segment, document in ages) / (len(ages) or 1) or 1.0
        k1, b = _SATURATION.k1, _SATURATION.b
        scores: dict[tuple[int, int], float] = {}
        for term, times in sorted(query.items()):
            having: list[tuple[tuple[int, int], float]] = []
            for number, segment in enumerate(segments):
                for posting in segment.postings(term):
                    place = (number, posting >> COMMIT_SHIFT)
                    if place in ages:
                        tf = (posting & 0xFFFF) + DIFF_WEIGHT * (posting >> DIFF_SHIFT & 0xFFFF)
                        having.append((place, tf))
            weight = idf(len(ages), len(having)) * (1 + log(times))
            for place, tf in having:
                size = sizes[place[0]][place[1]] / mean
                gained = weight * tf * (k1 + 1) / (tf + k1 * (1 - b + b * size))
                scores[place] = scores.get(place, 0.0) + gained
        return scores

    def _current_names(self, index: Index) -> dict[str, str]:
        """Today's name of files that were renamed since."""
        names: dict[str, str] = {}
        for place in self._ages:
            for change in self._changes(place):
                if change.old != change.new and change.old not in index.position:
                    names.setdefault(change.old, names.get(change.new, change.new))
        return names


def _is_test(path: str) -> bool:
    language = language_of(path)
    return language is None or language.is_test(path)
