from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import toy
import toy_bench
from experepair.journal.entries import Intent, Learned, Replied
from experepair.journal.reading import read_journal
from experepair.llm.stub import Answer, Asked, StubProvider

KILLED_AT = (2, 9, 16, 30)
"""Requests, counted over all processes, at which the campaign is killed."""


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    mirror = toy_bench.mirror(tmp_path / "mirrors")
    base = toy.git(mirror, "rev-parse", "HEAD").strip()
    return toy_bench.write_rows(
        tmp_path / "rows.jsonl",
        *(
            toy_bench.row(base, instance_id=f"toys__toy-{number}", created_at=f"2024-05-0{number}T00:00:00Z")
            for number in (1, 2)
        ),
    )


def command(rows: Path, url: str, *more: str) -> subprocess.Popen[bytes]:
    own = {name: str(rows.parent / name) for name in ("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME")}
    arguments = ["bench", "run", str(rows), "--mirrors", "mirrors", "--out", "campaign", "--python", sys.executable,
                 "--model", "openai:stub", "--base-url", f"{url}/v1", "--price", "1/1", "--no-scripts", *more]  # fmt: skip
    return subprocess.Popen(
        [sys.executable, "-m", "experepair", *arguments], cwd=rows.parent, stderr=subprocess.PIPE,
        start_new_session=True,
        env={"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "HOME": str(rows.parent),
             "EXPEREPAIR_REPAIR__EXISTING_TESTS": "0", **own},
    )  # fmt: skip


def test_a_campaign_killed_again_and_again_ends_as_an_undisturbed_one_and_pays_no_reply_twice(
    rows: Path,
) -> None:
    lock = threading.Lock()
    running: list[subprocess.Popen[bytes]] = []
    asked = 0

    def answer(request: Asked) -> Answer:
        nonlocal asked
        with lock:
            asked += 1
            if asked in KILLED_AT:
                os.killpg(running[-1].pid, signal.SIGKILL)
        return Answer(toy.reply_to(request.text))

    killed = 0
    with StubProvider(answer) as stub:
        more: tuple[str, ...] = ()
        while True:
            running.append(command(rows, stub.url, *more))
            said = running[-1].communicate(timeout=120)[1].decode()
            if running[-1].returncode != -signal.SIGKILL:
                break
            killed += 1
            more = ("--resume",)
    assert running[-1].returncode == 0, said
    assert killed == len(KILLED_AT)
    patches = set()
    for number in (1, 2):
        folder = rows.parent / f"campaign/inference/full/runs/toys__toy-{number}"
        entries = read_journal(folder / "journal.jsonl")
        intents = {entry.call: entry for entry in entries if isinstance(entry, Intent)}
        paid = [intents[entry.call] for entry in entries if isinstance(entry, Replied)]
        places = [(one.key, one.sample, one.occurrence) for one in paid]
        assert len(places) == len(set(places))
        assert sum(isinstance(entry, Learned) and entry.new for entry in entries) == 1
        assert '"done"' in (folder / "outcome.json").read_text()
        patches.add((folder / "patch.diff").read_text())
    assert len(patches) == 1
    predictions = rows.parent / "campaign/inference/full/submission/all_preds.jsonl"
    assert len(predictions.read_text().splitlines()) == 2


@pytest.mark.parametrize("name", ["run", "report", "localize", "recall"])
def test_every_bench_command_has_help_and_an_entry_in_the_docs(name: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "experepair", "bench", name, "--help"], capture_output=True, text=True, check=True,
        cwd=tmp_path, env={"PATH": os.environ["PATH"], "HOME": str(tmp_path), "COLUMNS": "200"},
    )  # fmt: skip
    documented = (Path(__file__).parents[2] / "docs" / "cli.md").read_text()
    assert f"## experepair bench {name}" in documented
    options = {word.strip("[](),;:.") for word in done.stdout.split() if word.startswith("--")} - {"--help"}
    assert not {option for option in options if option not in documented}


def test_localization_is_measured_without_a_model(rows: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "experepair", "bench", "localize", str(rows), "--mirrors", "mirrors"],
        capture_output=True, text=True, check=False, cwd=rows.parent,
        env={"PATH": os.environ["PATH"], "HOME": str(rows.parent)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    [line] = [
        line for line in done.stdout.splitlines() if line.startswith("| fused") and line.endswith("| 2 |")
    ][:1]
    assert "100.0" in line
