"""Without isolation: the same port, in a copied tree."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path

import pytest

from boxes import base_interpreter
from experepair.domain.command import NO_CHANGES, Changes, Command, Completed, Ended
from experepair.errors import SandboxUnavailable, UsageError
from experepair.sandbox.sandbox import Limits
from experepair.sandbox.unisolated import UnisolatedSandbox

PLACE = Path("/home/someone/project")


def run(
    tree: Path, command: Command, changes: Changes = NO_CHANGES, limits: Limits | None = None
) -> Completed:
    async def main() -> Completed:
        run_root = tree.parent / "run"
        async with UnisolatedSandbox(tree, PLACE, base_interpreter(), run_root=run_root) as sandbox:
            done = await sandbox.run(command, changes, limits=limits)
        assert list(run_root.iterdir()) == []
        return done

    return asyncio.run(main())


def sh(text: str, *collect: str) -> Command:
    return Command(("sh", "-c", text), collect=collect)


def test_commands_run_in_a_copy_with_the_changes_and_bring_files_back(tree: Path) -> None:
    done = run(
        tree,
        sh("./run.sh; ls pkg; rm -r pkg; echo x >out; mkdir d; touch d/f; chmod 0 d; exit 4", "out"),
        {"run.sh": b"#!/bin/sh\necho changed\n", "pkg/__init__.py": None, "pkg/new": b""},
    )
    assert (done.exit_code, done.stdout) == (4, "changed\nnew\n")
    assert done.files == {"out": b"x\n"}
    assert (tree / "run.sh").read_text().endswith("original\n")
    assert (tree / "pkg" / "__init__.py").exists()


def test_the_copys_path_is_shown_as_the_users(tree: Path) -> None:
    done = run(tree, sh("pwd; pwd >&2"))
    assert done.stdout == done.stderr == f"{PLACE}\n"


def test_the_patched_code_comes_before_an_editable_install(tree: Path) -> None:
    command = Command(("{python}", "-c", "import pkg; print(pkg.value, pkg.__file__)"), cwd="link")
    done = run(tree, command, {"pkg/__init__.py": b"value = 'patched'\n"})
    assert done.stdout == f"patched {PLACE}/pkg/__init__.py\n"
    command = Command(command.argv, env=(("PYTHONPATH", f"{PLACE}/src"),), cwd="pkg")
    done = run(tree, command, {"src/pkg.py": b"value = 'by the given path'\n"})
    assert done.stdout == f"by the given path {PLACE}/src/pkg.py\n"


def test_the_environment_is_an_allow_list_here_too(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET", "canary")
    assert "canary" not in run(tree, sh("env; ls -A ~")).stdout


def test_time_output_and_memory_are_limited(tree: Path) -> None:
    before = time.monotonic()
    done = run(tree, sh("echo out; sleep 30 & sleep 30"), limits=Limits(time_s=0.3))
    assert (done.exit_code, done.ended, done.stdout) == (None, Ended.TIMED_OUT, "out\n")
    assert time.monotonic() - before < 5
    done = run(tree, sh("echo first; yes | head -c 1000000; echo last"), limits=Limits(output_kb=4))
    assert done.stdout.startswith("first\n")
    assert done.stdout.endswith("\nlast\n")
    assert len(done.stdout) < 5000
    done = run(tree, Command(("{python}", "-c", "bytearray(1 << 30)")), limits=Limits(memory_mb=512))
    assert "MemoryError" in done.stderr


def test_a_change_that_leaves_the_tree_is_refused(tree: Path) -> None:
    with pytest.raises(UsageError, match="leaves the tree"):
        run(tree, sh("true"), {"../x": b""})


@pytest.mark.skipif(os.getuid() == 0, reason="root reads everything")
def test_a_tree_that_can_not_be_copied_is_reported(tree: Path) -> None:
    (tree / "run.sh").chmod(0)
    with pytest.raises(SandboxUnavailable, match="can't copy"):
        run(tree, sh("true"))


def test_a_tree_that_is_not_there_is_reported(tree: Path) -> None:
    with pytest.raises(SandboxUnavailable, match="can't copy"):
        run(tree / "absent", sh("true"))


def test_it_says_that_it_isolates_nothing(tree: Path) -> None:
    sandbox = UnisolatedSandbox(tree, PLACE, base_interpreter())
    assert sandbox.isolation.backend == "none"
