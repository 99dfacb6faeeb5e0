"""Time to learn a repository's whole history into a new SQLite store, beside what git alone takes to print it.

python benchmarks/mining.py REPO

The first learning must take less than 60 s for Django (32,000 commits).
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

BOUND_S = 60.0


def main() -> None:
    """Run each in a process of its own, one after the other."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("repo", type=Path)
    repo = parser.parse_args().repo
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder, "memory.db")
        learn = (sys.executable, "-m", "experepair", "memory", "learn", str(repo), "--memory", str(store))
        print(f"{'':44} wall s   CPU s")
        _timed("git log -p (floor)", ("git", "log", "-p", "--no-merges", "HEAD", "--", "*.py"), repo)
        wall = _timed("memory learn, into an empty store", learn)
        _timed("memory learn, again: nothing new", learn)
        size = sum(file.stat().st_size for file in Path(folder).iterdir())
        print(f"store: {size / 1e6:.0f} MB; load of this machine: {os.getloadavg()[0]:.1f}")
        print(f"bound {BOUND_S:.0f} s: {'kept' if wall < BOUND_S else 'BROKEN'}")


def _timed(what: str, command: Sequence[str], cwd: Path | None = None) -> float:
    """Wall time of one run, in seconds; it is printed with the processor's time."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(command, cwd=cwd, stdout=subprocess.PIPE, check=True)
    wall = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    said = done.stdout[-400:].decode(errors="replace").split("\n")[-2] if "learn" in command else ""
    print(f"{what:44} {wall:6.1f}  {cpu:6.1f}   {said}")
    return wall


if __name__ == "__main__":
    main()
