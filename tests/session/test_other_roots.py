"""Repositories whose environment lies in an image, or in another root file system: found out, set up, and tested there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import toy
from experepair.sandbox.engine import ENGINES
from experepair.session.doctor import Finding, State
from experepair.session.doctor.repository import repository
from experepair.session.settings import load
from images import MORE, Images, engine_images
from roots import PROGRAMS, copy_libraries, make_python, make_root

PYTHON = "/opt/python/bin/python"
SET_UP = "echo once >>set-up.txt; echo 'VALUE = 1' >toy/made.py; cat /etc/release"


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A root file system with a Python of its own."""
    root = make_root(tmp_path_factory.mktemp("other") / "root", (*PROGRAMS, *MORE))
    prefix = root / PYTHON.removesuffix("/bin/python").lstrip("/")
    make_python(prefix)
    copy_libraries(root, prefix / "bin/python", *prefix.glob("lib*/python3*/lib-dynload/*.so"))
    return root


@pytest.fixture(scope="module", params=ENGINES)
def images(request: pytest.FixtureRequest, root: Path) -> Iterator[Images]:
    with engine_images(request.param, root) as images:
        yield images


def checked(repo: Path, **flags: Any) -> dict[str, Finding]:
    settings = load(repo, {"python": PYTHON, **flags})
    return {finding.what: finding for finding in repository(repo, settings)}


def generated(repo: Path) -> None:
    """Make the package need a file that no commit has."""
    package = repo / "toy" / "__init__.py"
    package.write_text(package.read_text() + "from toy.made import VALUE\n")
    (repo / ".gitignore").write_text("/toy/made.py\n")
    toy.git(repo, "add", "--all")
    toy.git(repo, "commit", "--quiet", "--message=x")


def test_in_another_root_tests_import_the_tree(repo: Path, root: Path) -> None:
    found = checked(repo, rootfs=root)
    assert {one.state for one in found.values()} == {State.GOOD}, found
    assert found["imports the tree"].found == "toy: a planted sentinel was seen"
    assert "2 of 2 tests" in found["existing tests"].found


def test_in_another_root_a_set_up_makes_what_is_missing(repo: Path, root: Path) -> None:
    generated(repo)
    assert checked(repo, rootfs=root)["imports the tree"].state is State.BAD
    found = checked(repo, rootfs=root, setup=SET_UP)
    assert found["imports the tree"].state is State.GOOD, found
    assert "2 of 2 tests" in found["existing tests"].found


def test_in_an_image_tests_import_the_tree(repo: Path, images: Images) -> None:
    found = checked(repo, image=images.made[0])
    assert {one.state for one in found.values()} == {State.GOOD}, found
    assert "2 of 2 tests" in found["existing tests"].found


def test_in_an_image_a_set_up_runs_once_an_image_and_stays_in_the_tree(
    repo: Path, images: Images, tmp_path: Path
) -> None:
    generated(repo)
    missing = checked(repo, image=images.made[0])["imports the tree"]
    assert (missing.state, "--setup" in missing.remedy) == (State.BAD, True)
    for _ in range(2):
        found = checked(repo, image=images.made[0], setup=SET_UP)
        assert found["imports the tree"].state is State.GOOD, found
        assert "2 of 2 tests" in found["existing tests"].found
    (log,) = tmp_path.glob("cache/experepair/layers/*/setup.log")
    assert log.read_text() == "another root\n"
    assert (log.parent / "tree" / "set-up.txt").read_text() == "once\n"


def test_build_products_of_this_machine_are_refused_with_an_image(repo: Path) -> None:
    found = checked(repo, image="some/image", build_products=True)
    assert "--setup" in found["interpreter"].found
