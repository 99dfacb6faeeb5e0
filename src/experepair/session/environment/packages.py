"""Which packages a repository holds, and the folders that they are imported from; found by reading, nothing is run."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from configparser import ConfigParser
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from experepair.testing.project import Read, at, ini_of, text_of, toml_of

_USUAL = ("src", "lib")
_NOT_PACKAGES = re.compile(
    r"tests?$|.*[_-]tests?$|testing$|docs?$|.*docs$|examples?$|samples?$|demos?$|benchmarks?$|scripts?$|tools?$|bin$"
    r"|build$|dist$|vendor$|_vendor$|third_party$|node_modules$|fixtures?$|ci$|\..*",
    re.IGNORECASE,
)
_NOT_MODULES = {"setup", "conftest", "noxfile", "tasks", "manage", "fabfile", "versioneer", "conf"}
_PROJECT_FILES = {"pyproject.toml", "setup.py", "setup.cfg"}
_DEEPEST = 3
_MOST = 8
_SETUP_NAME = re.compile(rb"""\bname\s*=\s*["']([\w.-]+)["']""")
_SETUP_WHERE = re.compile(
    rb"""find(?:_namespace)?_packages\(\s*(?:where\s*=\s*)?["']([\w./-]+)["']|package_dir\s*=\s*\{\s*["']["']\s*:\s*["']([\w./-]+)["']"""
)


@dataclass(frozen=True, slots=True)
class Package:
    """A top-level package or module of the repository.

    Attributes:
        name: as it is imported, with dots when it lies in a namespace.
        file: its module file, below the tree.
        main: whether it is what the repository is for, as far as that can be told.
        reached: whether it lies in a folder that is on the import path of every command.
    """

    name: str
    file: str
    main: bool = True
    reached: bool = True


@dataclass(frozen=True, slots=True)
class Layout:
    """How a repository's packages lie.

    Attributes:
        folders: of the import path, below the tree, "" for its top.
        packages: main ones first; at most a few.
        project: its own name, normalised; "" when it says none.
        python: oldest minor version of Python 3 that it declares; 0 when it says none.
    """

    folders: tuple[str, ...]
    packages: tuple[Package, ...]
    project: str = ""
    python: int = 0


def layout(files: Sequence[str], read: Read) -> Layout:
    """Read the layout from the tracked files and what the project's configuration declares."""
    present = set(files)
    declared = _declared(read)
    folders = tuple(
        dict.fromkeys(("", *(name for name in (*_USUAL, *declared.folders) if _holds(files, name) and name)))
    )
    found = [*_packages(files, present, folders), *_modules(present, folders, declared.name)]
    named = {package.name for package in found if _is_named(package.name, declared.name)}
    packages = [
        Package(one.name, one.file, one.name in named if named else one.reached, one.reached) for one in found
    ]
    packages.sort(key=lambda one: (not one.main, not one.reached))
    return Layout(folders, tuple(packages[:_MOST]), declared.name, declared.python)


def _packages(files: Sequence[str], present: set[str], folders: Sequence[str]) -> Iterable[Package]:
    projects = {
        str(PurePosixPath(file).parent) for file in files if PurePosixPath(file).name in _PROJECT_FILES
    }
    for file in files:
        if not file.endswith("/__init__.py"):
            continue
        parts = file.split("/")[:-1]
        inside = [folder for folder in folders if folder and file.startswith(f"{folder}/")]
        base = max(inside, key=len, default="")
        reached = True
        if not inside and _project_of(parts, projects):
            base, reached = _above_packages(parts, present), False
        skip = len(base.split("/")) if base else 0
        inner = parts[skip:]
        if not inner or len(inner) > _DEEPEST or any(map(_NOT_PACKAGES.match, parts)):
            continue
        above = ["/".join(parts[:end]) for end in range(skip + 1, len(parts))]
        if any(f"{folder}/__init__.py" in present for folder in above) or not all(
            map(str.isidentifier, inner)
        ):
            continue
        yield Package(".".join(inner), file, reached=reached)


def _above_packages(parts: Sequence[str], present: set[str]) -> str:
    """The folder that the outermost package around a module is imported from."""
    end = len(parts) - 1
    while end and f"{'/'.join(parts[:end])}/__init__.py" in present:
        end -= 1
    return "/".join(parts[:end])


def _project_of(parts: Sequence[str], projects: set[str]) -> str:
    """The project of its own, inside the repository, that a folder lies in; "" when there is none."""
    for end in range(len(parts) - 1, 0, -1):
        if (folder := "/".join(parts[:end])) in projects:
            return folder
    return ""


def _modules(present: set[str], folders: Sequence[str], project: str) -> Iterable[Package]:
    """A repository can be a single module: the one that is named like it."""
    for file in sorted(present):
        path = PurePosixPath(file)
        folder = "" if str(path.parent) == "." else str(path.parent)
        candidate = path.suffix == ".py" and folder in folders and path.stem not in _NOT_MODULES
        if candidate and _is_named(path.stem, project):
            yield Package(path.stem, file)


def _is_named(name: str, project: str) -> bool:
    plain = name.replace(".", "_").lower()
    return bool(project) and plain in {project, project.removeprefix("python_"), project.removeprefix("py")}


@dataclass(frozen=True, slots=True)
class _Declared:
    name: str = ""
    folders: tuple[str, ...] = ()
    python: int = 0


def _declared(read: Read) -> _Declared:
    """What pyproject.toml, setup.cfg and setup.py say; what can't be read says nothing."""
    project = toml_of(read("pyproject.toml"))
    config = ini_of(text_of(read("setup.cfg")))
    script = read("setup.py") or b""
    name = _first_text(
        at(project, "project", "name"),
        at(project, "tool", "poetry", "name"),
        config.get("metadata", "name", fallback=""),
        *(found.decode() for found in _SETUP_NAME.findall(script)[:1]),
    )
    requires = _first_text(
        at(project, "project", "requires-python"),
        at(project, "tool", "poetry", "dependencies", "python"),
        config.get("options", "python_requires", fallback=""),
    )
    oldest = re.search(r"(?:>=|\^|~=?)\s*3\.(\d+)", requires) or re.search(
        r"python_requires\s*=\s*[\"']\s*>=\s*3\.(\d+)", script.decode(errors="replace")
    )
    folders = [*_declared_in_toml(project), *_declared_in_ini(config)]
    folders += [(first or second).decode() for first, second in _SETUP_WHERE.findall(script)]
    clean = (folder.strip().removeprefix("./").strip("/") for folder in folders)
    safe = (folder for folder in clean if folder not in ("", ".") and ".." not in folder.split("/"))
    return _Declared(
        re.sub(r"[-_.]+", "_", name).lower(), tuple(dict.fromkeys(safe)), int(oldest[1]) if oldest else 0
    )


def _declared_in_toml(project: Mapping[str, Any]) -> list[str]:
    tool = project.get("tool", {})
    folders = [*_texts(at(tool, "setuptools", "packages", "find", "where"))]
    folders += _texts(list(_mapping(at(tool, "setuptools", "package-dir")).values())[:1])
    for package in _texts(at(tool, "hatch", "build", "targets", "wheel", "packages")):
        folders.append(str(PurePosixPath(package).parent))
    for entry in _list(at(tool, "poetry", "packages")):
        folders += _texts(_mapping(entry).get("from"))
    for path in (
        ("maturin", "python-source"),
        ("pdm", "build", "package-dir"),
        ("uv", "build-backend", "module-root"),
        ("pytest", "ini_options", "pythonpath"),
    ):
        folders += _texts(at(tool, *path))
    return folders


def _declared_in_ini(config: ConfigParser) -> list[str]:
    where = config.get("options.packages.find", "where", fallback="")
    roots = re.findall(r"(?m)^\s*=\s*(\S+)\s*$", config.get("options", "package_dir", fallback=""))
    return [*where.split(), *roots]


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _texts(value: Any) -> list[str]:
    values = value if isinstance(value, list) else [value]
    return [text for text in values if isinstance(text, str)]


def _first_text(*values: Any) -> str:
    return next((value for value in values if isinstance(value, str) and value), "")


def _holds(files: Sequence[str], folder: str) -> bool:
    return any(file.startswith(f"{folder}/") for file in files)
