"""What doctor is told, and which sandbox is opened."""

from __future__ import annotations

import asyncio
import json
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from boxes import base_interpreter
from experepair.domain.command import Command
from experepair.errors import SandboxUnavailable, UsageError
from experepair.sandbox import proof
from experepair.sandbox.image import ImageChoice
from experepair.sandbox.open import Kind, open_sandbox
from experepair.sandbox.probe import probe
from experepair.sandbox.remedy import APPARMOR_PROFILE, overlay_remedy, remedy

BWRAP = pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed")


@BWRAP
def test_bubblewrap_is_proved_promise_by_promise_and_quickly() -> None:
    before = time.process_time()
    reports = {report.backend: report for report in probe()}
    assert time.process_time() - before < 1
    report = reports["bubblewrap"]
    assert report.works, report
    assert {each.promise for each in report.proofs if each.kept} == {
        "network cut",
        "home and environment hidden",
        "no privileges",
        "no further namespaces",
        "process limit",
        "disk limit",
        "private tree, .git read-only",
        "time limit",
        "memory limit of the whole",
    }
    assert not reports["docker"].works
    assert not reports["podman"].works


def test_the_proof_notices_where_nothing_is_isolated(tmp_path: Path) -> None:
    """Run without a sandbox, with only the disk limited, so that the test fills nothing."""
    (tmp_path / ".git").mkdir()
    source = Path(proof.__file__).read_bytes()
    with socket.create_server(("127.0.0.1", 0)) as server:
        done = subprocess.run(
            ["sh", "-c", 'ulimit -f 65536; exec "$@"', "sh", sys.executable, "-I", "-",
             str(server.getsockname()[1]), "none", str(tmp_path)],
            input=source, capture_output=True, cwd=tmp_path, env={"HOME": str(tmp_path)}, check=True,
        )  # fmt: skip
    results = json.loads(done.stdout)
    assert "reached" in results["network cut"]
    assert "sees" in results["home and environment hidden"]
    assert "60 processes" in results["process limit"]
    assert "16 MiB" in results["disk limit"]
    assert "wrote" in results["private tree, .git read-only"]


def test_without_bubblewrap_the_report_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    report = probe()[0]
    assert not report.works
    assert "apt-get install bubblewrap" in report.remedy


def test_what_the_kernel_refuses_has_its_remedy(tmp_path: Path) -> None:
    for folder in ("user", "kernel"):
        (tmp_path / folder).mkdir()
    outside = tmp_path / "root"
    outside.mkdir()

    def advice() -> str:
        return remedy("refused", sysctl=tmp_path, root=outside)

    if shutil.which("bwrap"):
        assert "doctor" in advice()
        (outside / ".dockerenv").touch()
        assert "--security-opt" in advice()
        (tmp_path / "kernel/apparmor_restrict_unprivileged_userns").write_text("1\n")
        assert "flags=(unconfined)" in advice()
        (tmp_path / "kernel/unprivileged_userns_clone").write_text("0\n")
        assert "unprivileged_userns_clone=1" in advice()
        (tmp_path / "user/max_user_namespaces").write_text("0\n")
    assert ("max_user_namespaces" if shutil.which("bwrap") else "install") in advice()


def test_where_apparmor_leaves_only_a_copied_tree_its_profile_helps(tmp_path: Path) -> None:
    assert overlay_remedy(sysctl=tmp_path) == ""
    (tmp_path / "kernel").mkdir()
    (tmp_path / "kernel/apparmor_restrict_unprivileged_userns").write_text("1\n")
    assert APPARMOR_PROFILE in overlay_remedy(sysctl=tmp_path)


@BWRAP
def test_the_report_of_a_copied_tree_brings_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("experepair.sandbox.bwrap_command._OVERLAY_OPTIONS", "no-such-option")
    monkeypatch.setattr("experepair.sandbox.probe.overlay_remedy", lambda: "a profile")
    report = probe()[0]
    assert report.works
    assert report.isolation is not None
    assert (report.isolation.tree, report.remedy) == ("copied tree", "a profile")


def opened(kind: str, tree: Path, image: ImageChoice | None = None) -> tuple[str, str]:
    async def main() -> tuple[str, str]:
        async with open_sandbox(
            kind,
            tree=tree,
            mount_at=Path("/home/x/y"),
            interpreter=base_interpreter(),
            image=image,
            run_root=tree.parent / "run",
        ) as sandbox:
            return sandbox.isolation.backend, (await sandbox.run(Command(("cat", "run.sh")))).stdout

    return asyncio.run(main())


@BWRAP
@pytest.mark.parametrize("kind", ["auto", "bubblewrap"])
def test_auto_takes_bubblewrap_where_it_works(kind: str, tree: Path) -> None:
    assert opened(kind, tree) == ("bubblewrap", "#!/bin/sh\necho original\n")
    assert list((tree.parent / "run").iterdir()) == []


def test_none_is_taken_only_when_it_is_asked_for(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert opened(Kind.NONE, tree)[0] == "none"
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(SandboxUnavailable, match="apt-get install bubblewrap"):
        opened("auto", tree)


@pytest.mark.parametrize(
    ("kind", "image", "said"),
    [
        ("docker", None, "needs an image"),
        ("podman", None, "needs an image"),
        ("bubblewrap", "x", "runs no image"),
        ("none", "x", "runs no image"),
    ],
)
def test_an_image_and_the_container_engines_belong_together(
    kind: str, image: str | None, said: str, tree: Path
) -> None:
    with pytest.raises(UsageError, match=said):
        opened(kind, tree, ImageChoice(image) if image else None)


def test_with_an_image_and_no_engine_the_error_says_what_to_install(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(SandboxUnavailable, match="apt-get install docker") as raised:
        opened("auto", tree, ImageChoice("some/image"))
    assert "apt-get install podman" in str(raised.value)


def test_an_image_that_no_engine_has_is_named_for_each(
    tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second engine is asked although the first one answers."""
    for name in ("docker", "podman"):
        program = tmp_path / "bin" / name
        program.parent.mkdir(exist_ok=True)
        program.write_text("#!/bin/sh\ncase $1 in image) echo no such image >&2; exit 1 ;; esac\n")
        program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=":")
    with pytest.raises(UsageError, match=r"docker pull some/image[^\n]*\n[^\n]*podman pull some/image"):
        opened("auto", tree, ImageChoice("some/image"))
