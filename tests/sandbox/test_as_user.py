"""As root, those of the other tests that depend on the user once more as a normal one."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
UID = "61234"
AGAIN = ("bubblewrap", "limits")
CLAIMS = (
    "path_of_the_users", "gone_afterwards", "git_folder", "hidden", "network", "privileges", "own_processes",
    "only_the_tree", "collected_files", "src_layout", "overlays_can_not", "isolation", "fork_bomb", "grandchildren",
    "cancelling_ends", "kill_9", "ctrl_c", "eight_at_once_leave",
)  # fmt: skip
"""Words from the names of the tests that depend on who runs them."""


@pytest.fixture
def own_folder() -> Iterator[Path]:
    """A folder of the normal user; pytest's are closed to others."""
    with tempfile.TemporaryDirectory(prefix="experepair-user-") as folder:
        os.chown(folder, int(UID), int(UID))
        yield Path(folder)


@pytest.mark.skipif(os.getuid() != 0, reason="runs as a normal user anyway")
@pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed")
def test_all_promises_hold_for_a_normal_user_too(own_folder: Path) -> None:
    """Closed folders on the way to the code are made passable by mounts of this process's own, nowhere else."""
    needed = {REPOSITORY, Path(sys.prefix), Path(sys.base_prefix)}
    closed = {parent for path in needed for parent in path.parents if not parent.stat().st_mode & 0o001}
    mounts = [word for parent in sorted(closed) for word in ("--tmpfs", str(parent))]
    for path in sorted(needed):
        hidden = [parent for parent in reversed(path.parents) if closed & {parent, *parent.parents}]
        mounts += [word for parent in hidden for word in ("--dir", str(parent))]
        mounts += ["--ro-bind", str(path), str(path)]
    files = [str(Path(__file__).with_name(f"test_{name}.py")) for name in AGAIN]
    done = subprocess.run(
        ["bwrap", "--dev-bind", "/", "/", *mounts, "--chdir", str(REPOSITORY),
         "setpriv", "--reuid", UID, "--regid", UID, "--clear-groups",
         sys.executable, "-m", "pytest", "-q", "-rp", "-n", "2", "-k", " or ".join(CLAIMS), "--basetemp", str(own_folder / "tmp"), *files],
        env={"PATH": os.environ["PATH"], "HOME": str(own_folder), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    passed = [line for line in done.stdout.splitlines() if "PASSED" in line]
    assert [claim for claim in CLAIMS if not any(claim in line for line in passed)] == []
