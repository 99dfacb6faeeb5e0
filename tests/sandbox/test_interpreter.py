"""Which Python a repository runs on, and what it needs."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from experepair.errors import UsageError
from experepair.sandbox.interpreter import find_interpreter


def make_python(prefix: Path, version: str = "3.9", mode: int = 0o755) -> Path:
    """What a Python installation looks like, without one that runs."""
    (prefix / "bin").mkdir(parents=True)
    library = prefix / "lib" / f"python{version}"
    library.mkdir(parents=True)
    (library / "os.py").touch()
    executable = prefix / "bin" / f"python{version}"
    executable.write_bytes(b"\x7fELF")
    executable.chmod(mode)
    (prefix / "bin" / "python3").symlink_to(executable.name)
    return prefix / "bin" / "python3"


def make_venv(folder: Path, base: Path) -> Path:
    (folder / "bin").mkdir(parents=True)
    (folder / "pyvenv.cfg").write_text(f"home = {base.parent}\nversion = 3.9.1\n")
    (folder / "bin" / "python").symlink_to(base)
    return folder


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    (tmp_path / "repo").mkdir()
    return tmp_path / "repo"


@pytest.fixture
def base(tmp_path: Path) -> Path:
    return make_python(tmp_path / "base")


def test_the_named_interpreter_wins_over_all_others(repo: Path, base: Path, tmp_path: Path) -> None:
    make_venv(repo / ".venv", base)
    other = make_python(tmp_path / "other", "3.12")
    found = find_interpreter(repo, str(other), {"VIRTUAL_ENV": str(make_venv(tmp_path / "active", base))})
    assert (found.found, found.path, found.version) == ("--python", str(other.resolve()), "3.12")
    assert found.prefixes == (str(tmp_path / "other"),)
    assert not found.virtual


def test_then_comes_the_active_environment_then_those_of_the_repository(
    repo: Path, base: Path, tmp_path: Path
) -> None:
    active = make_venv(tmp_path / "active", base)
    for name in ("venv", ".venv"):
        make_venv(repo / name, base)
        found = find_interpreter(repo, environ={"PATH": str(base.parent)})
        assert (found.found, found.path) == (name, f"{repo}/{name}/bin/python")
    found = find_interpreter(repo, environ={"VIRTUAL_ENV": str(active)})
    assert (found.found, found.path, found.virtual) == ("VIRTUAL_ENV", f"{active}/bin/python", True)


def test_last_comes_python3_on_path(repo: Path, base: Path) -> None:
    found = find_interpreter(repo, environ={"PATH": str(base.parent)})
    assert (found.found, found.path, found.notes) == ("PATH", str(base.resolve()), ())


def test_an_environment_brings_its_base_along(repo: Path, base: Path) -> None:
    venv = make_venv(repo / ".venv", base)
    assert find_interpreter(repo, environ={}).prefixes == (str(venv), str(base.parent.parent))


def test_links_on_the_way_to_the_base_are_kept(repo: Path, base: Path, tmp_path: Path) -> None:
    """As pyenv's and uv's: a folder that is a link, and a link in a folder of links."""
    (tmp_path / "versions").mkdir()
    (tmp_path / "versions" / "3.9").symlink_to(base.parent.parent)
    (tmp_path / "local").mkdir()
    (tmp_path / "local" / "python3").symlink_to(tmp_path / "versions" / "3.9" / "bin" / "python3")
    make_venv(repo / ".venv", tmp_path / "local" / "python3")
    found = find_interpreter(repo, environ={})
    assert str(tmp_path / "versions" / "3.9") in found.prefixes
    assert str(base.parent.parent) in found.prefixes
    assert str(tmp_path / "local") not in found.prefixes
    assert found.links == (
        (str(tmp_path / "local" / "python3"), str(tmp_path / "versions" / "3.9" / "bin" / "python3")),
    )


def test_a_shim_is_asked_which_python_it_stands_for_in_the_repository(
    repo: Path, base: Path, tmp_path: Path
) -> None:
    shim = tmp_path / "shims" / "python3"
    shim.parent.mkdir()
    shim.write_text(f"#!/bin/sh\ntest $PWD = {repo} && echo {base}\n")
    shim.chmod(0o755)
    found = find_interpreter(repo, environ={"PATH": str(shim.parent)})
    assert (found.path, found.version) == (str(base.resolve()), "3.9")


def test_a_file_of_the_repository_is_never_run_to_find_out(repo: Path, tmp_path: Path) -> None:
    trap = repo / ".venv" / "bin" / "python"
    trap.parent.mkdir(parents=True)
    (repo / ".venv" / "pyvenv.cfg").write_text("home = /usr/bin\n")
    trap.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    trap.chmod(0o755)
    with pytest.raises(UsageError, match="no standard library"):
        find_interpreter(repo, environ={})
    assert not (tmp_path / "ran").exists()


def test_experepairs_own_environment_is_not_the_repositorys(
    repo: Path, base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = make_venv(tmp_path / "own", base)
    (own / "bin" / "python3").symlink_to(base)
    plain = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    if not (base.parent / plain).exists():
        (base.parent / plain).symlink_to("python3")
    monkeypatch.setattr(sys, "prefix", str(own))
    monkeypatch.setattr(sys, "base_prefix", str(base.parent.parent))
    found = find_interpreter(repo, environ={"VIRTUAL_ENV": str(own), "PATH": f"{own}/bin"})
    assert found.path == str(base.resolve())
    assert len(found.notes) == 1
    assert "experepair's own environment" in found.notes[0]
    make_venv(repo / ".venv", base)
    assert find_interpreter(repo, environ={"VIRTUAL_ENV": str(own)}).found == ".venv"
    monkeypatch.setattr(sys, "prefix", str(repo / ".venv"))
    assert find_interpreter(repo, environ={"VIRTUAL_ENV": str(repo / ".venv")}).found == ".venv"


def test_an_interpreter_that_can_not_be_used_is_refused_by_name(
    repo: Path, base: Path, tmp_path: Path
) -> None:
    (tmp_path / "text").write_text("no program")
    (tmp_path / "empty").mkdir()
    lonely = tmp_path / "lonely" / "bin" / "python"
    lonely.parent.mkdir(parents=True)
    lonely.write_bytes(b"\x7fELF")
    lonely.chmod(0o755)
    for python, reason in (
        (str(tmp_path / "absent"), "not an executable file"),
        (str(tmp_path / "text"), "not an executable file"),
        (str(tmp_path / "empty"), "not an executable file"),
        ("no-such-python", "not on PATH"),
        (str(lonely), "no standard library"),
    ):
        with pytest.raises(UsageError, match=reason) as caught:
            find_interpreter(repo, python, {"PATH": str(base.parent)})
        assert python in str(caught.value)
    with pytest.raises(UsageError, match="no python3 on PATH"):
        find_interpreter(repo, environ={"PATH": str(tmp_path)})
    with pytest.raises(UsageError, match="deactivate it"):
        find_interpreter(repo, environ={"VIRTUAL_ENV": str(tmp_path)})


def test_a_prefix_that_would_show_the_whole_home_is_refused(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    python = make_python(home)
    monkeypatch.setenv("HOME", str(home))
    with pytest.raises(UsageError, match="would show all of it"):
        find_interpreter(repo, str(python))


def test_as_root_an_interpreter_closed_to_others_is_refused(
    repo: Path, base: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (base.parent.parent / "lib" / "python3.9" / "os.py").chmod(0o600)
    monkeypatch.setattr("os.getuid", lambda: 0)
    with pytest.raises(UsageError, match="closed to other users"):
        find_interpreter(repo, str(base))


def test_in_another_root_paths_and_links_are_those_of_that_root(repo: Path, tmp_path: Path) -> None:
    rootfs = tmp_path / "rootfs"
    make_python(rootfs / "usr", "3.8")
    (rootfs / "usr" / "bin" / "python3").unlink()
    (rootfs / "etc").mkdir()
    (rootfs / "usr" / "bin" / "python3").symlink_to("/etc/alternatives/python3")
    (rootfs / "etc" / "alternatives").mkdir()
    (rootfs / "etc" / "alternatives" / "python3").symlink_to("../../../../usr/bin/python3.8")
    found = find_interpreter(repo, rootfs=rootfs)
    assert (found.path, found.version, found.prefixes) == ("/usr/bin/python3", "3.8", ())
    make_venv(rootfs / "root" / "env", Path("/usr/bin/python3"))
    found = find_interpreter(repo, "/root/env", rootfs=rootfs)
    assert (found.path, found.prefixes, found.virtual) == ("/root/env/bin/python", ("/root/env",), True)
    for python, reason in (("/nowhere", "there is no"), ("relative", "absolute path")):
        with pytest.raises(UsageError, match=reason):
            find_interpreter(repo, python, rootfs=rootfs)
    with pytest.raises(UsageError, match="not a folder"):
        find_interpreter(repo, rootfs=tmp_path / "absent")


def test_an_interpreter_that_can_not_be_looked_at_is_a_clear_error(repo: Path, tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    for python in (str(tmp_path / "loop"), "x" * 5000, str(tmp_path / "closed" / "python")):
        with pytest.raises(UsageError):
            find_interpreter(repo, python)
