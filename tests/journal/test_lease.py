"""Who may write a journal that machines share: real processes that are killed, stopped and woken."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from experepair.errors import JournalHeld, LeaseLost
from experepair.journal.entries import Entry, RunStarted, StageStarted
from experepair.journal.journal import Journal, lease_folder, read_journal
from experepair.journal.lease import Lease, LeaseConfig, newest_token

STARTED = RunStarted(run_id="r", experepair="0", repository="r", commit="c", issue_id="1", issue="It breaks.")
SHORT = LeaseConfig(length_s=0.6, take_over=True)
LONG = LeaseConfig(length_s=3)

WRITER = """
import sys
from pathlib import Path
from experepair.errors import ExpeRepairError
from experepair.journal import lease
from experepair.journal.entries import StageStarted
from experepair.journal.journal import Journal

path, machine, length_s, pauses = Path(sys.argv[1]), sys.argv[2], float(sys.argv[3]), sys.argv[4] == "pauses"
if machine:
    lease._BOOT_ID = Path(machine)
with Journal.resume(path, lease.LeaseConfig(length_s=length_s)) as journal:
    print("held", flush=True)
    if pauses:
        check = lease.Lease.check

        def checked(self):
            check(self)
            lease.Lease.check = check
            print("checked", flush=True)
            sys.stdin.readline()

        lease.Lease.check = checked
    for line in sys.stdin:
        try:
            journal.append(StageStarted(stage=line.strip()))
            print("appended", flush=True)
        except ExpeRepairError as error:
            print(type(error).__name__, flush=True)
"""


class Writer:
    """Another process that holds a journal and appends what it is told."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process

    def answer(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def say(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def stop(self) -> None:
        self.process.send_signal(signal.SIGSTOP)

    def wake(self) -> None:
        self.process.send_signal(signal.SIGCONT)


@contextmanager
def writer(path: Path, machine: str = "", length_s: float = 0.6, *, pauses: bool = False) -> Iterator[Writer]:
    process = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path), machine, str(length_s), "pauses" if pauses else ""],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    with process:
        try:
            other = Writer(process)
            assert other.answer() == "held"
            yield other
        finally:
            process.kill()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    with Journal.create(tmp_path / "journal.jsonl") as journal:
        journal.append(STARTED)
    return tmp_path / "journal.jsonl"


@pytest.fixture
def elsewhere(tmp_path: Path) -> str:
    """Makes a process think that it is on another machine."""
    (tmp_path / "boot_id").write_text("another-machine\n")
    return str(tmp_path / "boot_id")


def stages(entries: tuple[Entry, ...]) -> list[str]:
    return [entry.stage for entry in entries if isinstance(entry, StageStarted)]


def test_a_stopped_writer_is_dispossessed_and_cannot_append_when_it_wakes(path: Path) -> None:
    with writer(path) as other:
        other.say("before")
        assert other.answer() == "appended"
        other.stop()
        with Journal.resume(path, SHORT) as journal:
            journal.append(StageStarted(stage="successor"))
            other.wake()
            other.say("late")
            assert other.answer() == "LeaseLost"
            journal.append(StageStarted(stage="still"))
    assert stages(read_journal(path)) == ["before", "successor", "still"]


def test_a_writer_stopped_between_its_look_at_the_lease_and_its_write_changes_nothing(path: Path) -> None:
    with writer(path, pauses=True) as other:
        other.say("late")
        assert other.answer() == "checked"
        other.stop()
        with Journal.resume(path, SHORT) as journal:
            journal.append(StageStarted(stage="successor"))
            other.wake()
            other.say("go on")
            assert other.answer() == "LeaseLost"
            journal.append(StageStarted(stage="still"))
    assert stages(read_journal(path)) == ["successor", "still"]


def test_a_stopped_process_of_this_machine_is_told_of_at_once_unless_taking_over_is_asked_for(
    path: Path,
) -> None:
    with writer(path) as other:
        other.stop()
        before = time.monotonic()
        with pytest.raises(JournalHeld, match=f"process {other.process.pid}"):
            Journal.resume(path, LONG)
        assert time.monotonic() - before < LONG.length_s


def test_a_killed_writer_of_another_machine_is_known_by_its_silence_alone(path: Path, elsewhere: str) -> None:
    with writer(path, elsewhere, length_s=1.0) as other:
        other.say("before")
        assert other.answer() == "appended"
        other.process.kill()
        other.process.wait()
        began, inode = time.monotonic(), path.stat().st_ino
        with Journal.resume(path, LeaseConfig(length_s=0.1)) as journal:  # the holder's own length counts
            assert time.monotonic() - began >= 1.0
            assert journal.fence == 3
    assert path.stat().st_ino != inode
    assert stages(read_journal(path)) == ["before"]


def test_a_writer_that_lives_on_another_machine_keeps_its_journal(path: Path, elsewhere: str) -> None:
    with writer(path, elsewhere, length_s=3.0) as other:
        with pytest.raises(JournalHeld, match="of '"):
            Journal.resume(path, SHORT)
        other.say("on")
        assert other.answer() == "appended"


def test_a_journal_that_was_closed_on_another_machine_is_free_at_once(path: Path, elsewhere: str) -> None:
    with writer(path, elsewhere, length_s=60) as other:
        assert other.process.stdin is not None
        other.process.stdin.close()
        other.process.wait()
        inode = path.stat().st_ino
        Journal.resume(path, LeaseConfig(length_s=60)).close()
    assert path.stat().st_ino == inode


def test_of_many_that_want_the_journal_of_a_dead_writer_one_gets_it(path: Path, elsewhere: str) -> None:
    with writer(path, elsewhere, length_s=0.6) as other:
        other.process.kill()
        other.process.wait()
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path), "", "3", ""],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        for _ in range(4)
    ]
    held = []
    for process in processes:
        assert process.stdout is not None
        held.append(process.stdout.readline())  # "" when it was refused, and ended
    for process in processes:
        process.communicate()
    assert sorted(held) == ["", "", "", "held\n"]


def test_who_died_before_he_had_parted_from_his_predecessor_leaves_that_to_his_successor(path: Path) -> None:
    with writer(path) as stopped:
        stopped.stop()
        lease = Lease.claim(lease_folder(path), SHORT)
        assert lease.earlier_may_write
        lease.release()  # as a killed process: never settled
        inode = path.stat().st_ino
        with Journal.resume(path, SHORT) as journal:
            assert path.stat().st_ino != inode
            stopped.wake()
            stopped.say("late")
            assert stopped.answer() == "LeaseLost"
            assert journal.fence == newest_token(lease_folder(path)) == 4


def test_closing_a_journal_that_was_taken_over_says_so_and_leaves_the_successor_alone(path: Path) -> None:
    journal = Journal.resume(path)
    with writer_that_took_over(path) as fence:
        with pytest.raises(LeaseLost, match="taken over"):
            journal.close()
        journal.close()  # a second time does nothing
        assert newest_token(lease_folder(path)) == fence


@contextmanager
def writer_that_took_over(path: Path) -> Iterator[int]:
    """As one on another machine does that saw no sign of life."""
    folder = lease_folder(path)
    lease = Lease(folder, newest_token(folder) + 1, LONG, earlier_may_write=True)
    try:
        yield lease.token
    finally:
        lease.release()


def lose_and_raise(path: Path, error: BaseException) -> None:
    with Journal.resume(path), writer_that_took_over(path):
        raise error


def test_an_interruption_stays_one_although_the_journal_was_lost_meanwhile(path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        lose_and_raise(path, KeyboardInterrupt())
    with pytest.raises(LeaseLost):
        lose_and_raise(path, ValueError("because of it"))
