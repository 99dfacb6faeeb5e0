from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experepair.domain.memory import Origin
from experepair.errors import UsageError
from experepair.memory.eligibility import Ancestors, Bounds, Shingles, near_duplicates
from listed_store import demonstration
from repositories import git

MAY, JULY = datetime(2020, 5, 1, tzinfo=UTC), datetime(2020, 7, 1, tzinfo=UTC)


@pytest.fixture
def history(tmp_path: Path) -> tuple[Path, list[str]]:
    """Three commits in a row, and one beside the last."""
    git(tmp_path, "init", "-q", "-b", "main")
    commits = []
    for number in range(3):
        git(tmp_path, "commit", "-q", "--allow-empty", "-m", f"number {number}")
        commits.append(git(tmp_path, "rev-parse", "HEAD"))
    git(tmp_path, "checkout", "-q", "-b", "side", commits[1])
    git(tmp_path, "commit", "-q", "--allow-empty", "-m", "beside")
    commits.append(git(tmp_path, "rev-parse", "HEAD"))
    return tmp_path, commits


def test_ancestors_are_the_commit_itself_and_what_is_before_it(history: tuple[Path, list[str]]) -> None:
    repository, (first, second, third, beside) = history
    ancestors = Ancestors(repository, second)
    assert [ancestors(commit) for commit in (first, second, third, beside)] == [True, True, False, False]


@pytest.mark.parametrize(
    "name", ["", "HEAD", "f" * 40, "0" * 40, "not a commit at all, though long enough to be one"]
)
def test_what_is_no_commit_of_the_history_is_no_ancestor(history: tuple[Path, list[str]], name: str) -> None:
    assert not Ancestors(history[0], history[1][2])(name)


def test_git_is_asked_once(history: tuple[Path, list[str]], monkeypatch: pytest.MonkeyPatch) -> None:
    ancestors = Ancestors(history[0], history[1][1])
    assert ancestors(history[1][0])
    monkeypatch.setenv("PATH", "")
    assert ancestors(history[1][1])


def test_an_unknown_commit_under_repair_is_said(history: tuple[Path, list[str]]) -> None:
    with pytest.raises(UsageError):
        Ancestors(history[0], "nowhere")("f" * 40)


@pytest.mark.parametrize(
    ("bounds", "origin", "created_at", "expected"),
    [
        (Bounds(), Origin.VALIDATED, MAY, ""),
        (Bounds(), Origin.HUMAN, None, ""),
        (Bounds(), Origin.MINED, MAY, "not an ancestor"),
        (Bounds(ancestors=lambda commit: True), Origin.MINED, JULY, ""),
        (Bounds(before=JULY), Origin.VALIDATED, MAY, ""),
        (Bounds(before=JULY), Origin.VALIDATED, JULY, "not earlier"),
        (Bounds(before=JULY), Origin.HUMAN, None, "not earlier"),
        (Bounds(issue_id="this"), Origin.VALIDATED, MAY, "same issue"),
    ],
)
def test_what_may_be_seen(bounds: Bounds, origin: Origin, created_at: datetime | None, expected: str) -> None:
    assert bounds.refusal("this", origin, "a" * 40, created_at) == expected


texts = st.text(alphabet="ab \n", max_size=60)


@given(texts, texts)
def test_similarity_is_symmetric_and_between_none_and_all(one: str, other: str) -> None:
    found = Shingles(one).similarity(other)
    assert 0 <= found <= 1
    assert found == Shingles(other).similarity(one)


@given(texts.filter(str.strip))
def test_a_text_is_the_same_as_itself_whatever_its_case_and_spaces(text: str) -> None:
    assert Shingles(text).similarity(f"  {text.upper()}\n\n") == 1


def test_nothing_is_like_an_empty_text() -> None:
    assert Shingles("").similarity("") == 0
    assert Shingles("").similarity("some words here") == 0


def test_near_duplicates_are_named_with_what_fixed_them() -> None:
    issue = "Calling union() on two empty slices of a QuerySet crashes with an IndexError"
    known = (
        demonstration("other", "The pond of the garden is frozen"),
        demonstration("run", issue + " in the compiler"),
        demonstration("mined", issue, origin=Origin.MINED, commit="abcdef1234567890" * 3),
        demonstration("hand", issue + " today", origin=Origin.HUMAN),
    )
    found = near_duplicates(issue, known, 0.5)
    assert [each.demonstration.id for each in found] == ["mined", "hand", "run"]
    assert [str(each) for each in found] == [
        "similar to issue-mined (100% of the wording), fixed by abcdef1234",
        "similar to issue-hand (92% of the wording), fixed by a person's patch",
        "similar to issue-run (79% of the wording), fixed by run-run",
    ]
