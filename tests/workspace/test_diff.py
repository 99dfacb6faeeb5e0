from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from experepair.domain.edit import Edit, Unparsed
from experepair.errors import UsageError
from experepair.workspace.checkout import Checkout, Repository, checkout
from experepair.workspace.diff import apply_to_worktree, changes_of_patch, diff
from experepair.workspace.edits import Applied, apply_edits
from experepair.workspace.text import lines_of
from repositories import git, make_repository

FILES: dict[str, str | bytes] = {
    "pkg/a.py": "def f():\n    return 1\n",
    "dos.py": b"a = 1\r\nb = 2\r\n",
    "latin.py": b"# coding: latin-1\nx = '\xe9'\ny = 1\n",
    "bare.txt": b"no end",
    "bin": b"\0\1\2\n",
    'dir name/\xe9 "q".py': "x = 1\n",
}


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "repo", FILES)


@pytest.fixture
def tree(repo: Path, tmp_path: Path) -> Checkout:
    opened = Repository.open(repo)
    return checkout(opened, opened.resolve("HEAD"), tmp_path / "cache")


def test_a_diff_names_what_it_changes_and_is_the_same_every_time(tree: Checkout) -> None:
    changes = {"pkg/a.py": b"def f():\n    return 2\n"}
    made = diff(tree, changes)
    assert made == diff(tree, changes)
    assert made.startswith("diff --git a/pkg/a.py b/pkg/a.py\nindex ")
    assert "\n@@ -1,2 +1,2 @@\n def f():\n-    return 1\n+    return 2\n" in made


def test_no_changes_make_an_empty_diff(tree: Checkout) -> None:
    assert diff(tree, {}) == ""
    assert diff(tree, {"bare.txt": b"no end"}) == ""


@pytest.mark.parametrize(
    "changes",
    [
        {"dos.py": b"a = 1\r\nb = 3\r\n", "bare.txt": b"still no end", "new/deep/x.py": b"x = 1\n"},
        {"latin.py": b"# coding: latin-1\nx = '\xfc'\ny = 1\n", "bin": b"\0\1\3\n"},
        {"pkg/a.py": None, "bin": None, "empty.py": b""},
        {'dir name/\xe9 "q".py': b"x = 2\n", "bare.txt": b""},
        {"bare.txt": b"no end\n", "dos.py": b"a = 1\nb = 2\n"},
    ],
    ids=["text", "binary", "removed", "quoted", "line ends"],
)
def test_a_diff_applies_by_git_and_is_read_back(
    repo: Path, tree: Checkout, changes: dict[str, bytes | None]
) -> None:
    made = diff(tree, changes)
    assert changes_of_patch(tree, made) == changes
    git(repo, "apply", "--index", "-", stdin=made.encode())
    for path in {*FILES, *changes}:
        file = repo / path
        before = FILES.get(path)
        old = before.encode() if isinstance(before, str) else before
        assert (file.read_bytes() if file.exists() else None) == changes.get(path, old)


def test_making_a_diff_leaves_no_trace_in_the_checkout(tree: Checkout) -> None:
    before = {path: path.read_bytes() for path in tree.root.rglob("*") if path.is_file()}
    diff(tree, {"pkg/a.py": b"other\n", "new.py": b"new\n", "bin": None})
    assert {path: path.read_bytes() for path in tree.root.rglob("*") if path.is_file()} == before


def test_the_executable_bit_of_a_changed_file_stays(repo: Path, tmp_path: Path) -> None:
    (repo / "bare.txt").chmod(0o755)
    git(repo, "commit", "--quiet", "--all", "--message=bit")
    opened = Repository.open(repo)
    tree = checkout(opened, opened.resolve("HEAD"), tmp_path / "cache")
    assert "mode" not in diff(tree, {"bare.txt": b"changed\n"})


def test_line_ends_that_git_converts_on_checkout_are_converted_back(repo: Path, tmp_path: Path) -> None:
    (repo / ".gitattributes").write_text("*.bat text eol=crlf\n")
    (repo / "run.bat").write_bytes(b"one\r\ntwo\r\n")
    git(repo, "add", "--all")
    git(repo, "commit", "--quiet", "--message=bat")
    opened = Repository.open(repo)
    tree = checkout(opened, opened.resolve("HEAD"), tmp_path / "cache")
    assert tree.read("run.bat") == b"one\r\ntwo\r\n"
    changes = {"run.bat": b"one\r\n2\r\n"}
    made = diff(tree, changes)
    assert "-two\n+2\n" in made
    assert changes_of_patch(tree, made) == changes
    assert apply_to_worktree(opened, made) == ("run.bat",)
    assert (repo / "run.bat").read_bytes() == b"one\r\n2\r\n"


LINK = """diff --git a/l b/l
new file mode 120000
index 0000000..1269488
--- /dev/null
+++ b/l
@@ -0,0 +1 @@
+data
\\ No newline at end of file
"""
SUBMODULE = """diff --git a/s b/s
new file mode 160000
index 0000000..0123456789012345678901234567890123456789
--- /dev/null
+++ b/s
@@ -0,0 +1 @@
+Subproject commit 0123456789012345678901234567890123456789
"""
NEW = "diff --git a/{0} b/{0}\nnew file mode 100644\n--- /dev/null\n+++ b/{0}\n@@ -0,0 +1 @@\n+x\n"


@pytest.mark.parametrize(
    ("patch", "reason"),
    [
        ("", "empty"),
        ("prose\n", "doesn't apply"),
        (LINK, "link or a submodule"),
        (SUBMODULE, "link or a submodule"),
        (NEW.format("../x"), "doesn't apply"),
        (NEW.format(".git/hooks/x"), "doesn't apply"),
        (NEW.format(".GIT/x"), "doesn't apply"),
        (NEW.format("PKG/x.py"), "differs only by case"),
        (NEW.format("pkg/a.py"), "doesn't apply"),
        (
            "--- a/pkg/a.py\n+++ b/pkg/a.py\n@@ -1,2 +1,2 @@\n def g():\n-    return 1\n+    return 2\n",
            "doesn't apply",
        ),
        (NEW.format("x\ud800"), "isn't valid UTF-8"),
    ],
)
def test_a_patch_that_does_not_apply_or_may_not_is_refused(tree: Checkout, patch: str, reason: str) -> None:
    result = changes_of_patch(tree, patch)
    assert isinstance(result, Unparsed)
    assert reason in result.reason


def test_a_plain_diff_without_git_headers_is_read(tree: Checkout) -> None:
    patch = "--- a/pkg/a.py\n+++ b/pkg/a.py\n@@ -1,2 +1,2 @@\n def f():\n-    return 1\n+    return 2"
    assert changes_of_patch(tree, patch) == {"pkg/a.py": b"def f():\n    return 2\n"}


def test_a_patch_is_applied_to_the_users_files_and_not_to_his_index(repo: Path, tree: Checkout) -> None:
    made = diff(tree, {"pkg/a.py": b"fixed\n", "new.py": b"new\n"})
    (repo / "bare.txt").write_text("an unrelated change")
    assert apply_to_worktree(Repository.open(repo), made) == ("new.py", "pkg/a.py")
    assert (repo / "pkg" / "a.py").read_bytes() == b"fixed\n"
    assert git(repo, "diff", "--cached") == ""


@pytest.mark.parametrize("spoil", ["changed", "staged", "untracked in the way", "moved on"])
def test_a_patch_is_not_applied_over_the_users_own_changes(repo: Path, tree: Checkout, spoil: str) -> None:
    made = diff(tree, {"bare.txt": b"fixed\n", "pkg/a.py": b"fixed\n", "new.py": b"new\n"})
    if spoil == "untracked in the way":
        (repo / "new.py").write_text("mine\n")
    else:
        (repo / "pkg" / "a.py").write_text("mine\n")
    if spoil in {"staged", "moved on"}:
        git(repo, "add", "--all")
    if spoil == "moved on":
        git(repo, "commit", "--quiet", "--message=mine")
    with pytest.raises(UsageError, match=r"commit or stash|doesn't apply"):
        apply_to_worktree(Repository.open(repo), made)
    assert (repo / "bare.txt").read_bytes() == b"no end"


def test_a_patch_that_makes_a_link_is_not_applied(repo: Path) -> None:
    with pytest.raises(UsageError, match="link"):
        apply_to_worktree(Repository.open(repo), LINK)
    assert not os.path.lexists(repo / "l")


def test_there_is_nothing_to_apply_a_patch_to_in_a_bare_repository(repo: Path, tmp_path: Path) -> None:
    git(repo, "clone", "--quiet", "--bare", ".", str(tmp_path / "bare"))
    with pytest.raises(UsageError, match="bare"):
        apply_to_worktree(Repository.open(tmp_path / "bare"), LINK)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_files_patched_by_root_stay_the_users(repo: Path, tree: Checkout) -> None:
    for path in (repo, *repo.rglob("*")):
        os.chown(path, 12345, 12345)
    apply_to_worktree(Repository.open(repo), diff(tree, {"pkg/a.py": b"fixed\n", "pkg/new.py": b"new\n"}))
    assert {(repo / "pkg" / name).stat().st_uid for name in ("a.py", "new.py")} == {12345}


LINES = st.lists(
    st.tuples(
        st.text(st.characters(exclude_characters="\r\n\0", exclude_categories=["Cs"]), max_size=6),
        st.sampled_from(["\n", "\n", "\r\n", "\r"]),
    ),
    min_size=1,
    max_size=8,
    unique_by=lambda line: line[0],
)


@settings(
    max_examples=12,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    lines=LINES,
    final_newline=st.booleans(),
    codec=st.sampled_from(["utf-8", "utf-8-sig", "latin-1"]),
    data=st.data(),
    replacement=st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=8),
)
def test_edits_then_diff_then_git_apply_give_the_tree_that_was_run(
    lines: list[tuple[str, str]],
    final_newline: bool,
    codec: str,
    data: st.DataObject,
    replacement: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    text = "".join(line + end for line, end in lines)
    raw = (text if final_newline else text.rstrip("\r\n")).encode(codec, "replace")
    folder = tmp_path_factory.mktemp("property")
    repo = make_repository(folder / "repo", {"odd.py": raw, "other": "x\n"})
    opened = Repository.open(repo)
    tree = checkout(opened, opened.resolve("HEAD"), folder / "cache")
    assert tree.read("odd.py") == raw
    shown = lines_of(raw.decode("latin-1" if codec == "latin-1" else "utf-8-sig"))
    chosen = data.draw(st.sampled_from(shown)).rstrip("\r\n") if shown else ""
    result = apply_edits(
        [Edit("odd.py", chosen, replacement), Edit("new/file.py", "", replacement)], tree.read
    )
    if not isinstance(result, Applied):
        return
    made = diff(tree, result.changes)
    assert changes_of_patch(tree, made) == result.changes
    git(repo, "apply", "-", stdin=made.encode())
    assert {path: (repo / path).read_bytes() for path in result.changes} == result.changes
    assert (repo / "other").read_bytes() == b"x\n"
