"""What commands see and may do."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from boxes import Box
from experepair.domain.command import Command, Ended
from experepair.errors import SandboxUnavailable, UsageError
from experepair.sandbox.bubblewrap import BubblewrapSandbox
from experepair.sandbox.bwrap_command import Copy
from experepair.sandbox.interpreter import Interpreter, find_interpreter
from experepair.sandbox.sandbox import Limits

AS_ROOT = pytest.mark.skipif(os.getuid() != 0, reason="about commands of root")


def snapshot(tree: Path) -> dict[str, bytes | None]:
    return {
        str(path.relative_to(tree)): path.read_bytes() if path.is_file() else None
        for path in sorted(tree.rglob("*"))
    }


def test_commands_see_the_tree_at_the_path_of_the_users_checkout(any_open_box: Box) -> None:
    done = any_open_box.sh("pwd; cat pkg/__init__.py; readlink link; ./run.sh")
    assert done.stdout == f"{any_open_box.mount_at}\nvalue = 'original'\npkg\noriginal\n"


def test_a_checkout_below_tmp_or_usr_is_seen_there_too(box: Box) -> None:
    for place in ("/tmp/deep/er/project", "/usr/src/nowhere/project", "/opt/project"):
        box.mount_at = Path(place)
        assert box.sh("pwd; touch written && cat run.sh").stdout.startswith(f"{place}\n#!/bin/sh")


def test_what_a_command_writes_is_gone_afterwards(every_box: Box) -> None:
    before = snapshot(every_box.tree)

    async def scenario(sandbox: BubblewrapSandbox) -> None:
        first = await sandbox.run(
            Command(("sh", "-c", "rm -r pkg && mkdir pkg && echo new >pkg/new && rm run.sh && ls . pkg"))
        )
        assert first.stdout == ".:\nlink\npkg\n\npkg:\nnew\n"
        second = await sandbox.run(Command(("sh", "-c", "ls . pkg")))
        assert second.stdout == ".:\nlink\npkg\nrun.sh\n\npkg:\n__init__.py\n"

    every_box.use(scenario)
    assert snapshot(every_box.tree) == before


def test_changes_are_laid_over_the_tree_and_keep_permissions(every_box: Box) -> None:
    changes = {
        "pkg/__init__.py": None,
        "run.sh": b"#!/bin/sh\necho changed\n",
        "a b/c'd/new.py": b"\xff\x00\n",
        "absent": None,
    }
    done = every_box.run(
        Command(("sh", "-c", './run.sh; ls pkg; cat "a b/c\'d/new.py"; echo >>run.sh; touch "a b/more"')),
        changes,
    )
    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout == "changed\n�\x00\n"


def test_a_change_that_leaves_the_tree_is_refused_before_anything_runs(open_box: Box) -> None:
    with pytest.raises(UsageError, match="leaves the tree"):
        open_box.sh("true", {"../outside": b""})


@pytest.mark.parametrize(
    "command", [Command(("true",), cwd="../x"), Command(("true",), collect=("/etc/passwd",))]
)
def test_other_paths_of_a_command_may_not_leave_the_tree_either(open_box: Box, command: Command) -> None:
    with pytest.raises(UsageError, match="leaves the tree"):
        open_box.run(command)


def test_the_git_folder_is_read_only(any_open_box: Box) -> None:
    done = any_open_box.sh(
        "cat .git/HEAD; echo x >.git/HEAD; touch .git/new; rm -r .git; mv .git elsewhere; cat .git/HEAD"
    )
    assert done.stdout == "ref: refs/heads/main\n" * 2
    assert done.stderr.count("Read-only file system") >= 2


def test_the_environment_is_an_allow_list(open_box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "canary")
    done = open_box.run(
        Command(("{python}", "-c", "import os; print(dict(os.environ))"), env=(("EXTRA", "a 'b'\n"),))
    )
    assert "canary" not in done.stdout
    assert "'EXTRA': \"a 'b'\\n\"" in done.stdout
    for expected in ("'PYTHONHASHSEED': '0'", "'TZ': 'UTC'", "'LANG': 'C.UTF-8'", "'TERM': 'dumb'"):
        assert expected in done.stdout


def test_home_and_the_rest_of_the_disk_are_hidden(any_open_box: Box, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("canary")
    done = any_open_box.sh(f"cat {secret} {Path.home()}/.* /etc/shadow; cat /proc/*/environ; ls -A /var /run")
    assert "canary" not in done.stdout
    assert f"{secret}: No such file" in done.stderr
    assert any_open_box.sh("touch ~/x && cd && pwd && ls").stdout == "/home/user\nx\n"


@contextmanager
def listening() -> Iterator[tuple[int, str]]:
    name = f"experepair-test-{os.getpid()}"
    with socket.create_server(("127.0.0.1", 0)) as tcp, socket.socket(socket.AF_UNIX) as unix:
        unix.bind("\0" + name)
        unix.listen()
        yield tcp.getsockname()[1], name


REACH = """
import socket
for family, kind, target in (
    (socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", {port})),
    (socket.AF_UNIX, socket.SOCK_STREAM, "\\0{name}"),
):
    with socket.socket(family, kind) as tried:
        print(tried.connect_ex(target) == 0)
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
    try:
        udp.sendto(b"x", ("192.0.2.1", 9))
        print("sent")
    except OSError as error:
        print(error.strerror)
"""


def test_nothing_outside_can_be_reached_over_the_network(any_open_box: Box) -> None:
    with listening() as (port, name):
        script = REACH.format(port=port, name=name)
        outside = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
        inside = any_open_box.python(script)
    assert outside.stdout.startswith("True\nTrue\n")
    assert inside.stdout == "False\nFalse\nNetwork is unreachable\n"


def test_the_loopback_of_its_own_works(open_box: Box) -> None:
    done = open_box.python(
        "import socket\n"
        "with socket.create_server(('127.0.0.1', 0)) as s, socket.create_connection(s.getsockname()): print('ok')"
    )
    assert done.stdout == "ok\n"


def test_commands_have_no_privileges_and_can_not_get_any(any_open_box: Box) -> None:
    done = any_open_box.sh(
        "id -u; id -un; grep -E 'Cap(Prm|Eff|Bnd)|NoNewPrivs' /proc/self/status | tr -s '\\t' ' '; "
        "unshare -U true || echo refused; cat /proc/sys/kernel/hostname"
    )
    zeros = "0" * 16
    assert done.stdout == (
        f"1000\nuser\nCapPrm: {zeros}\nCapEff: {zeros}\nCapBnd: {zeros}\nNoNewPrivs: 1\nrefused\nsandbox\n"
    )


def test_commands_see_only_their_own_processes(any_open_box: Box) -> None:
    done = any_open_box.sh("ls /proc | grep -c '^[0-9]'")
    assert int(done.stdout) < 8


def test_only_the_tree_and_private_folders_can_be_written(any_open_box: Box) -> None:
    places = ["/x", "/usr/x", "/etc/x", "/dev/x", "/run/x", "/home/x", "/tmp/x", "/dev/shm/x", "~/x", "./x"]
    done = any_open_box.sh("".join(f"touch {place} 2>/dev/null && echo {place}; " for place in places))
    assert done.stdout == "/tmp/x\n/dev/shm/x\n/home/user/x\n./x\n"


def test_stdin_arrives_whole_and_ends(open_box: Box) -> None:
    data = b"line\n" * 200_000
    done = open_box.run(Command(("sh", "-c", "read first; echo $first; wc -c"), stdin=data))
    assert done.stdout == f"line\n{len(data) - 5}\n"


def test_a_command_that_ignores_its_stdin_ends_normally(open_box: Box) -> None:
    assert open_box.run(Command(("true",), stdin=b"x" * 1_000_000)).exit_code == 0


def test_exit_codes_are_those_of_a_shell(any_open_box: Box) -> None:
    async def scenario(sandbox: BubblewrapSandbox) -> None:
        for text, code, ended in (
            ("exit 3", 3, Ended.EXITED),
            ("kill -9 $$", 137, Ended.KILLED),
            ("kill -SEGV $$", 139, Ended.KILLED),
        ):
            for collect in ((), ("out",)):
                done = await sandbox.run(Command(("sh", "-c", text), collect=collect))
                assert (done.exit_code, done.ended, done.stderr) == (code, ended, ""), text

    any_open_box.use(scenario)


def test_a_program_that_is_not_there_is_a_result(open_box: Box) -> None:
    done = open_box.run(Command(("no-such-program",)))
    assert done.exit_code == 127
    assert "not found" in done.stderr


def test_collected_files_come_back_and_absent_ones_do_not(any_open_box: Box) -> None:
    done = any_open_box.run(
        Command(
            ("sh", "-c", "mkdir out; printf 'a\\n0 5\\0b' >'out/it s.xml'; echo two >two; echo seen; exit 4"),
            collect=("pkg/out/it s.xml", "absent", "pkg/two", "pkg/out"),
            cwd="pkg",
        )
    )
    assert done.files == {"pkg/out/it s.xml": b"a\n0 5\0b", "pkg/two": b"two\n"}
    assert (done.stdout, done.exit_code) == ("seen\n", 4)


def test_a_collected_file_is_cut_off_when_it_is_huge(open_box: Box) -> None:
    done = open_box.run(
        Command(("sh", "-c", "head -c 20000000 /dev/zero >big; echo small >small"), collect=("big", "small"))
    )
    assert {path: len(content) for path, content in done.files.items()} == {"big": 16 << 20, "small": 6}


def test_a_collected_link_leads_nowhere_outside(open_box: Box, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("canary")
    command = Command(("ln", "-s", str(tmp_path / "secret"), "out"), collect=("out",))
    assert open_box.run(command).files == {}


def test_python_stands_for_the_interpreter_anywhere_in_the_command(open_box: Box) -> None:
    done = open_box.sh("exec {python} -c 'import sys; print(sys.executable)'")
    assert done.stdout == f"{open_box.interpreter.path}\n"


def test_commands_begin_in_their_working_directory(open_box: Box) -> None:
    assert open_box.run(Command(("pwd",), cwd="pkg")).stdout == f"{open_box.mount_at}/pkg\n"


def make_venv(folder: Path, paths: str = "") -> Path:
    base = getattr(sys, "_base_executable", sys.executable)
    subprocess.run([base, "-m", "venv", "--without-pip", str(folder)], check=True)
    for site in folder.glob("lib/python*/site-packages"):
        (site / "editable.pth").write_text(paths)
    return folder / "bin" / "python"


@AS_ROOT
def test_repository_and_interpreter_may_lie_in_a_closed_home(any_box: Box, tmp_path: Path) -> None:
    home = tmp_path / "home"
    (home / "project").mkdir(parents=True)
    any_box.tree.rename(home / "checkout")
    any_box.tree = home / "checkout"
    any_box.mount_at = home / "project"
    any_box.interpreter = find_interpreter(home / "project", str(make_venv(home / "venv")))
    home.chmod(0o700)
    before = {path: path.lstat().st_mode for path in home.rglob("*")}
    done = any_box.python("import sys, pkg, json; print(sys.prefix, pkg.value)")
    assert (done.stdout, done.stderr) == (f"{home}/venv original\n", "")
    assert home.stat().st_mode & 0o777 == 0o700
    assert {path: path.lstat().st_mode for path in home.rglob("*")} == before


def test_an_editable_install_of_a_src_layout_imports_the_patched_code(any_box: Box, tmp_path: Path) -> None:
    repository = tmp_path / "repository"
    for root in (repository, any_box.tree):
        (root / "src" / "lib").mkdir(parents=True)
        (root / "src" / "lib" / "__init__.py").write_text("value = 'broken'\n")
    make_venv(repository / ".venv", f"{repository}/src\n")
    any_box.interpreter = find_interpreter(repository, environ={})
    any_box.mount_at = repository
    command = Command(("{python}", "-c", "import lib; print(lib.value, lib.__file__)"), cwd="pkg")
    done = any_box.run(command, {"src/lib/__init__.py": b"value = 'patched'\n"})
    assert done.stdout == f"patched {repository}/src/lib/__init__.py\n", done.stderr


def test_eight_at_once_do_not_see_each_other(any_open_box: Box) -> None:
    async def scenario(sandbox: BubblewrapSandbox) -> None:
        text = "echo $0 >>run.sh; echo $0 >>/tmp/x; sleep 0.3; cat run.sh /tmp/x"
        commands = [Command(("sh", "-c", text, f"number{n}")) for n in range(8)]
        results = await asyncio.gather(*map(sandbox.run, commands))
        for number, done in enumerate(results):
            assert done.stdout == f"#!/bin/sh\necho original\nnumber{number}\nnumber{number}\n"

    any_open_box.use(scenario)


def test_a_folder_that_overlays_can_not_express_is_still_usable(box: Box) -> None:
    """A file of a foreign group, as a set-gid folder makes them."""
    if os.getuid() == 0:
        os.chown(box.tree / "run.sh", 12345, 54321)
    elif len(groups := os.getgroups()) > 1:
        os.chown(box.tree / "run.sh", -1, next(group for group in groups if group != os.getgid()))
    assert box.sh("echo more >>run.sh && rm run.sh && echo ok").stdout == "ok\n"


def test_the_isolation_says_how_the_copy_is_made(every_box: Box) -> None:
    async def scenario(sandbox: BubblewrapSandbox) -> None:
        assert sandbox.isolation.backend == "bubblewrap"
        assert sandbox.isolation.tree == every_box.copies[0]

    every_box.use(scenario)


def test_without_bubblewrap_the_error_says_what_to_install(box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(SandboxUnavailable, match="apt-get install bubblewrap"):
        box.sh("true")


def test_a_bubblewrap_that_is_refused_names_what_it_said(
    box: Box, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused = tmp_path / "bin" / "bwrap"
    refused.parent.mkdir()
    refused.write_text("#!/bin/sh\necho 'bwrap: setting up uid map: Permission denied' >&2\nexit 1\n")
    refused.chmod(0o755)
    monkeypatch.setenv("PATH", str(refused.parent), prepend=":")
    with pytest.raises(SandboxUnavailable, match="setting up uid map: Permission denied"):
        box.sh("true")
    assert list(box.run_root.iterdir()) == []


def test_a_checkout_that_vanishes_is_reported(box: Box) -> None:
    async def scenario(sandbox: BubblewrapSandbox) -> None:
        box.tree.rename(box.tree.with_name("gone"))
        with pytest.raises(SandboxUnavailable, match="no longer works"):
            await sandbox.run(Command(("true",)))

    box.use(scenario)


def test_the_next_way_of_copying_is_taken_when_one_is_refused(
    box: Box, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where a security profile lets bwrap make namespaces, and its children mount nothing."""
    monkeypatch.setattr("experepair.sandbox.bwrap_command._OVERLAY_OPTIONS", "no-such-option")
    box.copies = tuple(Copy)

    async def scenario(sandbox: BubblewrapSandbox) -> None:
        assert sandbox.isolation.tree == "copied tree"
        assert [note.split(":")[0] for note in sandbox.isolation.notes[:2]] == [
            "no overlay",
            "no overlay on disk",
        ]
        assert (await sandbox.run(Command(("cat", "run.sh")))).exit_code == 0

    box.use(scenario)


def test_an_interpreter_given_by_hand_is_used_as_it_is(box: Box) -> None:
    box.interpreter = Interpreter("/usr/bin/env")
    assert box.run(Command(("{python}", "echo", "hello"))).stdout == "hello\n"


def test_limits_given_with_a_command_replace_those_of_the_sandbox(open_box: Box) -> None:
    assert open_box.sh("ulimit -c; ulimit -v", limits=Limits(memory_mb=100)).stdout == "0\n102400\n"
