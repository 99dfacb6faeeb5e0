"""Root file systems for tests, made of copies of a few programs of this machine and their libraries."""

from __future__ import annotations

import re
import shutil
import subprocess
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
        needed = subprocess.run(["ldd", str(path)], capture_output=True, text=True, check=False).stdout
        for library in re.findall(r"(/\S+) \(0x", needed):
            target = folder / library[1:]
            if not target.exists():
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(library, target)
    (folder / "etc" / "release").write_text("another root\n")
    (folder / "etc" / "passwd").write_text("strange:x:1:1::/:/bin/sh\n")
    (folder / "opt" / "full" / "file").touch()
    python = folder / "usr" / "bin" / "python3"
    python.write_text('#!/bin/sh\necho "python of the root: $*"\n')
    python.chmod(0o755)
    return folder
