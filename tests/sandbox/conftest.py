"""What the tests of the sandbox share: a small checkout, and sandboxes over it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from boxes import Box
from experepair.sandbox.bwrap_command import Copy


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    folder = tmp_path / "checkout"
    (folder / "pkg").mkdir(parents=True)
    (folder / "pkg" / "__init__.py").write_text("value = 'original'\n")
    (folder / "run.sh").write_text("#!/bin/sh\necho original\n")
    (folder / "run.sh").chmod(0o755)
    (folder / "link").symlink_to("pkg")
    (folder / ".git").mkdir()
    (folder / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    return folder


@pytest.fixture
def box(tree: Path, tmp_path: Path) -> Box:
    if shutil.which("bwrap") is None:
        pytest.skip("bubblewrap is not installed")
    return Box(tree, tmp_path / "run")


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
