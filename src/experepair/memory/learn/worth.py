"""Which past commits teach something, and what they say about it."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from pydantic import BaseModel, Field

from experepair.localize.languages import language_of
from experepair.localize.log import Logged

_BOT = re.compile(
    r"\[bot\]|\bbot@|[-_ ]bot\b|\b(?:dependabot|renovate|pyup|greenkeeper|github-actions|weblate)\b", re.I
)
_REVERT = re.compile(r"^(?:\[[^\]]*\] *)?(?:re)?(?:revert(?:ed|s|ing)?|back(?:ed)? ?out)\b", re.I)
_REVERTED = re.compile(r"\bThis reverts (?:commits? )?([0-9a-f]{7,64})\b")
_RELEASE = re.compile(
    r"^(?:\[[^\]]*\] *)?(?:(?:bump(?:ed|s|ing)?|update[ds]?|updating|set|increase[ds]?|increasing|advance[ds]?|advancing)\b.{0,40}"
    r"\b(?:versions?\b|to v?\d+\.)|(?:post[- ]?|pre[- ]?|prepar\w+ .{0,20})?(?:released?|releasing)\b.{0,20}\bv?\d+\.\d"
    r"|(?:version|v) ?\d+\.\d[\w.]*$|post-release|back to dev)",
    re.I,
)  # fmt: skip
_FIX = re.compile(
    r"\b(?:fix(?:e[sd]|ing)?|bugs?|resolve[sd]?|close[sd]?|crash\w*|regress\w*|correct(?:s|ed)?|prevent(?:s|ed)?"
    r"|repair(?:s|ed)?|handle[sd]?|wrong(?:ly)?|broken|fail(?:s|ed)?|failure)\b|#\d+",
    re.I,
)  # fmt: skip
_TRAILER = re.compile(
    r"^(?:git-svn-id: .*|(?:signed-off|co-authored|reported|reviewed|acked|tested|suggested|helped)-by: .*"
    r"|(?:change-id|differential revision|cc): .*|This reverts commits? [0-9a-f]+.*|\(cherry picked from commit .*\))$",
    re.I | re.M,
)  # fmt: skip
_MERGE_SUBJECT = re.compile(r"^Merge(?:d)? (?:pull request|branch|remote|in|commit|tag|bitbucket|#)\b.*")


class Mined(StrEnum):
    """What is taken out of a history."""

    ANY = "any"
    """Every commit on few source files: what retrieves best."""
    FIXES = "fixes"
    """Only those with tests, and a message that speaks of a fault."""


class MiningConfig(BaseModel, frozen=True, extra="forbid"):
    """Which commits become demonstrations, and how much of them."""

    mined: Mined = Mined.ANY
    most_files: int = Field(default=5, ge=1)
    """Source files that a commit may change; more, and it says little about any of them."""
    most_lines: int = Field(default=1000, ge=1)
    """Changed lines of source; more is no fix."""
    test_chars: int = Field(default=6000, ge=0)
    """Of the changed tests that go with it; later hunks are left out, 0 leaves out all."""
    message_chars: int = Field(default=4000, ge=1)
    """Of a message."""
    merges: bool = True
    """Whether a merge stands for its commits, where none of them holds both source and tests but together they do."""
    branch_commits: int = Field(default=20, ge=0)
    """Most commits that such a merge brings."""


@dataclass(frozen=True, slots=True)
class Worthy:
    """A commit that may teach something.

    Attributes:
        commit: as the log tells it.
        text: what it says, trailers left out.
    """

    commit: Logged
    text: str


def merged(parents: Mapping[str, Sequence[str]], head: str) -> dict[str, tuple[str, ...]]:
    """The commits that each merge on the main line (of first parents) brought, by merge.

    Args:
        parents: of every commit of the history.
        head: its newest one.
    """
    line = [head]
    while (before := parents.get(line[-1])) and before[0] in parents:
        line.append(before[0])
    taken = set(line)
    brought: dict[str, tuple[str, ...]] = {}
    for merge in reversed(line):
        stack, found = list(parents.get(merge, ())[1:]), []
        while stack:
            commit = stack.pop()
            if commit in taken or commit not in parents:
                continue
            taken.add(commit)
            found.append(commit)
            stack.extend(parents[commit])
        if found:
            brought[merge] = tuple(found)
    return brought


def choose(
    logged: Iterable[Logged], brought: Mapping[str, Collection[str]], config: MiningConfig
) -> list[Worthy]:
    """The commits worth learning from, in the order given.

    Left out are the first of a history, bots, reverts and what they reverted, releases, and whatever touches no source
    file or too many.

    Args:
        logged: with the names of changed files in git's raw form.
        brought: commits by the merge that brought them.
        config: which ones.
    """
    known = {each.id: each for each in logged}
    undone = {found[:12] for each in known.values() for found in _REVERTED.findall(each.message)}
    kept = {
        each.id: worthy
        for each in known.values()
        if each.id[:12] not in undone and (worthy := _worthy(each, known, brought, config))
    }
    parts = {part for merge in kept for part in brought.get(merge, ())}
    return [worthy for commit, worthy in kept.items() if commit not in parts]


def _worthy(
    commit: Logged, known: Mapping[str, Logged], brought: Mapping[str, Collection[str]], config: MiningConfig
) -> Worthy | None:
    if not commit.parents or _BOT.search(commit.author) or _REVERT.match(commit.subject):
        return None
    source, tests = _files(commit)
    if not 1 <= source <= config.most_files:
        return None
    text = said(commit.message)
    if len(commit.parents) > 1:
        parts = [known[part] for part in brought.get(commit.id, ()) if part in known]
        if not _stands_for(commit, parts, tests, brought, config):
            return None
        said_by_parts = [said(part.message) for part in reversed(parts) if len(part.parents) == 1]
        text = "\n\n".join(dict.fromkeys(filter(None, (text, *said_by_parts))))
    if not text or _RELEASE.match(text):
        return None
    if config.mined is Mined.FIXES and not (tests and _FIX.search(text)):
        return None
    return Worthy(commit, text[: config.message_chars].rstrip() + "\n")


def _stands_for(
    merge: Logged,
    parts: Sequence[Logged],
    tests: int,
    brought: Mapping[str, Collection[str]],
    config: MiningConfig,
) -> bool:
    """Whether source and tests of one fix are in different commits of the branch."""
    if not config.merges or len(merge.parents) != 2 or not tests:
        return False
    if len(brought.get(merge.id, ())) > config.branch_commits:
        return False
    single = [_files(part) for part in parts if len(part.parents) == 1]
    return not any(source and test for source, test in single)


def said(message: str) -> str:
    """What a message says: without trailers, addresses of commits, and the line that only says that it is a merge."""
    text = _TRAILER.sub("", message)
    text = _MERGE_SUBJECT.sub("", text, count=1)
    return re.sub(r"\n{3,}", "\n\n", text).strip()


def _files(commit: Logged) -> tuple[int, int]:
    """How many files of source and of tests it changes."""
    source = tests = 0
    for line in os.fsdecode(commit.difference).split("\n"):
        path = line.rpartition("\t")[2].strip('"')
        language = language_of(path)
        if language is not None and language.is_test(path):
            tests += 1
        elif language is not None:
            source += 1
    return source, tests
