"""A throw-away PostgreSQL server for tests and benchmarks, run as an unprivileged user."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

_NOBODY = 65534


def postgres_programs() -> Path | None:
    """The folder with initdb and pg_ctl, the newest one; None when PostgreSQL isn't installed."""
    found = [path.parent for path in Path("/usr/lib/postgresql").glob("*/bin/initdb")]
    found.sort(key=lambda folder: int(folder.parent.name) if folder.parent.name.isdigit() else 0)
    if initdb := shutil.which("initdb"):
        found.insert(0, Path(initdb).resolve().parent)
    return found[-1] if found else None


@contextlib.contextmanager
def postgres(programs: Path, *, durable: bool = False) -> Iterator[str]:
    """A server that listens on a socket in a folder of its own only, and is gone afterwards.

    Args:
        programs: the folder with initdb and pg_ctl.
        durable: whether commits wait for the disk, as those of a real server do.

    Yields:
        the URL of its database "postgres"; name others by replacing the path.
    """
    folder = Path(tempfile.mkdtemp(prefix="experepair-pg-"))
    data = folder / "data"
    data.mkdir(mode=0o700)
    user: list[str] = []
    if os.geteuid() == 0:  # PostgreSQL refuses to run as root
        for path in (folder, data):
            os.chown(path, _NOBODY, _NOBODY)
        user = ["setpriv", f"--reuid={_NOBODY}", f"--regid={_NOBODY}", "--clear-groups"]

    def run(*command: str) -> None:
        done = subprocess.run([*user, *command], cwd=folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr

    server = f"-k {folder} -c listen_addresses='' -c max_connections=200"
    if not durable:
        server += " -c fsync=off -c full_page_writes=off"
    pg_ctl = str(programs / "pg_ctl")
    try:
        run(
            str(programs / "initdb"),
            "-D",
            str(data),
            "-U",
            "postgres",
            "-A",
            "trust",
            "-E",
            "UTF8",
            "-N",
            "--locale=C",
        )
        run(pg_ctl, "-D", str(data), "-o", server, "-l", str(folder / "log"), "-w", "-t", "60", "start")
        try:
            yield f"postgresql://postgres@/postgres?host={folder}"
        finally:
            run(pg_ctl, "-D", str(data), "-m", "immediate", "-w", "stop")
    finally:
        shutil.rmtree(folder)
