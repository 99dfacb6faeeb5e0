"""What the tests of the sandbox share: a small checkout, and sandboxes over it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from boxes import Box, make_tree
from experepair.sandbox.bwrap_command import Copy


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return make_tree(tmp_path / "checkout")


@pytest.fixture
def box(tree: Path, tmp_path: Path) -> Box:
    return _box(tree, tmp_path / "run")


def _box(tree: Path, run_root: Path, *copies: Copy) -> Box:
    if shutil.which("bwrap") is None:
        pytest.skip("bubblewrap is not installed")
    return Box(tree, run_root, copies=copies or (Copy.OVERLAY,))


@pytest.fixture(scope="module")
def open_box(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Box]:
    """Opened once, with an overlay."""
    folder = tmp_path_factory.mktemp("open")
    with _box(make_tree(folder / "checkout"), folder / "run").opened() as box:
        yield box


@pytest.fixture(scope="module", params=[Copy.OVERLAY, Copy.COPIED])
def any_open_box(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Iterator[Box]:
    """Opened once, in each of the two ways that differ in what stands around the command."""
    folder = tmp_path_factory.mktemp("open")
    with _box(make_tree(folder / "checkout"), folder / "run", request.param).opened() as box:
        yield box


@pytest.fixture(params=list(Copy))
def every_box(box: Box, request: pytest.FixtureRequest) -> Box:
    """Each way of making the private copy."""
    box.copies = (request.param,)
    return box


@pytest.fixture(params=[Copy.OVERLAY, Copy.COPIED])
def any_box(box: Box, request: pytest.FixtureRequest) -> Box:
    """The two ways that differ in what stands around the command."""
    box.copies = (request.param,)
    return box
