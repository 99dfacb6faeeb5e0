"""Everything that tunes the ranking."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel


class Weights(BaseModel, frozen=True, extra="forbid"):
    """What each signal counts; each is scaled to 0..1 over the files first. Zero leaves a signal out."""

    code: float = 1.0
    """The whole issue against text, path, names and docstrings of a file (BM25F)."""
    title: float = 0.5
    """The issue's title against the same."""
    mention: float = 0.8
    """Paths, traceback frames, modules and identifiers that the issue names."""
    history: float = 0.5
    """Past commits that speak of the same as the issue."""
    history_title: float = 0.8
    """Past commits that speak of the same as its title."""
    best: float = 0.5
    """The best function of a file for the whole issue."""
    best_title: float = 0.6
    """The best function of a file for the title."""
    phrase: float = 0.4
    """Sequences of words that the issue shares with the file: messages, quoted code."""
    literal: float = 0.5
    """String literals of the file that the issue has: messages, values filled in or not."""
    repairs: float = 0.5
    """Past repairs that memory recalls."""
    executed: float = 2.0
    """What the failing run executed, more so what passing runs don't."""


class FunctionWeights(BaseModel, frozen=True, extra="forbid"):
    """What each signal counts for a function, within the best files; scaled like those of files."""

    file: float = 0.7
    """The score of its file."""
    code: float = 0.5
    """The whole issue against its text and qualified name."""
    title: float = 0.5
    """The issue's title against the same."""
    mention: float = 0.3
    """Names and traceback frames in the issue."""
    history: float = 0.4
    """Past commits like the issue that changed it."""
    history_title: float = 0.2
    """Past commits like its title that changed it."""
    literal: float = 0.4
    """String literals in it that the issue has."""
    length: float = 0.5
    """Its number of lines: longer functions are changed more often."""
    executed: float = 1.0
    """Whether the failing run executed it, more so if passing runs don't."""


class RankingConfig(BaseModel, frozen=True, extra="forbid"):
    """Settings of the ranking."""

    weights: Weights = Weights()
    function_weights: FunctionWeights = FunctionWeights()
    phrase_files: int = 60
    """Files that are read again for phrases and literals: the best by all other signals."""
    top_files: int = 50
    """Files in a ranking; 0 means all."""
    function_files: int = 20
    """Functions are ranked within this many best files."""
    top_functions: int = 100
    """Functions that are kept, over all files."""
    include_tests: bool = False
    """Whether test files are ranked like others."""
    max_issue_characters: int = 100_000
    """What follows in a longer issue isn't read; 0 means no limit."""
    max_query_terms: int = 600
    """Terms of the issue that are searched for, the rarest in the code first."""
    max_file_bytes: int = 16 << 20
    """Larger files are known by their paths only; 0 means no limit."""
    cache: Path | None = None
    """Folder of the cache; None means the user's own."""


class HistoryConfig(BaseModel, frozen=True, extra="forbid"):
    """How past commits are read and weighed."""

    commits: int = 5000
    """Newest ancestors that touch source files; at most twice as many are looked at."""
    top: int = 50
    """Most similar commits that speak."""
    max_files: int = 10
    """Commits that touch more source files don't speak."""
    half_life: float = 2000.0
    """After this many newer commits a commit counts half."""
