"""Finds the Python that a repository's code runs on, and all that it needs, without running the repository's own files."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from experepair.errors import UsageError
from experepair.sandbox.editable import editable_projects

_IN_REPOSITORY = (".venv", "venv", "env", ".pixi/envs/default")
_SHIM_S = 20.0
"""How long a version manager's shim may take to name its Python, in seconds."""


@dataclass(frozen=True, slots=True)
class Interpreter:
    """A Python, as commands in the sandbox call it.

    Attributes:
        path: absolute path of the executable, inside the sandbox.
        prefixes: folders that it needs, each to be bound read-only at its own path.
        links: symbolic links that must stand for it to be found, as (place, target).
        found: where it was found: "--python", "VIRTUAL_ENV", ".venv", "CONDA_PREFIX", "PATH", …
        version: "3.11", or "" when only running it would tell.
        notes: what the user should know about the choice.
        virtual: whether it belongs to a virtual environment.
        conda: whether it belongs to an environment of conda.
    """

    path: str
    prefixes: tuple[str, ...] = ()
    links: tuple[tuple[str, str], ...] = ()
    found: str = "PATH"
    version: str = ""
    notes: tuple[str, ...] = ()
    virtual: bool = False
    conda: bool = False


def find_interpreter(
    repo: Path,
    python: str | None = None,
    environ: Mapping[str, str] | None = None,
    *,
    rootfs: Path | None = None,
) -> Interpreter:
    """The interpreter of `repo`: `python`, else VIRTUAL_ENV, one in `repo` (.venv, venv, env, pixi's), CONDA_PREFIX, python3 on PATH.

    Args:
        repo: the user's checkout.
        python: what the user named: an executable, or the folder of an environment.
        environ: the user's environment variables; default `os.environ`.
        rootfs: look in this root file system; `python` is then a path inside.

    Raises:
        UsageError: there is none, or the named one isn't a Python that can be bound.
    """
    try:
        if rootfs is not None:
            return _in_rootfs(rootfs, python)
        return _on_host(repo, python, os.environ if environ is None else environ)
    except OSError as error:
        raise UsageError(
            f"the interpreter can't be examined: {error.filename!r}: {error.strerror}; give --python another one"
        ) from error


def _on_host(repo: Path, python: str | None, environ: Mapping[str, str]) -> Interpreter:
    if python is not None:
        return _resolve(_named(python, environ), "--python", repo)
    own = Path(sys.prefix).resolve()
    virtual = environ.get("VIRTUAL_ENV")
    if virtual and Path(virtual).resolve() != own:
        executable = Path(virtual, "bin/python")
        if not executable.exists():
            raise UsageError(
                f"VIRTUAL_ENV is {virtual!r}, but {str(executable)!r} isn't there; deactivate it, or give --python"
            )
        return _resolve(executable, "VIRTUAL_ENV", repo)
    for name in _IN_REPOSITORY:
        executable = repo / name / "bin/python"
        if executable.exists():
            return _resolve(executable, name, repo)
    conda = environ.get("CONDA_PREFIX")
    if conda and Path(conda).resolve() != own and Path(conda, "bin/python").exists():
        return _resolve(Path(conda, "bin/python"), "CONDA_PREFIX", repo)
    on_path = shutil.which("python3", path=environ.get("PATH", os.defpath))
    if on_path is None:
        raise UsageError("there is no python3 on PATH; say with --python which one the repository runs on")
    if sys.prefix != sys.base_prefix and own in Path(on_path).absolute().parents:
        base = Path(sys.base_prefix, "bin", f"python{sys.version_info[0]}.{sys.version_info[1]}")
        note = (
            f"{str(own)!r} is experepair's own environment, so its base {str(base)!r} runs the repository; "
            "give --python for another one"
        )
        return _resolve(base, "PATH", repo, note)
    return _resolve(Path(on_path), "PATH", repo)


def _named(python: str, environ: Mapping[str, str]) -> Path:
    path = Path(python).expanduser()
    if path.is_dir():
        path = path / "bin/python"
    if path.name == python:
        on_path = shutil.which(python, path=environ.get("PATH", os.defpath))
        if on_path is None:
            raise UsageError(f"--python {python!r} is not on PATH; give the path of an interpreter")
        return Path(on_path)
    return path


def _resolve(executable: Path, found: str, repo: Path, *notes: str) -> Interpreter:
    executable = executable.absolute()
    flag = "--python" if found == "--python" else f"the interpreter of {found}"
    if not executable.is_file() or not os.access(executable, os.X_OK):
        raise UsageError(f"{flag} {str(executable)!r} is not an executable file")
    if found in ("PATH", "--python") and _is_script(executable):
        executable = _behind_shim(executable, repo, flag)
    executable = Path(os.path.normpath(executable))
    real = executable.resolve()
    environment = executable.parent.parent
    config = _config(environment / "pyvenv.cfg")
    prefixes: list[str] = []
    links: list[tuple[str, str]] = []
    if config is None:
        prefixes.append(str(real.parent.parent))
        executable = real
    else:
        prefixes.append(str(environment))
        homes = [Path(config["home"]).parent] if config.get("home", "").startswith("/") else []
        for prefix in (*homes, real.parent.parent):
            if _library(prefix) is not None:
                prefixes.append(str(prefix))
        for hop, target in _hops(executable):
            if not any(hop.is_relative_to(prefix) for prefix in (*prefixes, "/usr")):
                if _library(hop.parent.parent) is not None:
                    prefixes.append(str(hop.parent.parent))
                else:
                    links.append((str(hop), target))
    base = real.parent.parent
    library = _library(base, real.name)
    if library is None:
        raise UsageError(
            f"{flag} {str(executable)!r} is not a Python that can be used: {str(base)!r} holds no standard library"
        )
    _refuse_wide(prefixes, flag)
    _refuse_unreadable(prefixes, real, library, flag)
    site = (environment / "lib" / library.name if config is not None else library) / "site-packages"
    projects, said = _bindable(editable_projects(site, repo))
    prefixes += projects
    version = library.name.removeprefix("python").removeprefix("pypy")
    return Interpreter(
        path=str(executable),
        prefixes=tuple(dict.fromkeys(prefixes)),
        links=tuple(links),
        found=found,
        version=version,
        notes=(*notes, *said),
        virtual=config is not None,
        conda=(environment / "conda-meta").is_dir(),
    )


def _bindable(projects: tuple[str, ...]) -> tuple[list[str], list[str]]:
    """Those that the sandbox can show, and a note about the others."""
    bindable, notes = [], []
    for project in projects:
        try:
            _refuse_wide([project], "")
            if os.getuid() == 0 and not Path(project).stat().st_mode & 0o005:
                raise UsageError("closed to other users")
        except UsageError:
            notes.append(f"{project!r}, an editable install, is not shown to the sandbox")
        else:
            bindable.append(project)
    return bindable, notes


def _is_script(executable: Path) -> bool:
    with executable.open("rb") as file:
        return file.read(2) == b"#!"


def _behind_shim(shim: Path, repo: Path, flag: str) -> Path:
    """Ask a version manager's shim, a script of the user's own, which Python it stands for in `repo`."""
    try:
        done = subprocess.run(
            [str(shim), "-I", "-S", "-c", "import sys; print(sys.executable)"],
            cwd=repo,
            capture_output=True,
            text=True,
            timeout=_SHIM_S,
            stdin=subprocess.DEVNULL,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UsageError(f"{flag} {str(shim)!r} doesn't start: {error}") from error
    if done.returncode or not done.stdout.startswith("/"):
        raise UsageError(
            f"{flag} {str(shim)!r} doesn't start: {done.stderr.strip()[:500]}; give --python PATH"
        )
    return Path(done.stdout.rstrip("\n"))


def _config(file: Path) -> dict[str, str] | None:
    """Settings of a virtual environment; None when it is none."""
    try:
        lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return None
    pairs = (line.partition("=") for line in lines if "=" in line)
    return {key.strip().lower(): value.strip() for key, _, value in pairs}


def _hops(path: Path) -> Iterator[tuple[Path, str]]:
    """The links from `path` to the file, each with its target as written."""
    for _ in range(40):
        if not path.is_symlink():
            return
        target = str(path.readlink())
        yield path, target
        path = Path(os.path.normpath(path.parent / target))


def _library(prefix: Path, executable: str = "") -> Path | None:
    """Folder of the standard library below `prefix`; with several, the one that the executable's name names."""
    landmarks = sorted(
        (mark.parent for mark in prefix.glob("lib*/py*[0-9]/os.py")),
        key=lambda folder: [int(number) for number in re.findall(r"\d+", folder.name)],
    )
    named = [folder for folder in landmarks if folder.name == executable]
    return (named or landmarks)[-1] if landmarks else None


def _refuse_wide(prefixes: list[str], flag: str) -> None:
    """A prefix is bound with all that is in it: a whole home, or more, must not come along."""
    home = Path(os.path.expanduser("~")).resolve()  # noqa: PTH111 # never raises, unlike Path.home
    for prefix in prefixes:
        path = Path(prefix).resolve()
        if path == Path("/") or home == path or path in home.parents:
            raise UsageError(
                f"{flag} has the prefix {prefix!r}, which would show all of it to the sandbox; "
                "use an environment in a folder of its own"
            )


def _refuse_unreadable(prefixes: list[str], real: Path, library: Path, flag: str) -> None:
    if os.getuid() != 0:
        return
    for needed in (real, library / "os.py", library, *map(Path, prefixes)):
        mode = needed.stat().st_mode
        if not mode & (0o001 if needed.is_dir() or needed == real else 0o004):
            raise UsageError(
                f"{flag} can't be used as root: {str(needed)!r} is closed to other users, and commands run as an "
                "unprivileged one; start experepair as a normal user, or give --python an environment that others may read"
            )


def _in_rootfs(rootfs: Path, python: str | None) -> Interpreter:
    if not rootfs.is_dir():
        raise UsageError(f"--rootfs {str(rootfs)!r} is not a folder")
    if python is None:
        candidates = [f"/{folder}/python3" for folder in ("usr/local/bin", "usr/bin", "bin")]
    elif python.startswith("/"):
        inside = _inside(rootfs, python)
        candidates = [f"{python.rstrip('/')}/bin/python" if inside.is_dir() else python]
    else:
        raise UsageError(f"--python {python!r} must be an absolute path inside --rootfs {str(rootfs)!r}")
    for candidate in candidates:
        real = _inside(rootfs, candidate)
        if real.is_file():
            break
    else:
        raise UsageError(f"there is no {' or '.join(candidates)} in --rootfs {str(rootfs)!r}; give --python")
    environment = os.path.dirname(os.path.dirname(candidate))  # noqa: PTH120 # a path of the other root
    closed = {"home", "root", "mnt", "media", "run", "tmp"}
    prefixes = [
        prefix
        for prefix in (environment, "/" + str(real.parent.parent.relative_to(rootfs.resolve())))
        if prefix.split("/")[1] in closed
    ]
    library = _library(real.parent.parent, real.name)
    version = library.name.removeprefix("python") if library else ""
    found = "--python" if python else f"--rootfs {rootfs}"
    virtual = (_inside(rootfs, environment) / "pyvenv.cfg").is_file()
    conda = (_inside(rootfs, environment) / "conda-meta").is_dir()
    return Interpreter(candidate, tuple(dict.fromkeys(prefixes)), (), found, version, (), virtual, conda)


def _inside(rootfs: Path, path: str) -> Path:
    """Follow links as they are meant in the other root."""
    root = rootfs.resolve()
    done: list[str] = []
    todo = [part for part in path.split("/") if part not in ("", ".")]
    for _ in range(1000):
        if not todo:
            break
        part = todo.pop(0)
        if part == "..":
            done = done[:-1]
            continue
        here = root.joinpath(*done, part)
        if here.is_symlink():
            target = str(here.readlink())
            done = [] if target.startswith("/") else done
            todo = [step for step in target.split("/") if step not in ("", ".")] + todo
        else:
            done.append(part)
    return root.joinpath(*done)
