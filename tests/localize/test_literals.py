"""Messages of the issue, found in the source with and without the values that were filled in."""

from __future__ import annotations

from pathlib import Path

import pytest

from experepair.domain.place import Ranking
from experepair.localize import GitSource, RankingConfig, rank
from experepair.localize.phrases import phrases_of
from repositories import make_repository

FILES = {
    "a/first.py": "def check(value):\n    if not value:\n        raise ValueError('Expected %s of the column, got %r' % (1, 2))\n",
    "b/second.py": "def tell(value):\n    return f'the column {value!r} is not of the expected kind'\n",
    "c/third.py": 'def expected_column(column):\n    """The column that was expected, got by its value."""\n    return column\n',
}


def ranked(tmp_path: Path, issue: str) -> Ranking:
    root = make_repository(tmp_path / "r", FILES)
    return rank(issue, GitSource(root), config=RankingConfig(cache=tmp_path / "cache"))


@pytest.mark.parametrize(
    ("issue", "path", "text"),
    [
        ("It says: Expected 3 of the column, got 'x'", "a/first.py", "“of the column, got”"),
        ("error: the column 'x' is not of the expected kind", "b/second.py", "“is not of the expected kind”"),
    ],
)
def test_a_message_with_values_speaks_for_where_it_is_written(
    tmp_path: Path, issue: str, path: str, text: str
) -> None:
    told = {
        file.path: file
        for file in ranked(tmp_path, issue).files
        if "literal" in {one.kind for one in file.evidence}
    }
    assert told.keys() == {path}
    assert ("literal", text) in {(one.kind, one.detail) for one in told[path].evidence}
    best = told[path].functions[0]
    assert ("literal", text) in {(one.kind, one.detail) for one in best.evidence}


def test_a_message_of_which_a_part_is_missing_says_nothing(tmp_path: Path) -> None:
    ranking = ranked(tmp_path, "Got an error of the column type")
    assert "literal" not in {one.kind for file in ranking.files for one in file.evidence}


def test_words_that_every_text_has_are_no_phrase() -> None:
    assert phrases_of("with or without it") == set()
    assert ("the", "frobnicated", "thing") in phrases_of("the frobnicated thing")


def test_the_first_line_of_a_traceback_speaks_for_no_file(tmp_path: Path) -> None:
    source = "HEAD = 'Traceback (most recent call last)'\n\n\ndef head():\n    return HEAD\n"
    root = make_repository(tmp_path / "r", {**FILES, "d/traces.py": source})
    issue = "It fails\n\nTraceback (most recent call last):\n  ...\nKeyError: None\n"
    ranking = rank(issue, GitSource(root), config=RankingConfig(cache=tmp_path / "cache"))
    evidence = {one.kind for file in ranking.files if file.path == "d/traces.py" for one in file.evidence}
    assert not evidence & {"literal", "phrase"}
