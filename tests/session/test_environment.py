"""Environments as users have them: what is imported in the sandbox, and what is said when it isn't the tree."""

from __future__ import annotations

import asyncio
import shlex
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import toy
from experepair.domain.command import Changes, Command, Completed
from experepair.errors import UsageError
from experepair.folders import cache_folder
from experepair.journal.journal import Journal
from experepair.sandbox.interpreter import find_interpreter
from experepair.sandbox.journalled import JournalledSandbox
from experepair.sandbox.normalise import normalise
from experepair.sandbox.open import open_sandbox
from experepair.session.environment import Environment, examine, prepare
from experepair.session.environment.preflight import Verdict
from experepair.session.repair import repair
from experepair.session.settings import Settings
from experepair.workspace.checkout import checkout
from experepair.workspace.repository import Repository
from repositories import git, make_repository
from roots import make_python

BASE = getattr(sys, "_base_executable", sys.executable)
PROJECT = '[project]\nname = "mypkg"\nrequires-python = ">=3.8"\n'
SRC = {"pyproject.toml": PROJECT, "src/mypkg/__init__.py": "VALUE = 1\n"}
WHERE = Command(("{python}", "-c", "import mypkg; print(mypkg.__file__, mypkg.VALUE)"))


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home closed to others, with the repositories in it."""
    folder = tmp_path / "home"
    folder.mkdir(mode=0o700)
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)
    monkeypatch.delenv("CONDA_PREFIX", raising=False)
    return folder


def venv(folder: Path) -> Path:
    subprocess.run([BASE, "-m", "venv", "--without-pip", folder], check=True)
    (site,) = folder.glob("lib/python3*/site-packages")
    return site


async def _seen(
    repo: Path, settings: Settings, commands: tuple[tuple[Command, Changes], ...]
) -> tuple[Environment, list[Completed], tuple[str, ...]]:
    repository = Repository.open(repo)
    tree = checkout(repository, repository.resolve("HEAD"), cache_folder() / "checkouts")
    interpreter = find_interpreter(repository.root, settings.python)
    opening = partial(open_sandbox, settings.sandbox, mount_at=repository.root, limits=settings.limits)
    ground = await prepare(tree, repository, interpreter, settings, opening)
    async with opening(tree=ground.tree, interpreter=ground.interpreter) as sandbox:
        with Journal.in_memory() as journal:
            clean = partial(normalise, root=str(repository.root), interpreter=ground.interpreter)
            boxed = JournalledSandbox(sandbox, journal, clean)
            environment = await examine(boxed, tree, repository.root, ground.surroundings)
            done = [await boxed.run(command, changes) for command, changes in commands]
    return environment, done, ground.notes


def seen(
    repo: Path, *commands: Command, changes: Changes | None = None, **settings: Any
) -> tuple[Environment, list[Completed], tuple[str, ...]]:
    """What examining the repository, and running commands there, comes to."""
    asked = tuple((command, changes or {}) for command in commands)
    return asyncio.run(_seen(repo, Settings(**settings), asked))


def test_an_editable_install_in_an_environment_under_a_closed_home_imports_the_patched_code(
    home: Path,
) -> None:
    repo = make_repository(home / "repo", {**SRC, "pyproject.toml": PROJECT, ".gitignore": "/.venv\n"})
    (venv(repo / ".venv") / "__editable__.mypkg.pth").write_text(f"{repo}/src\n")
    patched = {"src/mypkg/__init__.py": b"VALUE = 2\n"}
    environment, (done,), _ = seen(repo, WHERE, changes=patched)
    assert environment.preflight.verdict is Verdict.PROVED
    assert done.stdout == "src/mypkg/__init__.py 2\n"


def test_a_src_layout_that_is_not_installed_is_imported_all_the_same(home: Path) -> None:
    environment, _, _ = seen(make_repository(home / "repo", SRC), python=BASE)
    assert environment.preflight.verdict is Verdict.PROVED
    assert environment.preflight.found == "mypkg: a planted sentinel was seen"


def test_a_folder_that_only_the_configuration_names_is_on_the_import_path(home: Path) -> None:
    files = {
        "pyproject.toml": PROJECT + '[tool.setuptools.packages.find]\nwhere = ["code/python"]\n',
        "code/python/mypkg/__init__.py": "",
    }
    assert seen(make_repository(home / "repo", files), python=BASE)[0].preflight.verdict is Verdict.PROVED


def test_an_environment_of_conda_is_found_and_brings_its_packages_programs_and_prefix(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prefix = home / "conda" / "envs" / "work"
    (make_python(prefix) / "dependency.py").write_text("")
    (prefix / "conda-meta").mkdir()
    (prefix / "bin" / "tool").write_text('#!/bin/sh\necho "$CONDA_PREFIX"\n')
    (prefix / "bin" / "tool").chmod(0o755)
    repo = make_repository(home / "repo", {"mypkg/__init__.py": "import dependency\n"})
    assert find_interpreter(repo, str(prefix)).found == "--python"
    monkeypatch.setenv("CONDA_PREFIX", str(prefix))
    assert find_interpreter(repo).found == "CONDA_PREFIX"
    where = Command(("{python}", "-c", "import sys; print(sys.base_prefix == sys.prefix)"))
    environment, done, _ = seen(repo, Command(("tool",)), where)
    assert environment.preflight.verdict is Verdict.PROVED
    assert [one.stdout for one in done] == ["<python>\n", "True\n"]


def test_without_any_environment_a_missing_dependency_is_named_with_a_remedy(home: Path) -> None:
    repo = make_repository(home / "repo", {"mypkg/__init__.py": "import yaml_of_no_one\n"})
    preflight = seen(repo, python=BASE)[0].preflight
    assert preflight.verdict is Verdict.FAILED
    assert "'yaml_of_no_one' is a dependency" in preflight.found
    assert f"{BASE} -m pip install yaml_of_no_one" in preflight.remedy
    with pytest.raises(UsageError, match="--no-preflight"):
        preflight.refuse()


def test_a_project_that_is_editable_beside_the_repository_is_shown_to_the_sandbox(home: Path) -> None:
    beside = make_repository(home / "other", {"pyproject.toml": "", "src/dependency.py": "X = 1\n"})
    (home / "secret.py").write_text("")
    repo = make_repository(home / "repo", {"mypkg/__init__.py": "import dependency\n"})
    site = venv(repo / ".venv")
    (site / "__editable__.dependency.pth").write_text(f"{beside}/src\n{home}\n")
    look = Command(("sh", "-c", f"ls {home}"))
    environment, (done,), _ = seen(repo, look)
    assert environment.preflight.verdict is Verdict.PROVED
    assert done.stdout.split() == ["other", "repo"]


def test_an_installed_copy_that_shadows_the_tree_is_refused(home: Path) -> None:
    files = {"pyproject.toml": PROJECT, "sub/pyproject.toml": "", "sub/python/mypkg/__init__.py": ""}
    repo = make_repository(home / "repo", files)
    site = venv(repo / ".venv")
    (site / "mypkg").mkdir()
    (site / "mypkg" / "__init__.py").write_text("")
    preflight = seen(repo)[0].preflight
    assert preflight.verdict is Verdict.FAILED
    assert "would import the installed copy of 'mypkg'" in preflight.found
    assert "pip install -e" in preflight.remedy


@pytest.mark.parametrize(
    "broken",
    [
        "raise ValueError('no settings')",
        "def (",
        "import os; os._exit(0)",
        "from mypkg import nothing",
        "import imp_of; 1/0",
    ],
)
def test_what_may_be_the_issue_itself_is_noted_and_not_refused(home: Path, broken: str) -> None:
    files = {"mypkg/__init__.py": broken, "imp_of/__init__.py": ""}
    preflight = seen(make_repository(home / "repo", files), python=BASE)[0].preflight
    assert preflight.verdict in (Verdict.UNDECIDED, Verdict.PROVED)
    preflight.refuse()


def test_scripts_without_a_package_need_no_proof(home: Path) -> None:
    environment = seen(make_repository(home / "repo", {"run.py": "", "tests/__init__.py": ""}), python=BASE)[
        0
    ]
    assert (environment.preflight.verdict, environment.notes) == (Verdict.UNDECIDED, ())


def test_a_package_that_asks_for_its_own_metadata_must_be_installed(home: Path) -> None:
    files = {"mypkg/__init__.py": "import importlib.metadata as m\nm.version('mypkg-of-no-one')\n"}
    preflight = seen(make_repository(home / "repo", files), python=BASE)[0].preflight
    assert preflight.verdict is Verdict.FAILED
    assert "pip install -e" in preflight.remedy


GENERATED = {
    **SRC,
    "src/mypkg/__init__.py": "from mypkg._version import VALUE\n",
    ".gitignore": "_version.py\n*.so\n",
}


def test_a_generated_file_is_asked_for_by_its_flag_and_name_and_laid_under_the_tree(home: Path) -> None:
    repo = make_repository(home / "repo", {".gitignore": GENERATED[".gitignore"]})
    for path, content in GENERATED.items():
        (repo / path).parent.mkdir(parents=True, exist_ok=True)
        (repo / path).write_text(content)
    git(repo, "add", "--all")
    git(repo, "commit", "--quiet", "--message=package")
    absent = seen(repo, python=BASE)[0].preflight
    assert absent.verdict is Verdict.FAILED
    assert "src/mypkg/_version is made by a build" in absent.found
    (repo / "src/mypkg/_version.py").write_text("VALUE = 7\n")
    (repo / "src/mypkg/_fast.so").write_bytes(b"\x7fELF")
    unlaid, _, notes = seen(repo, python=BASE)
    assert unlaid.preflight.verdict is Verdict.FAILED
    assert "--build-products to lay src/mypkg/_version.py" in unlaid.preflight.remedy
    assert "src/mypkg/_fast.so" in notes[0]
    listing = Command(("sh", "-c", "cat src/mypkg/_version.py; ls src/mypkg/*.so; git status --porcelain"))
    laid, (done,), _ = seen(repo, listing, python=BASE, build_products=True)
    assert laid.preflight.verdict is Verdict.PROVED
    assert done.stdout == "VALUE = 7\nsrc/mypkg/_fast.so\n"
    (repo / "src/mypkg/_version.py").write_text("VALUE = 8\n")
    assert seen(repo, listing, python=BASE, build_products=True)[1][0].stdout.startswith("VALUE = 8")


def test_build_products_that_are_not_there_are_an_error(home: Path) -> None:
    with pytest.raises(UsageError, match="holds none"):
        seen(make_repository(home / "repo", SRC), python=BASE, build_products=True)


def test_a_set_up_runs_once_and_what_it_changes_stays_in_the_tree_only(home: Path) -> None:
    repo = make_repository(home / "repo", {**GENERATED, "old.txt": "old\n", "data/kept.txt": "kept\n"})
    command = (
        "echo VALUE = $(od -An -N4 -tu4 /dev/urandom) >src/mypkg/_version.py && rm old.txt && mkdir -p new/empty && ln -s ../data new/link && "
        "echo changed >>data/kept.txt && echo told && touch .git/x 2>/dev/null; test -f src/mypkg/_version.py"
    )
    look = Command(("sh", "-c", "cat src/mypkg/_version.py; ls -d old.txt new/empty; cat new/link/kept.txt"))
    first, (one,), notes = seen(repo, look, python=BASE, setup=command)
    assert first.preflight.verdict is Verdict.PROVED
    assert one.stdout.splitlines()[1:] == ["new/empty", "kept", "changed"]
    assert "old.txt" in one.stderr
    assert any("data/kept.txt" in note for note in notes)
    log = Path(next(note for note in notes if "setup.log" in note).split()[-1])
    assert log.read_text().strip() == "told"
    again = seen(repo, look, python=BASE, setup=command)[1][0]
    assert again.stdout == one.stdout
    assert git(repo, "status", "--porcelain", "--ignored") == ""
    assert seen(repo, look, python=BASE, setup=command + " ; true")[1][0].stdout != one.stdout


def test_repairs_at_once_share_one_set_up(home: Path) -> None:
    repo = make_repository(home / "repo", SRC)
    settings = Settings(python=BASE, setup="sleep 0.5; od -An -N4 -tu4 /dev/urandom >made")
    look: tuple[tuple[Command, Changes], ...] = ((Command(("cat", "made")), {}),)

    async def at_once() -> list[str]:
        async with asyncio.timeout(30):
            seen = await asyncio.gather(*(_seen(repo, settings, look) for _ in range(2)))
        return [done.stdout for _, (done,), _ in seen]

    one, other = asyncio.run(at_once())
    assert one == other != ""


def test_a_set_up_can_make_the_environment_that_is_then_used(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"{Path(BASE).parent}:/usr/bin:/bin")
    repo = make_repository(home / "repo", {**SRC, "src/mypkg/__init__.py": "import dependency\n"})
    made = (
        f"{shlex.quote(BASE)} -m venv --without-pip .venv && "
        "echo >$(echo .venv/lib/python3*/site-packages)/dependency.py"
    )
    environment, (done,), _ = seen(
        repo, Command(("{python}", "-c", "import sys; print(sys.prefix)")), setup=made
    )
    assert environment.preflight.verdict is Verdict.PROVED
    assert done.stdout.strip() in (".venv", "<python>", "/repo/.venv")


def test_a_failing_set_up_is_refused_with_the_end_of_its_output_and_tried_again(home: Path) -> None:
    repo = make_repository(home / "repo", SRC)
    flag = repo / "src" / "mypkg" / "flag"
    with pytest.raises(UsageError, match=r"(?s)exit status 3.*setup\.log.*line 40\n.*the end") as caught:
        seen(repo, python=BASE, setup="seq -f 'line %g' 40; echo the end >&2; exit 3")
    assert "line 1\n" not in str(caught.value)
    with pytest.raises(UsageError, match="--setup-network"):
        seen(repo, python=BASE, setup="echo Temporary failure in name resolution; exit 1")
    assert not flag.exists()


def test_a_set_up_reaches_the_network_only_when_it_is_told_to(home: Path) -> None:
    repo = make_repository(home / "repo", SRC)
    routes = "test $(grep -c : /proc/net/dev) -gt 1"
    if subprocess.run(["sh", "-c", routes], check=False).returncode:
        pytest.skip("this machine has no network itself")
    with pytest.raises(UsageError, match="exit status 1"):
        seen(repo, python=BASE, setup=routes)
    seen(repo, python=BASE, setup=routes, setup_network=True)


def test_a_refused_run_leaves_nothing_so_that_its_folder_takes_the_next(home: Path, tmp_path: Path) -> None:
    repo = make_repository(home / "repo", {"toy/__init__.py": "import dependency_of_no_one\n"})
    out = tmp_path / "out"
    for _ in range(2):
        with pytest.raises(UsageError, match="dependency_of_no_one"):
            repair(repo, toy.ISSUE, out=out, replay=toy.model(), python=BASE)
        assert not out.exists()
