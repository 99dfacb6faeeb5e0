"""Changes to a tree, laid out as a folder of their own."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from experepair.errors import UsageError
from experepair.sandbox.changes import Owner, prepare_tree, stage_changes

OWN = Owner(os.getuid(), os.getgid())


@pytest.fixture
def layer(tmp_path: Path) -> Path:
    (tmp_path / "layer").mkdir()
    return tmp_path / "layer"


def test_new_contents_have_the_permissions_of_the_old_ones(tree: Path, layer: Path) -> None:
    (tree / "pkg").chmod(0o750)
    removed = stage_changes(
        {"run.sh": b"a", "pkg/new": b"b", "pkg/gone": None, "x/y/z": b""}, tree, layer, OWN
    )
    assert removed == ("pkg/gone",)
    modes = {str(path.relative_to(layer)): oct(path.stat().st_mode & 0o777) for path in layer.rglob("*")}
    assert modes == {
        "run.sh": "0o755",
        "pkg": "0o750",
        "pkg/new": "0o644",
        "x": "0o755",
        "x/y": "0o755",
        "x/y/z": "0o644",
    }


@pytest.mark.parametrize(
    "path",
    [
        "../x",
        "/etc/x",
        "pkg/../../x",
        "link/x",
        "link",
        "run.sh/x",
        "pkg",
        ".git/HEAD",
        "./.git",
        "",
        ".",
        "a\0",
        "a" * 300,
    ],
)
@pytest.mark.parametrize("content", [b"x", None])
def test_a_path_that_leaves_the_tree_or_passes_through_a_link_is_refused(
    tree: Path, layer: Path, path: str, content: bytes | None
) -> None:
    with pytest.raises(UsageError, match="the change to"):
        stage_changes({path: content}, tree, layer, OWN)
    assert list(layer.iterdir()) == []


@pytest.mark.parametrize("paths", [("new", "new/er"), ("new/er", "new")])
def test_changes_that_contradict_each_other_are_refused(
    tree: Path, layer: Path, paths: tuple[str, str]
) -> None:
    with pytest.raises(UsageError, match="needs a folder"):
        stage_changes(dict.fromkeys(paths, b""), tree, layer, OWN)


@pytest.mark.skipif(os.getuid() != 0, reason="only root gives files away")
def test_a_prepared_tree_is_the_unprivileged_users_but_git_still_trusts_it(tree: Path) -> None:
    tree.chmod(0o700)
    prepare_tree(tree, Owner(65529, 65529))
    owners = {str(path.relative_to(tree)): path.lstat().st_uid for path in (tree, *tree.rglob("*"))}
    assert {name for name, uid in owners.items() if uid == 0} == {".", ".git", ".git/HEAD"}
    assert tree.stat().st_mode & 0o777 == 0o755
