"""Root file systems for tests, made of copies of a few programs of this machine and their libraries."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from pathlib import Path

PROGRAMS = ("sh", "cat", "cp", "ls", "mkdir", "rm", "touch", "head", "wc")


def make_root(folder: Path, programs: Sequence[str] = PROGRAMS) -> Path:
    """A root that shares no file with the host, whose Python is a shell script."""
    for name in ("usr/bin", "etc", "opt/full", "home/secret", "tmp"):
        (folder / name).mkdir(parents=True)
    (folder / "bin").symlink_to("usr/bin")
    for program in programs:
        path = Path(shutil.which(program) or program)
        shutil.copy(path, folder / "usr" / "bin" / program)
        copy_libraries(folder, path)
    (folder / "etc" / "release").write_text("another root\n")
    (folder / "etc" / "passwd").write_text("strange:x:1:1::/:/bin/sh\n")
    (folder / "opt" / "full" / "file").touch()
    python = folder / "usr" / "bin" / "python3"
    python.write_text('#!/bin/sh\necho "python of the root: $*"\n')
    python.chmod(0o755)
    return folder


def copy_libraries(root: Path, *programs: Path) -> None:
    """Shared libraries that programs or libraries need, each to its own place in the root."""
    needed = subprocess.run(["ldd", *map(str, programs)], capture_output=True, text=True, check=False).stdout
    for library in re.findall(r"(/\S+) \(0x", needed):
        target = root / library[1:]
        if not target.exists() and not Path(library).is_relative_to(root):
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(library, target)


def make_python(prefix: Path) -> Path:
    """A Python that runs wherever it lies, with its library and nothing installed, as conda's do.

    Returns:
        Where packages are installed to, below `prefix`; the executable is bin/python there.
    """
    real = Path(getattr(sys, "_base_executable", sys.executable)).resolve()
    library = sysconfig.get_path("stdlib", vars={"installed_base": ""})
    program = prefix / "bin" / real.name
    program.parent.mkdir(parents=True)
    shutil.copy(real, program)
    (prefix / "bin" / "python").symlink_to(real.name)
    dull = shutil.ignore_patterns(
        "test", "site-packages", "idlelib", "ensurepip", "lib2to3", "__pycache__", "config-*"
    )
    shutil.copytree(sysconfig.get_path("stdlib"), prefix / library.lstrip("/"), ignore=dull)
    if sysconfig.get_config_var("Py_ENABLE_SHARED"):
        libraries = sysconfig.get_config_var("LIBDIR")
        shutil.copy(Path(libraries, sysconfig.get_config_var("INSTSONAME")), prefix / "lib")
        was = libraries.encode() + b"\0"
        program.write_bytes(program.read_bytes().replace(was, b"$ORIGIN/../lib".ljust(len(was), b"\0")))
    ask = [str(program), "-c", "import site; print(site.getsitepackages()[-1])"]
    site = Path(subprocess.run(ask, capture_output=True, check=True, env={}, text=True).stdout.strip())
    site.mkdir(parents=True)  # Debian's Python has another name for it
    return site
