"""Containers of docker and podman, each engine where it answers: the same promises as bubblewrap's."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import experepair
from experepair.domain.command import NO_CHANGES, Changes, Command, Completed, Ended
from experepair.errors import SandboxUnavailable, UsageError
from experepair.sandbox import container_command, leftovers
from experepair.sandbox.cleanup import clean
from experepair.sandbox.container import ContainerSandbox
from experepair.sandbox.engine import ENGINES, Engine, find_engine
from experepair.sandbox.image import ImageChoice
from experepair.sandbox.run_folder import RunFolder
from experepair.sandbox.sandbox import Limits
from images import MORE, Images, called, engine_images
from roots import PROGRAMS, make_root

PLACE = Path("/home/someone/project")


@pytest.fixture(scope="module", params=ENGINES)
def images(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Images]:
    root = make_root(tmp_path_factory.mktemp("image") / "root", (*PROGRAMS, *MORE))
    with engine_images(request.param, root) as images:
        yield images


@dataclass
class Open:
    """A sandbox that several tests use."""

    sandbox: ContainerSandbox
    images: Images
    run_root: Path
    runner: asyncio.Runner

    def run(self, command: Command, changes: Changes = NO_CHANGES, limits: Limits | None = None) -> Completed:
        return self.runner.run(self.sandbox.run(command, changes, limits=limits))

    def sh(self, text: str, changes: Changes = NO_CHANGES, limits: Limits | None = None) -> Completed:
        return self.run(Command(("sh", "-c", text)), changes, limits)


def make_tree(folder: Path) -> Path:
    (folder / "pkg").mkdir(parents=True)
    (folder / "pkg" / "__init__.py").write_text("value = 'original'\n")
    (folder / "run.sh").write_text("#!/bin/sh\necho original\n")
    (folder / "run.sh").chmod(0o755)
    (folder / ".git").mkdir()
    (folder / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    return folder


@pytest.fixture(scope="module")
def box(images: Images, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Open]:
    folder = tmp_path_factory.mktemp("container")
    sandbox = ContainerSandbox(
        images.engine.name,
        make_tree(folder / "checkout"),
        PLACE,
        ImageChoice(images.made[0]),
        Limits(time_s=30),
        run_root=folder / "run",
    )
    with asyncio.Runner() as runner:
        runner.run(sandbox.__aenter__())
        yield Open(sandbox, images, folder / "run", runner)
        runner.run(sandbox.__aexit__(None, None, None))
    assert images.left(folder) == []
    assert list((folder / "run").iterdir()) == []


def containers(box: Open) -> list[str]:
    label = f"label={leftovers.LOCK}={next(box.run_root.glob('*.lock'))}"
    return called(*box.images.engine.words, "ps", "--all", "--quiet", "--filter", label).split()


def eventually(condition: Callable[[], bool], within_s: float) -> bool:
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.2)
    return condition()


def test_the_tree_is_seen_in_the_images_root_by_an_unprivileged_user(box: Open) -> None:
    done = box.sh(
        "pwd; ls; ./run.sh; cat /etc/release; id -u; grep -E 'Cap(Eff|Bnd)|NoNew' /proc/self/status"
    )
    zeros = "0" * 16
    assert re.sub(r"[ \t]+", " ", done.stdout) == (
        f"{PLACE}\npkg\nrun.sh\noriginal\nanother root\n1000\nCapEff: {zeros}\nCapBnd: {zeros}\nNoNewPrivs: 1\n"
    )


def test_the_network_is_cut_and_the_environment_an_allow_list(
    box: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://canary")
    monkeypatch.setenv("OPENAI_API_KEY", "canary")
    command = Command(
        ("sh", "-c", "cat /proc/net/route; env; cat /proc/1/environ"), env=(("EXTRA", "a 'b'\n"),)
    )
    done = box.run(command)
    assert done.stdout.count("\n") > 10
    assert "canary" not in done.stdout
    assert "\teth" not in done.stdout
    assert "EXTRA=a 'b'\n" in done.stdout
    assert "PYTHONHASHSEED=0\n" in done.stdout


def test_what_a_command_writes_is_gone_and_git_is_read_only(box: Open) -> None:
    text = "rm -r pkg run.sh; mkdir pkg; touch pkg/new /tmp/x ~/x; ls pkg; touch .git/x; mv .git y; rm -r .git; touch /usr/x"
    done = box.sh(text)
    assert done.stdout == "new\n"
    assert done.stderr.count("\n") >= 4
    assert box.sh("ls . pkg /tmp ~; cat .git/HEAD").stdout == (
        ".:\npkg\nrun.sh\n\n/run/experepair/home:\n\n/tmp:\n\npkg:\n__init__.py\nref: refs/heads/main\n"
    )


def test_changes_are_laid_over_and_files_come_back(box: Open) -> None:
    changes = {
        "pkg/__init__.py": None,
        "run.sh": b"#!/bin/sh\necho changed\n",
        "a b/c'd/new.py": b"\xff\0\n",
        "no": None,
    }
    text = './run.sh; ls pkg; cat >pkg/in; mv "a b/c\'d/new.py" "pkg/it s"; (while :; do echo noise; done) & exit 4'
    command = Command(("sh", "-c", text), stdin=b"line\n" * 100_000, collect=("pkg/it s", "absent", "pkg/in"))
    done = box.run(command, changes)
    assert done.stdout.startswith("changed\n")
    assert set(done.stdout.split("\n")[1:-1]) <= {"noise"}
    assert (done.exit_code, done.ended) == (4, Ended.EXITED)
    assert done.files == {"pkg/it s": b"\xff\0\n", "pkg/in": b"line\n" * 100_000}


def test_exit_codes_are_those_of_a_shell(box: Open) -> None:
    done = [box.sh(text) for text in ("exit 3", "kill -9 $$", "no-such-program")]
    assert [(each.exit_code, each.ended) for each in done] == [
        (3, Ended.EXITED), (137, Ended.KILLED), (127, Ended.EXITED),
    ]  # fmt: skip
    assert box.run(Command(("{python}", "a"))).stdout == "python of the root: a\n"


def test_a_change_or_path_that_leaves_the_tree_is_refused(box: Open) -> None:
    with pytest.raises(UsageError, match="leaves the tree"):
        box.sh("true", {"../outside": b""})
    with pytest.raises(UsageError, match="leaves the tree"):
        box.run(Command(("true",), collect=("/etc/passwd",)))


def test_when_the_time_is_up_the_output_is_kept_and_the_container_gone(box: Open) -> None:
    before = time.monotonic()
    done = box.sh("echo out; echo err >&2; setsid sleep 60 & sleep 60", limits=Limits(time_s=1))
    assert (done.exit_code, done.ended, done.stdout, done.stderr) == (None, Ended.TIMED_OUT, "out\n", "err\n")
    assert time.monotonic() - before < 15
    assert containers(box) == []


def test_of_endless_output_head_and_tail_are_kept(box: Open) -> None:
    text = "echo first; head -c 20000000 /dev/zero; echo; echo last; echo one >&2; head -c 500000 /dev/zero >&2; echo two >&2"
    done = box.sh(text, limits=Limits(time_s=60, output_kb=16))
    assert done.stdout.startswith("first\n")
    assert done.stdout.endswith("\nlast\n")
    assert "bytes left out" in done.stdout
    assert done.stderr.startswith("one\n")
    assert done.stderr.endswith("two\n")
    assert len(done.stdout) < 17 << 10


def test_memory_processes_and_disk_are_limited_for_each_container_by_itself(box: Open) -> None:
    limits = Limits(time_s=40, processes=20, disk_mb=24, total_memory_mb=16)
    memory = "head -c 24000000 /dev/zero >/tmp/a; head -c 24000000 /dev/zero >/dev/shm/b; echo $?"
    forks = "n=0; while [ $n -lt 60 ]; do sleep 3 & n=$((n + 1)); done; wait"
    full = "for n in 1 2 3; do head -c 10000000 /dev/zero >/tmp/$n; done"
    tree = (
        "n=0; while [ $n -lt 9 ]; do n=$((n + 1)); head -c 20000000 /dev/zero >f$n; sleep 0.5; done; sleep 20"
    )
    modest = "sleep 1; echo fine"

    async def at_once() -> list[Completed]:
        commands = [Command(("sh", "-c", text)) for text in (memory, forks, full, tree, modest, modest)]
        return await asyncio.gather(*(box.sandbox.run(command, limits=limits) for command in commands))

    killed, forked, filled, written, *fine = box.runner.run(at_once())
    assert killed.exit_code == 137 or killed.stdout == "137\n", killed
    assert "fork" in forked.stderr, forked
    assert filled.stderr.count("No space left on device") == 1, filled
    assert (written.ended, written.stderr) == (Ended.KILLED, "[more than 24 MiB were written]\n")
    assert [(each.exit_code, each.stdout) for each in fine] == [(0, "fine\n")] * 2
    assert containers(box) == []


def test_cancelling_leaves_no_container(box: Open) -> None:
    async def scenario() -> None:
        for wait_s in (0.0, 0.05, 0.3, 2.0):
            task = asyncio.create_task(box.sandbox.run(Command(("sleep", "60"))))
            await asyncio.sleep(wait_s)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    box.runner.run(scenario())
    assert eventually(lambda: containers(box) == [], 5)


def test_a_container_ends_at_its_own_deadline_whatever_runs_in_it(
    box: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after the death of experepair, and of all that it started."""
    monkeypatch.setattr(container_command, "lasts_s", lambda limits: 2)
    done = box.sh("trap '' TERM; kill -9 -1; kill -9 1; kill -STOP 1; while :; do sleep 60; done")
    assert done.exit_code in (137, 255)  # by the first process, or by podman itself
    assert done.duration_s < 20


def test_the_isolation_names_image_and_memory(box: Open) -> None:
    isolation = box.sandbox.isolation
    name = box.images.engine.name
    assert (isolation.backend, isolation.memory) == (name, f"a cgroup of {name}")
    assert len(isolation.image) == 64
    assert box.sandbox.place == str(PLACE)
    assert box.sandbox.interpreter.path == "/usr/bin/python3"


def test_an_image_that_is_not_there_is_named_with_what_gets_it(images: Images, tmp_path: Path) -> None:
    async def scenario() -> None:
        choice = ImageChoice("experepair-test:absent")
        name = images.engine.name
        async with ContainerSandbox(
            name, make_tree(tmp_path / "t"), PLACE, choice, run_root=tmp_path / "run"
        ):
            raise AssertionError

    with pytest.raises(UsageError, match="pull experepair-test:absent"):
        asyncio.run(scenario())
    assert list((tmp_path / "run").iterdir()) == []


def test_a_repository_in_the_image_keeps_its_build_products_and_gets_our_commit(
    images: Images, tmp_path: Path
) -> None:
    root = tmp_path / "root"
    shutil.copytree(images.root, root, symlinks=True)
    inside = root / "testbed"
    inside.mkdir()
    (inside / "gone.py").write_text("tracked by the image's commit only\n")
    git = ["git", "-C", str(inside), "-c", "user.name=x", "-c", "user.email=x@example.org"]
    called("git", "init", "-q", str(inside))
    called(*git, "add", ".")
    called(*git, "commit", "-qm", "later")
    (inside / "built.so").write_text("built\n")
    conda = root / "opt/miniconda3/envs/testbed/bin"
    conda.mkdir(parents=True)
    shutil.copy(root / "usr/bin/python3", conda / "python")
    choice = ImageChoice(images.make("WORKDIR /testbed", root=root))

    async def scenario() -> None:
        tree = make_tree(tmp_path / "t")
        async with ContainerSandbox(
            images.engine.name, tree, PLACE, choice, run_root=tmp_path / "run"
        ) as box:
            assert box.place == "/testbed"
            assert box.interpreter.path == "/opt/miniconda3/envs/testbed/bin/python"
            done = await box.run(
                Command(("sh", "-c", "pwd; ls; echo x >>built.so; cat built.so .git/HEAD; ls .git"))
            )
            assert done.stdout == "/testbed\nbuilt.so\npkg\nrun.sh\nbuilt\nx\nref: refs/heads/main\nHEAD\n"

    asyncio.run(scenario())
    assert images.left(tmp_path) == []


def test_an_environment_that_is_closed_to_others_is_used_as_root_without_privileges(
    images: Images, tmp_path: Path
) -> None:
    root = tmp_path / "root"
    shutil.copytree(images.root, root, symlinks=True)
    (root / "root" / "env").mkdir(parents=True)
    (root / "root").chmod(0o700)
    (root / "usr" / "bin" / "python3").rename(root / "root" / "env" / "python3")
    choice = ImageChoice(images.make(root=root), python="/root/env/python3")

    async def scenario() -> None:
        tree = make_tree(tmp_path / "t")
        async with ContainerSandbox(
            images.engine.name, tree, PLACE, choice, run_root=tmp_path / "run"
        ) as box:
            assert any("root of the container" in note for note in box.isolation.notes)
            done = await box.run(
                Command(
                    (
                        "sh",
                        "-c",
                        "id -u; {python} x; echo >>run.sh; touch .git/x; grep CapEff /proc/self/status",
                    )
                )
            )
            assert done.stdout == f"0\npython of the root: x\nCapEff:\t{'0' * 16}\n"
            assert ".git/x" in done.stderr

    asyncio.run(scenario())


def test_an_image_without_a_timeout_program_has_a_deadline_too(
    images: Images, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "root"
    shutil.copytree(images.root, root, symlinks=True)
    (root / "usr" / "bin" / "timeout").unlink()
    choice = ImageChoice(images.make(root=root))

    async def scenario() -> None:
        tree = make_tree(tmp_path / "t")
        async with ContainerSandbox(
            images.engine.name, tree, PLACE, choice, run_root=tmp_path / "run"
        ) as box:
            command = Command(("sh", "-c", "cat; cat run.sh >out; exit 5"), stdin=b"in", collect=("out",))
            done = await box.run(command, {"run.sh": b"new"})
            assert (done.exit_code, done.stdout, done.files) == (5, "in", {"out": b"new"})
            monkeypatch.setattr(container_command, "lasts_s", lambda limits: 2)
            done = await box.run(Command(("sleep", "60")))
            assert done.exit_code in (137, 255)
            assert done.duration_s < 20

    asyncio.run(scenario())
    assert images.left(tmp_path) == []


SIZED = """#!/bin/sh
# An engine whose storage driver holds the size of a layer, as of xfs with quotas: here by a tmpfs.
n=$#
while [ $n -gt 0 ]; do
    n=$((n - 1)) word=$1
    shift
    if [ "$word" = --storage-opt ]; then
        n=$((n - 1))
        set -- "$@" --mount "type=tmpfs,destination={place},tmpfs-mode=1777,tmpfs-size=${{1#size=}}"
        shift
    else
        set -- "$@" "$word"
    fi
done
exec {engine} "$@"
"""


def test_where_the_storage_driver_limits_a_layer_no_more_than_the_limit_is_written(
    images: Images, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if images.engine.name != "podman":
        pytest.skip("only podman fills a tmpfs with what the image has there")
    program = tmp_path / "bin" / "podman"
    program.parent.mkdir()
    program.write_text(SIZED.format(place=PLACE, engine=images.engine.words[0]))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent), prepend=":")

    async def scenario() -> Completed:
        choice, tree = ImageChoice(images.made[0]), make_tree(tmp_path / "t")
        async with ContainerSandbox("podman", tree, PLACE, choice, run_root=tmp_path / "run") as box:
            assert box.isolation.notes == ()
            text = "for n in 1 2 3 4 5 6; do head -c 6000000 /dev/zero >f$n; done; cat f* | wc -c; cat run.sh"
            return await box.run(Command(("sh", "-c", text)), limits=Limits(time_s=30, disk_mb=16))

    done = asyncio.run(scenario())
    assert 15 << 20 < int(done.stdout.split()[0]) <= 16 << 20
    assert "No space left on device" in done.stderr
    assert done.stdout.endswith("echo original\n")


PARENT = """
import asyncio, sys
from pathlib import Path
from experepair.domain.command import Command
from experepair.sandbox.container import ContainerSandbox
from experepair.sandbox.image import ImageChoice
engine, tree, run_root, image = sys.argv[1:]

async def main():
    box = ContainerSandbox(engine, Path(tree), Path("/home/x/y"), ImageChoice(image), run_root=Path(run_root))
    async with box as sandbox:
        command = Command(("sh", "-c", "trap '' TERM; setsid sleep 60 & while :; do sleep 60; done"))
        runs = [asyncio.create_task(sandbox.run(command)) for _ in range(2)]
        print("running", flush=True)
        await asyncio.gather(*runs)

asyncio.run(main())
"""


@pytest.mark.parametrize("way", [signal.SIGKILL, signal.SIGINT])
def test_nothing_outlives_kill_9_or_ctrl_c(images: Images, tmp_path: Path, way: signal.Signals) -> None:
    tree, run_root = make_tree(tmp_path / "t"), tmp_path / "run"
    words = [images.engine.name, str(tree), str(run_root), images.made[0]]
    environment = {**os.environ, "PYTHONPATH": str(Path(experepair.__file__).parents[1])}
    parent = subprocess.Popen([sys.executable, "-c", PARENT, *words], env=environment, stdout=-1, stderr=-3)
    with parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == b"running\n"
        time.sleep(1)
        parent.send_signal(way)
        parent.wait(30)
        before = time.monotonic()
        assert eventually(lambda: images.left(run_root, "container") == [], 10)
        containers_s = time.monotonic() - before
        assert eventually(lambda: images.left(run_root) == [], 10)
    assert containers_s < 5 * max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))
    assert way is signal.SIGKILL or list(run_root.iterdir()) == []


def test_the_next_start_removes_what_dead_processes_left_and_nothing_else(
    images: Images, tmp_path: Path
) -> None:
    def made(lock: Path) -> str:
        words = [
            word
            for name, value in leftovers.labels(lock, 600).items()
            for word in ("--label", f"{name}={value}")
        ]
        return called(*images.engine.words, "create", *words, images.made[0], "sh").strip()

    with RunFolder(tmp_path / "run") as living:
        dead, alive = made(tmp_path / "run" / "dead.lock"), made(living.lock)
        try:
            removed = asyncio.run(clean(tmp_path / "run"))
            assert f"{images.engine.name} container {dead[:12]}" in removed
            assert images.left(tmp_path) == [alive]
        finally:
            subprocess.run([*images.engine.words, "rm", "-f", dead, alive], capture_output=True, check=False)


def test_leftovers_are_told_by_their_lock_and_elsewhere_by_their_deadline(tmp_path: Path) -> None:
    with RunFolder(tmp_path) as living:
        held = leftovers.labels(living.lock, -5)
        assert not leftovers.is_leftover(held)
    assert leftovers.is_leftover(held)
    elsewhere = {**leftovers.labels(tmp_path / "x.lock", 600), "experepair.boot": "another"}
    assert not leftovers.is_leftover(elsewhere)
    assert leftovers.is_leftover({**elsewhere, "experepair.deadline": "1"})
    assert not leftovers.is_leftover({**elsewhere, "experepair.deadline": "soon"})
    assert not leftovers.is_leftover({})


def test_without_an_engine_the_error_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    for name in ENGINES:
        with pytest.raises(SandboxUnavailable, match=f"apt-get install {name}"):
            asyncio.run(find_engine(name))
    removed = asyncio.run(clean(tmp_path))
    assert [
        each for each in removed if not each.startswith("cgroup")
    ] == []  # a killed run's groups may be there


def test_a_daemon_that_does_not_answer_is_reported(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program = tmp_path / "docker"
    program.write_text("#!/bin/sh\necho 'Cannot connect to the Docker daemon' >&2\nexit 1\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    with pytest.raises(SandboxUnavailable, match="Cannot connect to the Docker daemon\nstart it"):
        asyncio.run(find_engine("docker"))


@pytest.mark.parametrize(
    "choice", [ImageChoice("--privileged"), ImageChoice("x", workdir="../y"), ImageChoice("x", workdir="/")]
)
def test_names_that_would_be_options_or_roots_are_refused(choice: ImageChoice) -> None:
    from experepair.sandbox.image import examine_image

    with pytest.raises(UsageError):
        asyncio.run(examine_image(Engine("docker", ("false",)), choice, PLACE, {}))
