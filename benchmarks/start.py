"""CPU time of `experepair --help`, beside the bare interpreter and an import of what it must not load.

python benchmarks/start.py
"""

from __future__ import annotations

import resource
import statistics
import subprocess
import sys

BOUND_S = 0.35
REPEATS = 9
COMMANDS = {
    "python -c pass (floor)": [sys.executable, "-c", "pass"],
    "experepair --help": [sys.executable, "-m", "experepair", "--help"],
    "experepair fix --help": [sys.executable, "-m", "experepair", "fix", "--help"],
    "import pydantic_ai.direct": [sys.executable, "-c", "import pydantic_ai.direct"],
}


def main() -> None:
    """Take the median of some runs of each."""
    times = {
        name: statistics.median(cpu_s(command) for _ in range(REPEATS)) for name, command in COMMANDS.items()
    }
    floor = next(iter(times.values()))
    for name, seconds in times.items():
        print(f"{name:28} {seconds:6.3f} s CPU   ratio {seconds / floor:5.1f}")
    worst = max(seconds for name, seconds in times.items() if name.startswith("experepair"))
    print(f"bound {BOUND_S} s: {'kept' if worst <= BOUND_S else 'BROKEN'}")


def cpu_s(command: list[str]) -> float:
    """User and system time of one run, in seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    main()
