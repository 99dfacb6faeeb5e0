"""Executions in the journal."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from experepair.domain.command import NO_CHANGES, Changes, Command, Completed, Ended
from experepair.journal.entries import Executed
from experepair.journal.journal import Journal
from experepair.sandbox.journalled import JournalledSandbox
from experepair.sandbox.sandbox import Limits, ScriptedSandbox

HELLO = Command(("echo", "hello"))


def counting() -> ScriptedSandbox:
    """Says how many commands it ran, and gives a file."""

    def answer(command: Command, changes: Changes) -> Completed:
        return Completed(
            3,
            f"run {len(box.ran)}\n",
            "warned\n",
            0.1234,
            Ended.KILLED,
            {"out": b"\xff" + b"x" * len(changes)},
        )

    box = ScriptedSandbox(answer)
    return box


def executed(journal: Journal) -> list[Executed]:
    return [entry for entry in journal.entries if isinstance(entry, Executed)]


def test_an_execution_is_journalled_with_what_it_was_for() -> None:
    with Journal.in_memory() as journal:
        box = JournalledSandbox(counting(), journal)
        done = asyncio.run(box.run(HELLO, {"b": b"new", "a": None}, purpose="a check"))
        (entry,) = executed(journal)
    assert (entry.purpose, entry.argv, entry.exit_code, entry.ended) == ("a check", HELLO.argv, 3, "killed")
    assert entry.stdout == done.stdout == "run 1\n"
    assert list(entry.changes) == ["a", "b"]
    assert entry.changes["a"] is None
    assert len(entry.changes["b"] or "") == 64


def test_outputs_are_clean_in_the_journal_and_for_the_caller() -> None:
    with Journal.in_memory() as journal:
        box = JournalledSandbox(counting(), journal, lambda text: text.replace("run", "RUN"))
        assert asyncio.run(box.run(HELLO)).stdout == "RUN 1\n"
        assert executed(journal)[0].stdout == "RUN 1\n"


def test_a_resumed_run_executes_nothing_again_that_stands_in_the_journal(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    changes = {"a": b"x"}
    with Journal.create(path) as journal:
        first = asyncio.run(JournalledSandbox(counting(), journal).run(HELLO, changes, limits=Limits()))
    with Journal.resume(path) as journal:
        scripted = counting()
        again = asyncio.run(JournalledSandbox(scripted, journal).run(HELLO, changes, limits=Limits()))
        assert scripted.ran == []
        assert len(executed(journal)) == 1
    assert (again.exit_code, again.stdout, again.stderr) == (first.exit_code, first.stdout, first.stderr)
    assert (again.ended, again.files) == (first.ended, first.files)
    assert again.duration_s == pytest.approx(first.duration_s, abs=0.001)


def test_a_command_that_is_run_twice_on_purpose_runs_twice_also_when_resumed(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    with Journal.create(path) as journal:
        box = JournalledSandbox(counting(), journal)
        assert [asyncio.run(box.run(HELLO)).stdout for _ in range(2)] == ["run 1\n", "run 2\n"]
    with Journal.resume(path) as journal:
        scripted = counting()
        box = JournalledSandbox(scripted, journal)
        assert [asyncio.run(box.run(HELLO)).stdout for _ in range(3)] == ["run 1\n", "run 2\n", "run 1\n"]
        assert len(scripted.ran) == 1


def test_whatever_decides_the_outcome_decides_the_reuse() -> None:
    with Journal.in_memory() as journal:
        box = JournalledSandbox(counting(), journal)
        others = [
            HELLO,
            Command(HELLO.argv, env=(("A", "b"),)),
            Command(HELLO.argv, stdin=b"x"),
            Command(HELLO.argv, cwd="d"),
            Command(HELLO.argv, collect=("d",)),
        ]
        for command in others:
            asyncio.run(box.run(command))
        asyncio.run(box.run(HELLO, {"a": b"1"}))
        asyncio.run(box.run(HELLO, {"a": b"2"}))
        asyncio.run(box.run(HELLO, {"a": None}))
        asyncio.run(box.run(HELLO, limits=Limits(time_s=1)))
        assert len({entry.key for entry in executed(journal)}) == len(others) + 4


def test_without_reuse_everything_is_executed_again() -> None:
    with Journal.in_memory() as first:
        asyncio.run(JournalledSandbox(counting(), first).run(HELLO))
        entries = first.entries
    with Journal.in_memory(entries) as second:
        scripted = counting()
        asyncio.run(JournalledSandbox(scripted, second, reuse=False).run(HELLO))
        assert len(scripted.ran) == 1


def test_no_more_run_at_once_than_allowed() -> None:
    class Slow:
        now = most = 0

        async def run(
            self,
            command: Command,
            changes: Changes = NO_CHANGES,
            *,
            limits: Limits | None = None,
        ) -> Completed:
            self.now += 1
            self.most = max(self.most, self.now)
            await asyncio.sleep(0.01)
            self.now -= 1
            return Completed(0, "", "", 0.0)

    async def main(slow: Slow) -> None:
        with Journal.in_memory() as journal:
            box = JournalledSandbox(slow, journal, max_parallel=3)
            await asyncio.gather(*(box.run(Command((str(n),))) for n in range(9)))

    slow = Slow()
    asyncio.run(main(slow))
    assert slow.most == 3
