from __future__ import annotations

import os
from pathlib import Path

import pytest

from experepair.errors import UsageError
from experepair.workspace.git import Git
from experepair.workspace.repository import Repository, normalized_remote
from repositories import git, make_repository


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "user repo", {"a.py": "x = 1\n"})


def test_a_folder_without_a_repository_is_refused_with_the_way_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"not a git repository.*git init"):
        Repository.open(tmp_path)


def test_a_missing_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not a folder"):
        Repository.open(tmp_path / "nowhere")


def test_a_missing_git_is_reported_with_the_remedy(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(repo))
    with pytest.raises(UsageError, match="git is not installed"):
        Repository.open(repo)


def test_a_folder_below_the_top_opens_the_whole_repository(repo: Path) -> None:
    (repo / "inner").mkdir()
    assert Repository.open(repo / "inner").root == repo


def test_a_bare_repository_and_a_linked_work_tree_open_and_resolve_alike(repo: Path, tmp_path: Path) -> None:
    git(repo, "clone", "--quiet", "--bare", ".", str(tmp_path / "bare.git"))
    git(repo, "worktree", "add", "--quiet", "--detach", str(tmp_path / "linked"))
    plain, bare, linked = (
        Repository.open(path) for path in (repo, tmp_path / "bare.git", tmp_path / "linked")
    )
    assert plain.resolve("HEAD") == bare.resolve("main") == linked.resolve("HEAD")
    assert (plain.bare, bare.bare, linked.bare) == (False, True, False)
    assert linked.scope == plain.scope != bare.scope
    assert plain.scope.startswith("local:")
    assert str(repo) not in plain.scope


@pytest.mark.parametrize("rev", ["nothing", "", "--help", "HEAD^{tree}", "main\n", "-", "\0"])
def test_an_unknown_revision_is_refused_by_name(repo: Path, rev: str) -> None:
    with pytest.raises(UsageError, match="no commit"):
        Repository.open(repo).resolve(rev)


def test_a_repository_without_commits_is_refused_with_what_to_do(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet")
    with pytest.raises(UsageError, match=r"no commit yet.*git commit"):
        Repository.open(tmp_path).resolve("HEAD")


def test_tracked_changes_are_dirty_and_untracked_files_are_not(repo: Path) -> None:
    (repo / "new.py").write_text("")
    opened = Repository.open(repo)
    assert not opened.is_dirty()
    assert opened.untracked() == ("new.py",)
    (repo / "a.py").write_text("x = 2\n")
    assert opened.is_dirty()
    git(repo, "add", "a.py")
    assert opened.is_dirty()


def test_what_the_user_ignores_everywhere_is_not_untracked(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "git").mkdir()
    (tmp_path / "git" / "ignore").write_text("*.swp\n")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    (repo / "a.py.swp").write_text("")
    (repo / "secret").write_text("")
    assert Repository.open(repo).untracked() == ("secret",)


def test_a_hostile_repository_runs_nothing_when_it_is_looked_at(repo: Path, tmp_path: Path) -> None:
    trap = tmp_path / "trap.sh"
    trap.write_text(f"#!/bin/sh\ntouch {str(tmp_path)!r}/sprung\ncat\n")
    trap.chmod(0o755)
    (repo / ".gitattributes").write_text("*.py filter=evil diff=evil\n")
    for hook in ("post-checkout", "post-index-change", "reference-transaction"):
        (repo / ".git" / "hooks" / hook).parent.mkdir(exist_ok=True)
        (repo / ".git" / "hooks" / hook).symlink_to(trap)
    for key in (
        "core.fsmonitor",
        "filter.evil.clean",
        "filter.evil.smudge",
        "diff.evil.textconv",
        "core.pager",
    ):
        git(repo, "config", key, str(trap))
    git(repo, "config", "filter.evil.required", "true")
    (repo / "a.py").write_text("x = 3\n")
    opened = Repository.open(repo)
    assert opened.is_dirty()
    opened.git.run("diff-files", "-p", "--no-ext-diff", "--no-textconv")
    assert not (tmp_path / "sprung").exists()


def test_variables_of_the_caller_do_not_steer_git(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_DIR", "/nonexistent")
    monkeypatch.setenv("GIT_INDEX_FILE", "/nonexistent")
    monkeypatch.setenv("GIT_CONFIG_COUNT", "x")
    assert Git(repo).line("rev-parse", "--show-toplevel") == str(repo)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_a_repository_of_another_user_can_be_read(repo: Path) -> None:
    for path in (repo, *repo.rglob("*")):
        os.chown(path, 12345, 12345)
    assert len(Repository.open(repo).resolve("HEAD")) == 40


@pytest.mark.parametrize(
    ("url", "scope"),
    [
        ("https://github.com/Owner/Name.git", "github.com/owner/name"),
        ("https://user:token@github.com/owner/name", "github.com/owner/name"),
        ("git@github.com:owner/name.git", "github.com/owner/name"),
        ("ssh://git@GitHub.com:22/owner/name/", "github.com/owner/name"),
        ("ssh://git@example.org:2222/a/B.git", "example.org:2222/a/B"),
        ("https://example.org/a/b?token=secret#x", "example.org/a/b"),
        ("git://example.org/a/b", "example.org/a/b"),
        ("host:/srv/a.git", "host/srv/a"),
        ("/srv/a.git", None),
        ("../a.git", None),
        ("file:///srv/a.git", None),
        ("https://example.org", None),
        ("https://[bad/a/b", None),
        ("https://example.org:port/a/b", None),
        ("", None),
        ("git@host:a\nb", None),
    ],
)
def test_a_remote_becomes_a_scope_without_credentials(url: str, scope: str | None) -> None:
    assert normalized_remote(url) == scope


def test_the_scope_is_the_origin_before_other_remotes(repo: Path) -> None:
    git(repo, "remote", "add", "fork", "https://example.org/me/fork")
    assert Repository.open(repo).scope == "example.org/me/fork"
    git(repo, "remote", "add", "origin", "https://bob:pw@example.org/them/name")
    assert Repository.open(repo).scope == "example.org/them/name"
