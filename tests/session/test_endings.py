"""Ends before the end: budgets, providers, interruptions, kills; and going on from the journal."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

import toy
from experepair.domain.roles import Role
from experepair.errors import JournalError, OutputError, UsageError
from experepair.llm.request import Usage
from experepair.llm.stub import Answer, Asked, StubProvider
from experepair.session.repair import repair
from experepair.steps.result import Result, Status

QUICK = {"attempts": 2, "first_wait_s": 0.0, "unreachable_s": 0.0, "deadline_s": 20.0}


def answering(
    text: str | None = None, role: Role | None = None, **answer: object
) -> Callable[[Asked], Answer]:
    """A provider that repairs the toy, and answers one role in another way."""

    def reply(asked: Asked) -> Answer:
        if role is None or toy.role_of(asked.text) is not role:
            return Answer(toy.reply_to(asked.text))
        return Answer(toy.reply_to(asked.text) if text is None else text, **answer)  # type: ignore[arg-type]

    return reply


def run(repo: Path, stub: StubProvider, out: Path, **settings: object) -> Result:
    given = {"retry": QUICK, "python": sys.executable, **settings}
    return repair(repo, toy.ISSUE, out=out, model="openai:stub", base_url=f"{stub.url}/v1", **given)  # type: ignore[arg-type]


def command(repo: Path, stub: StubProvider, out: Path, *more: str) -> list[str]:
    return [
        sys.executable, "-m", "experepair", "fix", str(repo), "--issue", toy.ISSUE, "--out", str(out),
        "--model", "openai:stub", "--base-url", f"{stub.url}/v1", "--python", sys.executable, *more,
    ]  # fmt: skip


def said(out: Path, what: bytes) -> int:
    """How often a journal has something, for looking often."""
    path = out / "journal.jsonl"
    return path.read_bytes().count(what) if path.exists() else 0


def test_a_spent_budget_keeps_the_best_candidate_so_far(repo: Path, tmp_path: Path) -> None:
    def costly(asked: Asked) -> Answer:
        return Answer(toy.reply_to(asked.text), usage=Usage(input=2000, output=500))

    with StubProvider(costly) as stub:
        result = run(repo, stub, tmp_path / "out", max_tokens=30_000)
    assert result.status is Status.BUDGET_SPENT
    assert result.exit_status == 5
    assert result.error is not None
    assert "30,000" in result.error
    assert result.spending.total.input_tokens + result.spending.total.output_tokens <= 30_000
    assert result.patch is not None
    assert result.patch.name.startswith("P1.")


def test_an_unauthorized_provider_ends_at_once_with_its_status(repo: Path, tmp_path: Path) -> None:
    with StubProvider(lambda asked: Answer("bad key", status=401)) as stub:
        result = run(repo, stub, tmp_path / "out")
    assert result.status is Status.PROVIDER_FAILED
    assert result.exit_status == 3
    assert (tmp_path / "out" / "report.md").is_file()


def test_a_reviewer_who_cannot_be_reached_is_replaced_by_the_table(repo: Path, tmp_path: Path) -> None:
    with StubProvider(answering(role=Role.REVIEW, status=500)) as stub:
        result = run(repo, stub, tmp_path / "out")
    assert result.status is Status.REPAIRED
    assert result.patch is not None
    assert "the table decided" in result.patch.reasons


@pytest.mark.parametrize(
    "text",
    [
        "",
        "I can't help with that.",
        "```python\nhalf a",
        "<file>a</file><original>",
        "\x00\x1b[31m",
        "x" * 10_000_000,
    ],
    ids=["nothing", "prose", "half a block", "half an edit", "control characters", "10 MB"],
)
def test_a_model_that_answers_badly_ends_in_a_result_not_in_a_traceback(
    repo: Path, tmp_path: Path, text: str
) -> None:
    with StubProvider(lambda asked: Answer(text)) as stub:
        result = run(repo, stub, tmp_path / "out", repair={"trials": 2, "rounds": 1, "samples": 2})
    assert result.status in (Status.UNRESOLVED, Status.PROVIDER_FAILED)
    assert "\x1b" not in (tmp_path / "out" / "report.md").read_text()


def test_lone_surrogates_and_nul_in_replies_reach_journal_result_and_report(
    repo: Path, tmp_path: Path
) -> None:
    odd = "\ud800\x00\u202e"
    scripted = toy.model(
        reproduce=(f"{odd}```python\ndef test_a():\n    assert '{odd}'\n```", toy.REPRODUCTION),
        judge=f"{odd} <verdict>yes</verdict>",
        patch=(toy.GOOD, toy.OTHER, toy.patch(f"    return '{odd}'"), odd),
        review=f"{odd} <choice>P1.2</choice>",
    )
    result = repair(repo, toy.ISSUE, out=tmp_path / "out", replay=scripted, python=sys.executable)
    assert result.status is Status.REPAIRED
    assert result.patch is not None
    assert "ud800" in result.patch.reasons
    assert "\u202e" not in (tmp_path / "out" / "report.md").read_text()


def test_a_killed_run_goes_on_without_paying_for_an_answered_call_again(repo: Path, tmp_path: Path) -> None:
    """Killed at several places; in the end every answered call was asked for once."""
    out = tmp_path / "out"

    def slow(request: Asked) -> Answer:
        return Answer(toy.reply_to(request.text), delay_s=0.15)

    with StubProvider(slow) as stub:
        process = subprocess.Popen(
            command(repo, stub, out), stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL
        )
        for wanted in (1, 4, 9):
            wait_for(lambda wanted=wanted: said(out, b'"kind":"replied"') >= wanted)  # type: ignore[misc]
            process.kill()
            process.wait()
            process = subprocess.Popen(
                command(repo, stub, out, "--resume"), stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL
            )
        assert process.wait(60) == 0
        calls = len(stub.asked)
    entries = [json.loads(line) for line in (out / "journal.jsonl").read_text().splitlines()]
    replied = Counter(entry["call"] for entry in entries if entry["kind"] == "replied")
    keys = {
        entry["call"]: (entry["key"], entry["sample"], entry["occurrence"])
        for entry in entries
        if entry["kind"] == "intent"
    }
    answered = Counter(keys[call] for call in replied)
    assert set(answered.values()) == {1}
    unanswered = len(keys) - len(replied)
    assert calls <= len(replied) + unanswered
    result = Result.model_validate_json((out / "result.json").read_text())
    assert result.status is Status.REPAIRED


def wait_for(condition: Callable[[], bool], seconds: float = 30.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it never came to that"
        time.sleep(0.05)


def test_an_interrupted_run_publishes_what_it_has_and_exits_with_130(repo: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    with StubProvider(answering(role=Role.REVIEW, delay_s=20.0)) as stub:
        process = subprocess.Popen(
            command(repo, stub, out), stderr=subprocess.PIPE, stdout=subprocess.DEVNULL
        )
        wait_for(lambda: said(out, b'"role":"review"') > 0)
        process.send_signal(signal.SIGINT)
        _, output = process.communicate(timeout=20)
    assert process.returncode == 130
    assert b"--resume" in output
    assert b"Traceback" not in output
    result = Result.model_validate_json((out / "result.json").read_text())
    assert result.status is Status.INTERRUPTED
    assert result.patch is not None


def test_a_run_of_another_issue_is_not_resumed(repo: Path, tmp_path: Path) -> None:
    repair(repo, toy.ISSUE, out=tmp_path / "out", replay=toy.model(), python=sys.executable)
    with pytest.raises(UsageError, match="another issue"):
        repair(
            repo,
            "Something else",
            out=tmp_path / "out",
            replay=toy.model(),
            resume=True,
            python=sys.executable,
        )
    with pytest.raises(UsageError, match="--resume"):
        repair(repo, toy.ISSUE, out=tmp_path / "out", replay=toy.model(), python=sys.executable)


def test_two_processes_cannot_hold_one_run(repo: Path, tmp_path: Path) -> None:
    from experepair.journal.journal import Journal

    repair(repo, toy.ISSUE, out=tmp_path / "out", replay=toy.model(), python=sys.executable)
    with Journal.resume(tmp_path / "out" / "journal.jsonl"), pytest.raises(JournalError, match="in use"):
        repair(repo, toy.ISSUE, out=tmp_path / "out", replay=toy.model(), resume=True, python=sys.executable)


@pytest.mark.skipif(os.getuid() != 0, reason="needs to mount a small file system")
def test_a_full_disk_is_a_clear_error_and_loses_nothing_that_was_written(repo: Path, tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", str(small)], check=True)
    try:
        with pytest.raises(OutputError, match="No space left"):
            repair(repo, toy.ISSUE, out=small / "out", replay=toy.model(), python=sys.executable)
        lines = (small / "out" / "journal.jsonl").read_text().splitlines()
        assert [json.loads(line)["seq"] for line in lines] == list(range(len(lines)))
    finally:
        subprocess.run(["umount", str(small)], check=True)


def test_a_folder_for_results_that_cannot_be_made_is_a_clear_error(repo: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="can't make the folder"):
        repair(repo, toy.ISSUE, out=tmp_path / "file" / "out", replay=toy.model(), python=sys.executable)
