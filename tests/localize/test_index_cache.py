"""The cache: only what changed is parsed again; damage, rivals and read-only folders do no harm."""

from __future__ import annotations

import subprocess
import sys
from array import array
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experepair.localize import GitSource, RankingConfig, rank
from experepair.localize.index.segment import Segment, SegmentDamaged, write_segment
from experepair.localize.index.view import Index
from repositories import git, make_repository

FILES = {f"pkg/m{number}.py": f"def function_{number}():\n    return {number}\n" for number in range(12)}


def segments(cache: Path) -> list[Path]:
    return sorted(cache.glob("*/*/*.segment"))


def best(root: Path, cache: Path, issue: str) -> str:
    return rank(issue, GitSource(root), config=RankingConfig(cache=cache)).files[0].path


def test_only_changed_files_are_indexed_again(tmp_path: Path) -> None:
    root, config = make_repository(tmp_path / "r", FILES), RankingConfig(cache=tmp_path / "cache")
    assert Index(GitSource(root), config).parsed == len(FILES)
    assert Index(GitSource(root), config).parsed == 0
    (root / "pkg/m3.py").write_text("def other_name():\n    return 0\n")
    git(root, "commit", "--quiet", "--all", "--message=change")
    assert Index(GitSource(root), config).parsed == 1
    assert best(root, tmp_path / "cache", "`other_name`") == "pkg/m3.py"


def test_units_of_older_commits_do_not_show(tmp_path: Path) -> None:
    root = make_repository(tmp_path / "r", FILES)
    best(root, tmp_path / "cache", "`function_3`")
    (root / "pkg/m3.py").write_text("def other_name():\n    return 0\n")
    git(root, "commit", "--quiet", "--all", "--message=change")
    ranking = rank("`function_3`", GitSource(root), config=RankingConfig(cache=tmp_path / "cache"))
    names = {function.span.name for file in ranking.files for function in file.functions}
    assert "function_3" not in names
    old = rank("`function_3`", GitSource(root, "HEAD~1"), config=RankingConfig(cache=tmp_path / "cache"))
    assert old.files[0].path == "pkg/m3.py"


def test_many_small_segments_are_merged_without_loss(tmp_path: Path) -> None:
    root, cache = make_repository(tmp_path / "r", FILES), tmp_path / "cache"
    for number in range(12):
        (root / "pkg/m0.py").write_text(f"def version_{number}():\n    return 'word{number}'\n")
        git(root, "commit", "--quiet", "--all", f"--message={number}")
        assert best(root, cache, f"`version_{number}`") == "pkg/m0.py"
    assert len(segments(cache)) <= 9
    fresh = rank("`function_7` word11", GitSource(root), config=RankingConfig(cache=tmp_path / "other"))
    kept = rank("`function_7` word11", GitSource(root), config=RankingConfig(cache=cache))
    assert kept == fresh


@pytest.mark.parametrize("damage", ["empty", "cut", "flipped", "nonsense"])
def test_a_damaged_segment_is_thrown_away_and_built_again(tmp_path: Path, damage: str) -> None:
    root, cache = make_repository(tmp_path / "r", FILES), tmp_path / "cache"
    expected = rank("`function_3`", GitSource(root), config=RankingConfig(cache=cache))
    (path,) = segments(cache)
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 255
    new = {"empty": b"", "cut": content[:-8], "flipped": content, "nonsense": b"\0" * 5000}[damage]
    path.unlink()
    path.write_bytes(bytes(new))
    assert rank("`function_3`", GitSource(root), config=RankingConfig(cache=cache)) == expected


def test_processes_that_index_at_once_agree(tmp_path: Path) -> None:
    root = make_repository(tmp_path / "r", FILES)
    program = (
        "import sys; from pathlib import Path; from experepair.localize import *\n"
        "print(rank('`function_3`', GitSource(Path(sys.argv[1])), config=RankingConfig(cache=Path(sys.argv[2]))))"
    )
    argv = [sys.executable, "-c", program, str(root), str(tmp_path / "cache")]
    running = [subprocess.Popen(argv, stdout=subprocess.PIPE) for _ in range(3)]
    outputs = {process.communicate()[0] for process in running}
    assert len(outputs) == 1
    assert b"pkg/m3.py" in outputs.pop()


def test_a_cache_that_cannot_be_made_is_only_noted(tmp_path: Path) -> None:
    root = make_repository(tmp_path / "r", FILES)
    (tmp_path / "cache").write_text("a file is in the way")
    ranking = rank("`function_3`", GitSource(root), config=RankingConfig(cache=tmp_path / "cache"))
    assert ranking.files[0].path == "pkg/m3.py"
    assert any("can't be written" in note for note in ranking.notes)


def test_worktrees_share_an_index(tmp_path: Path) -> None:
    root, config = make_repository(tmp_path / "r", FILES), RankingConfig(cache=tmp_path / "cache")
    Index(GitSource(root), config)
    git(root, "worktree", "add", "--quiet", str(tmp_path / "tree"))
    assert Index(GitSource(tmp_path / "tree"), config).parsed == 0


def test_a_private_copy_uses_the_index_of_its_repository(tmp_path: Path) -> None:
    root, config = make_repository(tmp_path / "r", FILES), RankingConfig(cache=tmp_path / "cache")
    Index(GitSource(root), config)
    git(tmp_path, "clone", "--quiet", str(root), "copy")
    assert Index(GitSource(tmp_path / "copy", shared_with=root), config).parsed == 0


@given(
    st.dictionaries(st.text(min_size=1), st.lists(st.integers(0, 2**64 - 1), min_size=1)),
    st.lists(st.text(st.characters(exclude_categories=()))),
)
def test_a_segment_gives_back_what_was_written(
    tmp_path_factory: pytest.TempPathFactory, postings: dict[str, list[int]], texts: list[str]
) -> None:
    texts = [text.encode("utf-8", "replace").decode() for text in texts]
    postings = {term.encode("utf-8", "replace").decode(): values for term, values in postings.items()}
    folder = tmp_path_factory.mktemp("segments")
    written = {term: array("Q", values) for term, values in postings.items()}
    path = write_segment(folder, {"n": array("I", range(len(texts)))}, {"key": texts}, written)
    segment = Segment(path)
    assert [segment.texts("key")[at] for at in range(len(texts))] == texts
    assert list(segment.numbers("n")) == list(range(len(texts)))
    assert {term: list(segment.postings(term)) for term in postings} == postings
    assert {term: list(values) for term, values in segment.all_postings()} == postings
    assert list(segment.postings("\0 is not there")) == []


@given(st.binary(max_size=400))
def test_any_other_content_is_damage(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    path = tmp_path_factory.mktemp("segments") / "x.segment"
    path.write_bytes(content)
    with pytest.raises(SegmentDamaged):
        Segment(path)
