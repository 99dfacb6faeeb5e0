"""Commands in another root file system: one made of copies of a few programs and their libraries."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from boxes import Box
from experepair.domain.command import Command
from experepair.sandbox.interpreter import find_interpreter
from roots import make_root


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_root(tmp_path_factory.mktemp("rootfs") / "root")


@pytest.fixture
def rooted(any_box: Box, root: Path) -> Box:
    any_box.rootfs = root
    any_box.interpreter = find_interpreter(any_box.tree, rootfs=root)
    return any_box


def test_only_the_other_roots_files_are_there(rooted: Box) -> None:
    done = rooted.sh("cat /etc/release /etc/passwd; ls /usr/bin /; ls /opt /home /usr/lib/python3")
    root, _, listing = done.stdout.partition("\n")
    assert root == "another root"
    assert "user:x:1000" in listing
    assert "python3" in listing
    assert "bwrap" not in listing
    assert "secret" not in listing
    assert "/usr/lib/python3" in done.stderr


def test_the_interpreter_is_that_of_the_other_root(rooted: Box) -> None:
    done = rooted.run(Command(("{python}", "a", "b")))
    assert (done.stdout, done.stderr) == ("python of the root: a b\n", "")


@pytest.mark.parametrize(
    "place", ["/home/someone/project", "/opt/full/new/project", "/opt/project", "/testbed"]
)
def test_the_tree_is_seen_at_its_path_whether_the_root_has_it_or_not(
    box: Box, root: Path, place: str
) -> None:
    box.rootfs = root
    box.interpreter = find_interpreter(box.tree, rootfs=root)
    before = sorted(str(path) for path in root.rglob("*"))
    box.mount_at = Path(place)
    done = box.run(Command(("sh", "-c", "ls; echo x >new; ls /opt; touch /etc/x"), collect=("new",)))
    assert done.stdout.startswith("link\npkg\nrun.sh\n")
    assert "full" in done.stdout
    assert "Read-only" in done.stderr
    assert done.files == {"new": b"x\n"}
    assert sorted(str(path) for path in root.rglob("*")) == before


@pytest.mark.skipif(os.getuid() != 0, reason="about root's own folders")
def test_a_root_may_lie_in_a_closed_folder(rooted: Box, root: Path) -> None:
    root.parent.chmod(0o700)
    assert rooted.sh("cat /etc/release").stdout == "another root\n"
