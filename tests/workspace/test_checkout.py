from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from experepair.errors import OutputError, UsageError
from experepair.workspace.checkout import Checkout, Repository, checkout
from repositories import git, make_repository


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    """Three commits, the last two of them after the one that is to be repaired."""
    folder = tmp_path / "user"
    folder.mkdir()
    git(folder, "init", "--quiet", "--initial-branch=main")
    (folder / "pkg").mkdir()
    (folder / "pkg" / "a.py").write_bytes(b"x = 1\r\n\tif x:\r\n")
    (folder / "run.sh").write_text("#!/bin/sh\n")
    (folder / "run.sh").chmod(0o755)
    (folder / "link").symlink_to("pkg/a.py")
    (folder / ".gitignore").write_text("ignored/\n")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message=the one")
    git(folder, "tag", "v1")
    (folder / "pkg" / "a.py").write_text("secret_fix = 1\n")
    git(folder, "commit", "--quiet", "--all", "--message=the fix")
    git(folder, "remote", "add", "origin", "https://example.org/o/n")
    return folder


def make(repo: Path, cache: Path, rev: str = "HEAD", *, include_dirty: bool = False) -> Checkout:
    opened = Repository.open(repo)
    return checkout(opened, opened.resolve(rev), cache, include_dirty)


def test_a_checkout_holds_the_files_of_its_commit(repo: Path, tmp_path: Path) -> None:
    made = make(repo, tmp_path / "cache", "HEAD~1")
    assert made.files() == (".gitignore", "pkg/a.py", "run.sh")
    assert made.read("pkg/a.py") == b"x = 1\r\n\tif x:\r\n"
    assert (
        made.read("link") is made.read("pkg") is made.read("missing") is made.read("../user/pkg/a.py") is None
    )
    assert made.is_executable("run.sh")
    assert not made.is_executable("pkg/a.py")
    assert os.access(made.root / "run.sh", os.X_OK)
    assert made.notes == ()


def test_a_checkout_shows_its_commit_and_nothing_of_any_other(repo: Path, tmp_path: Path) -> None:
    fix = git(repo, "rev-parse", "HEAD")
    made = make(repo, tmp_path / "cache", "HEAD~1")
    assert git(made.root, "rev-parse", "HEAD") == made.commit == git(repo, "rev-parse", "HEAD~1")
    assert git(made.root, "log", "-1", "--format=%s %ct") == "the one 1704164645"
    assert git(made.root, "rev-list", "--all", "--count", "HEAD") == "1"
    assert git(made.root, "status", "--porcelain", "--ignored") == ""
    assert git(made.root, "describe", "--always") == made.commit[:7]
    assert git(made.root, "for-each-ref") == git(made.root, "remote") == ""
    assert not (made.root / ".git" / "logs").exists()
    assert not (made.root / ".git" / "hooks").exists()
    assert not (made.root / ".git" / "objects" / "info" / "alternates").exists()
    gone = subprocess.run(["git", "cat-file", "-e", fix], cwd=made.root, capture_output=True, check=False)
    assert gone.returncode != 0
    git_files = [path.read_bytes() for path in (made.root / ".git").rglob("*") if path.is_file()]
    assert not any(str(repo).encode() in content or fix.encode() in content for content in git_files)


def test_a_checkout_is_made_once(repo: Path, tmp_path: Path) -> None:
    first = make(repo, tmp_path / "cache")
    stamp = (first.root / ".git" / "HEAD").stat().st_mtime_ns
    again = make(repo, tmp_path / "cache")
    assert again.root == first.root
    assert (again.root / ".git" / "HEAD").stat().st_mtime_ns == stamp


@pytest.mark.parametrize("damage", ["changed", "removed", "added", "no marker", "no head", "no index"])
def test_a_damaged_checkout_is_made_again(repo: Path, tmp_path: Path, damage: str) -> None:
    made = make(repo, tmp_path / "cache")
    match damage:
        case "changed":
            (made.root / "pkg" / "a.py").write_text("other content\n")
        case "removed":
            (made.root / "pkg" / "a.py").unlink()
        case "added":
            (made.root / "ignored").mkdir()
            (made.root / "ignored" / "x.pyc").write_text("")
        case "no marker":
            (made.root / ".git" / "experepair.json").unlink()
        case "no head":
            (made.root / ".git" / "HEAD").write_text("nonsense")
        case "no index":
            (made.root / ".git" / "index").unlink()
    again = make(repo, tmp_path / "cache")
    assert again.read("pkg/a.py") == b"secret_fix = 1\n"
    assert git(again.root, "status", "--porcelain", "--ignored") == ""
    assert sorted(path.name for path in again.root.parent.iterdir()) == [again.commit, f"{again.commit}.lock"]


def test_what_a_killed_process_left_is_cleared_away(repo: Path, tmp_path: Path) -> None:
    made = make(repo, tmp_path / "cache")
    stale = made.root.with_name(f"{made.commit}.new-abc")
    made.root.rename(stale)
    make(repo, tmp_path / "cache")
    assert not stale.exists()


def test_two_processes_at_once_get_the_same_whole_checkout(repo: Path, tmp_path: Path) -> None:
    code = (
        "import sys, pathlib as p; from experepair.workspace.checkout import *; r = Repository.open(p.Path(sys.argv[1]));"
        "c = checkout(r, r.resolve('HEAD'), p.Path(sys.argv[2])); assert c.read('pkg/a.py'); sys.stdout.write(str(c.root))"
    )
    command = [sys.executable, "-c", code, str(repo), str(tmp_path / "cache")]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    roots = {process.communicate()[0] for process in running}
    assert [process.returncode for process in running] == [0, 0, 0]
    assert len(roots) == 1
    assert Path(roots.pop()).is_dir()


def test_the_users_repository_is_left_as_it_was(repo: Path, tmp_path: Path) -> None:
    (repo / "pkg" / "a.py").write_text("changed = 1\n")
    (repo / "new.py").write_text("new = 1\n")
    before = {path: path.read_bytes() for path in repo.rglob("*") if path.is_file()}
    index_time = (repo / ".git" / "index").stat().st_mtime_ns
    make(repo, tmp_path / "cache")
    make(repo, tmp_path / "cache", include_dirty=True)
    assert {path: path.read_bytes() for path in repo.rglob("*") if path.is_file()} == before
    assert (repo / ".git" / "index").stat().st_mtime_ns == index_time


def test_uncommitted_changes_are_part_of_the_checkout_only_on_request(repo: Path, tmp_path: Path) -> None:
    (repo / "pkg" / "a.py").write_text("changed = 1\n")
    (repo / "run.sh").unlink()
    (repo / "new.py").write_text("new = 1\n")
    (repo / "staged.py").write_text("staged = 1\n")
    git(repo, "add", "staged.py")
    (repo / "ignored").mkdir()
    (repo / "ignored" / "x").write_text("")
    clean, dirty = make(repo, tmp_path / "cache"), make(repo, tmp_path / "cache", include_dirty=True)
    assert clean.files() == (".gitignore", "pkg/a.py", "run.sh")
    assert dirty.files() == (".gitignore", "new.py", "pkg/a.py", "staged.py")
    assert dirty.read("pkg/a.py") == b"changed = 1\n"
    assert dirty.root != clean.root
    assert dirty.commit == clean.commit
    assert make(repo, tmp_path / "cache", include_dirty=True).root == dirty.root
    (repo / "new.py").write_text("new = 2\n")
    assert make(repo, tmp_path / "cache", include_dirty=True).read("new.py") == b"new = 2\n"


def test_a_clean_tree_with_include_dirty_is_the_commit_itself(repo: Path, tmp_path: Path) -> None:
    assert make(repo, tmp_path / "c", include_dirty=True).root == make(repo, tmp_path / "c").root


def test_uncommitted_changes_are_refused_for_another_commit_than_head(repo: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="belong to HEAD"):
        make(repo, tmp_path / "cache", "HEAD~1", include_dirty=True)


def test_submodules_pointers_and_odd_names_are_noted(repo: Path, tmp_path: Path) -> None:
    git(repo, "submodule", "--quiet", "add", str(repo), "sub")
    (repo / "big.bin").write_text("version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n")
    (repo / os.fsdecode(b"n\xe9.py")).write_text("")
    (repo / "né.py").write_text("")
    git(repo, "add", "--all")
    git(repo, "commit", "--quiet", "--message=odd")
    made = make(repo, tmp_path / "cache")
    assert made.notes == (
        "submodules are left empty: 'sub'",
        "files kept in LFS are left as pointers: 'big.bin'",
        r"files with names that aren't UTF-8 are left alone: 'n\udce9.py'",
    )
    assert "né.py" in made.files()
    assert not any("\udce9" in path for path in made.files())


def test_a_sha256_repository_can_be_checked_out(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet", "--object-format=sha256", "r")
    repo = make_repository(tmp_path / "r", {"a.py": "x = 1\n"})
    assert make(repo, tmp_path / "cache").read("a.py") == b"x = 1\n"


def test_a_cache_that_cannot_be_written_is_named(repo: Path, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file is in the way")
    with pytest.raises(OutputError, match="cache"):
        make(repo, tmp_path / "cache")


def test_a_filter_of_the_repository_does_not_run_on_checkout(repo: Path, tmp_path: Path) -> None:
    (repo / ".gitattributes").write_text("*.py filter=evil\n")
    git(repo, "add", "--all")
    git(repo, "commit", "--quiet", "--message=attributes")
    for key in ("smudge", "clean", "process"):
        git(repo, "config", f"filter.evil.{key}", f"touch {tmp_path}/sprung")
    (repo / "new.py").write_text("x = 1\n")
    assert make(repo, tmp_path / "cache", include_dirty=True).read("new.py") == b"x = 1\n"
    assert not (tmp_path / "sprung").exists()
