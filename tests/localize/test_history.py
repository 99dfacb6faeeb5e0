"""Past commits as evidence: only ancestors, whatever the shape of the history."""

from __future__ import annotations

from pathlib import Path

import pytest

from experepair.domain.place import Ranking
from experepair.localize import GitSource, History, RankingConfig, rank
from experepair.localize.commits import read_commits
from experepair.workspace.git import Git
from repositories import git, make_repository

CODE = "def work():\n    return 0\n"
FILES = {f"pkg/{name}.py": CODE for name in ("alpha", "beta", "gamma")}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "r", FILES)


def commit(root: Path, path: str, message: str) -> str:
    with (root / path).open("a") as file:
        file.write(f"# line {message.count(' ')}\n")
    git(root, "add", "--all")
    git(root, "commit", "--quiet", f"--message={message}")
    return git(root, "rev-parse", "HEAD")


def ranked(root: Path, tmp_path: Path, issue: str, revision: str = "HEAD") -> Ranking:
    cache = tmp_path / "cache"
    history = History(root, revision, cache=cache)
    return rank(issue, GitSource(root, revision), history=history, config=RankingConfig(cache=cache))


def spoken_for(ranking: Ranking) -> dict[str, set[str]]:
    """Details of the history's evidence by file."""
    return {
        file.path: {each.detail for each in file.evidence if each.kind == "history"}
        for file in ranking.files
        if any(each.kind == "history" for each in file.evidence)
    }


def test_one_commit_is_no_history_even_if_it_speaks_of_the_issue(tmp_path: Path) -> None:
    root = make_repository(tmp_path / "r", FILES)
    subject = git(root, "log", "-1", "--format=%s")
    ranking = ranked(root, tmp_path, f"work fails: {subject}")
    assert "no history: there are no earlier commits" in ranking.notes
    assert spoken_for(ranking) == {}


def test_a_commit_like_the_issue_speaks_for_its_files(root: Path, tmp_path: Path) -> None:
    done = commit(root, "pkg/beta.py", "Fix the frobnicated umlauts")
    ranking = ranked(root, tmp_path, "Umlauts are frobnicated again")
    assert ranking.files[0].path == "pkg/beta.py"
    assert spoken_for(ranking) == {"pkg/beta.py": {f"{done[:10]} Fix the frobnicated umlauts"}}


def test_commits_after_the_commit_under_repair_are_not_read(root: Path, tmp_path: Path) -> None:
    before = git(root, "rev-parse", "HEAD")
    commit(root, "pkg/beta.py", "Fix the frobnicated umlauts")
    ranked(root, tmp_path, "Umlauts are frobnicated again")  # the cache knows the commit now
    assert spoken_for(ranked(root, tmp_path, "Umlauts are frobnicated again", before)) == {}


def test_commits_of_other_branches_are_not_read(root: Path, tmp_path: Path) -> None:
    git(root, "switch", "--quiet", "--create", "side")
    commit(root, "pkg/beta.py", "Fix the frobnicated umlauts")
    git(root, "switch", "--quiet", "main")
    assert spoken_for(ranked(root, tmp_path, "Umlauts are frobnicated again")) == {}


def test_what_a_merge_of_several_branches_brought_counts(root: Path, tmp_path: Path) -> None:
    for name in ("alpha", "beta", "gamma"):
        git(root, "switch", "--quiet", "--create", f"side-{name}", "main")
        commit(root, f"pkg/{name}.py", f"Fix the {name}brand umlauts")
    git(root, "switch", "--quiet", "main")
    git(root, "merge", "--quiet", "--message=octopus", "side-alpha", "side-beta", "side-gamma")
    assert set(spoken_for(ranked(root, tmp_path, "alphabrand betabrand gammabrand"))) == set(FILES)


def test_a_renamed_file_keeps_its_history(root: Path, tmp_path: Path) -> None:
    commit(root, "pkg/beta.py", "Fix the frobnicated umlauts")
    for old, new in (("pkg/beta.py", "pkg/middle.py"), ("pkg/middle.py", "pkg/late.py")):
        git(root, "mv", old, new)
        git(root, "commit", "--quiet", "--message=Move it")
    ranking = ranked(root, tmp_path, "Umlauts are frobnicated again")
    assert "pkg/late.py" in spoken_for(ranking)


def test_a_shallow_clone_does_without_what_it_lacks_and_says_so(root: Path, tmp_path: Path) -> None:
    commit(root, "pkg/beta.py", "Fix the frobnicated umlauts")
    commit(root, "pkg/gamma.py", "Mend the splines")
    commit(root, "pkg/alpha.py", "Mend the splines too")
    git(tmp_path, "clone", "--quiet", "--depth=2", f"file://{root}", "shallow")
    ranking = ranked(tmp_path / "shallow", tmp_path, "umlauts frobnicated, splines")
    assert set(spoken_for(ranking)) == {"pkg/alpha.py"}
    assert any("shallow" in note for note in ranking.notes)


def test_a_repository_without_history_says_so(root: Path, tmp_path: Path) -> None:
    ranking = ranked(root, tmp_path, "`work` fails")
    assert len(ranking.files) == len(FILES)
    assert any("no history" in note for note in ranking.notes)


def test_only_new_commits_are_read(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = commit(root, "pkg/beta.py", "Fix the frobnicated umlauts")
    ranked(root, tmp_path, "umlauts")
    second = commit(root, "pkg/alpha.py", "Fix more umlauts")
    asked: list[str] = []

    def noted(git: Git, commits: list[str]) -> object:
        asked.extend(commits)
        return read_commits(git, commits)

    monkeypatch.setattr("experepair.localize.commits.read_commits", noted)
    found = spoken_for(ranked(root, tmp_path, "umlauts"))
    assert asked == [second]
    assert {detail[:10] for details in found.values() for detail in details} == {first[:10], second[:10]}


def test_a_commit_speaks_for_the_function_that_it_changed(tmp_path: Path) -> None:
    body = "\n".join(f"def f{number}():\n    a = {number}\n    return a\n" for number in range(9))
    root = make_repository(tmp_path / "r", {"pkg/many.py": body})
    (root / "pkg/many.py").write_text(body.replace("a = 7", "a = 77"))
    git(root, "commit", "--quiet", "--all", "--message=Fix the frobnicated umlauts")
    functions = ranked(root, tmp_path, "Umlauts are frobnicated").files[0].functions
    assert functions[0].span.name == "f7"


def test_a_message_cannot_pass_for_another_commit(root: Path) -> None:
    forged = f"Innocent\n\n{'0' * 40}\ndiff --git a/x.py b/x.py\n--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@ def x\n"
    done = commit(root, "pkg/beta.py", forged)
    (read,) = read_commits(Git(root), [done])
    assert (read.id, [change.new for change in read.changes]) == (done, ["pkg/beta.py"])


def test_a_partial_clone_without_contents_is_ranked_by_what_is_there(root: Path, tmp_path: Path) -> None:
    commit(root, "pkg/beta.py", "Fix the frobnicated umlauts")
    git(root, "config", "uploadpack.allowFilter", "true")
    git(tmp_path, "clone", "--quiet", "--filter=blob:none", "--bare", f"file://{root}", "partial")
    ranking = ranked(tmp_path / "partial", tmp_path, "umlauts in pkg/beta.py")
    assert any("could not be read" in note for note in ranking.notes), ranking.notes
    assert any("no history" in note for note in ranking.notes)
