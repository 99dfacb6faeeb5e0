"""Run folders live as long as their process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import experepair
from experepair.errors import UsageError
from experepair.sandbox.run_folder import RunFolder, default_run_root, sweep

HOLD = """
import sys
from pathlib import Path
from experepair.sandbox.run_folder import RunFolder
with RunFolder(Path(sys.argv[1])) as folder:
    (folder.path / "d").mkdir()
    (folder.path / "d" / "f").touch()
    (folder.path / "d").chmod(0)
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_run_folder_is_removed_at_the_end_whatever_is_in_it(tmp_path: Path) -> None:
    with RunFolder(tmp_path / "run") as folder:
        (folder.path / "d" / "e").mkdir(parents=True)
        (folder.path / "d" / "e" / "f").touch()
        (folder.path / "link").symlink_to(tmp_path)
        (folder.path / "d" / "e").chmod(0)
        (folder.path / "d").chmod(0o500)
    assert list((tmp_path / "run").iterdir()) == []


def test_a_sweep_removes_the_folders_of_dead_processes_only(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(Path(experepair.__file__).parents[1])}
    command = [sys.executable, "-c", HOLD, str(tmp_path)]
    with (
        subprocess.Popen(command, env=environment, stdin=-1, stdout=-1) as dead,
        subprocess.Popen(command, env=environment, stdin=-1, stdout=-1) as alive,
    ):
        assert dead.stdout is not None
        assert alive.stdout is not None
        assert dead.stdout.readline() == alive.stdout.readline() == b"held\n"
        dead.kill()
        dead.wait()
        with RunFolder(tmp_path) as own:
            assert [path.name.split("-")[0] for path in sweep(tmp_path)] == [str(dead.pid)]
            assert own.path.is_dir()
            assert len(list(tmp_path.glob("*.lock"))) == 2
            assert alive.stdin is not None
            alive.stdin.close()
            assert alive.wait() == 0
    assert list(tmp_path.iterdir()) == []


def test_a_sweep_of_nothing_is_nothing(tmp_path: Path) -> None:
    assert sweep(tmp_path / "absent") == []


def test_a_folder_that_can_not_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="can't make the folder"), RunFolder(tmp_path / "file" / "run"):
        pass


def test_run_folders_are_below_the_cache_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere/cache")
    assert default_run_root() == Path("/somewhere/cache/experepair/run")
    monkeypatch.setenv("XDG_CACHE_HOME", "not/absolute")
    assert default_run_root() == Path.home() / ".cache/experepair/run"
