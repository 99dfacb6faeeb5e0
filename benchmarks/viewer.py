"""How long the viewer's pages take, on a campaign of 300 issues in two arms and a memory of 1e5 demonstrations.

    PYTHONPATH=tests python benchmarks/viewer.py [--small] [--keep FOLDER]

Makes both, starts `experepair view`, asks each page once cold and then several times, and prints the times of whole
answers over HTTP on loopback. Exits with 1 when the median of a page is over 300 ms.
"""

from __future__ import annotations

import argparse
import http.client
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from urllib.parse import quote, urlsplit

from experepair.memory.store import Store
from lessons import SCOPE, run_lesson
from web_runs import campaign_folder

LIMIT_MS = 300


def main() -> None:
    """Make what is shown, then measure."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--small", action="store_true", help="30 issues and 1000 lessons")
    parser.add_argument("--keep", type=Path, default=None, help="folder to make both in, or that holds them")
    given = parser.parse_args()
    issues, lessons = (30, 1_000) if given.small else (300, 33_400)
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        if not (folder / "campaign").exists():
            campaign_folder(folder / "campaign", issues)
        if not (folder / "memory.db").exists():
            remember(folder / "memory.db", lessons)
        good = measure(folder, rounds=7)
    sys.exit(0 if good else 1)


def remember(path: Path, lessons: int) -> None:
    """A store with three demonstrations a lesson."""
    with Store.open(str(path)) as store:
        made = (
            run_lesson(f"{number:06d}", outcome="repaired" if number % 3 else "unresolved")
            for number in range(lessons)
        )
        store.learn_many(
            replace(one, at=one.at + timedelta(minutes=number)) for number, one in enumerate(made)
        )


def measure(folder: Path, rounds: int) -> bool:
    """Print the times of all pages; whether all medians are within the limit."""
    command = [
        sys.executable,
        "-m",
        "experepair",
        "view",
        str(folder / "campaign"),
        "--memory",
        str(folder / "memory.db"),
    ]
    with subprocess.Popen([*command, "--no-browser"], stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            address = urlsplit(server.stdout.readline().strip())
            client = http.client.HTTPConnection(str(address.hostname), address.port or 0, timeout=120)
            client.request("GET", f"/?{address.query}")
            answer = client.getresponse()
            answer.read()
            cookie = str(answer.getheader("set-cookie")).split(";")[0]
            print(f"{'page':42}{'cold ms':>10}{'median ms':>11}{'worst ms':>10}{'kB':>8}")
            quick = [timed(client, cookie, name, path, rounds) for name, path in PAGES.items()]
            return all(quick)
        finally:
            server.terminate()


def timed(client: http.client.HTTPConnection, cookie: str, name: str, path: str, rounds: int) -> bool:
    """Print the times of one page; whether its median is within the limit."""
    times, size = [], 0
    for _ in range(rounds + 1):
        began = time.perf_counter()
        client.request("GET", path, headers={"cookie": cookie})
        answer = client.getresponse()
        size = len(answer.read())
        times.append(1000 * (time.perf_counter() - began))
        assert answer.status == 200, (path, answer.status)
    median = statistics.median(times[1:])
    print(f"{name:42}{times[0]:10.0f}{median:11.0f}{max(times[1:]):10.0f}{size / 1000:8.0f}")
    return median <= LIMIT_MS


_RUN = "inference~full~demo__demo-10"
_ARMS = {"a": "campaign / full", "b": "campaign / no-memory"}
_COMPARED = "&".join(f"{name}={quote(value)}" for name, value in _ARMS.items())
PAGES = {
    "all there is": "/?all=1",
    "campaign": "/campaigns/campaign",
    "campaign, disagreements": "/campaigns/campaign?only=disagreements",
    "campaign, filtered": "/campaigns/campaign?text=-29",
    "compare two arms": f"/compare?{_COMPARED}",
    "compare, disagreements": f"/compare?{_COMPARED}&only=disagreements",
    "one issue in two arms": f"/compare/issue?{_COMPARED}&instance=demo__demo-10",
    "run": f"/runs/{_RUN}",
    "run, timeline": f"/runs/{_RUN}/timeline",
    "run, candidates": f"/runs/{_RUN}/candidates",
    "memory": "/memory",
    "memory, a page further on": "/memory?page_number=30",
    "memory, one agent and outcome": "/memory?agent=patch&outcome=repaired",
    "memory, search a word": "/memory?text=000123",
    "memory, search what isn't there": "/memory?text=nothinglikethat",
    "demonstration": f"/memory/demonstration?id={quote(f'{SCOPE}/000500/tuple')}",
    "demonstration, its history (a part)": f"/memory/history?scope={quote(SCOPE)}&name={quote(f'{SCOPE}/000500/tuple')}",
    "insights": "/memory/insights",
    "quarantine": "/memory/quarantine",
    "log": "/memory/log",
    "growth": "/memory/growth",
}


if __name__ == "__main__":
    main()
