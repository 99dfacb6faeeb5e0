"""The journal file: what survives, what is refused, who may write."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experepair.errors import JournalError, OutputError
from experepair.journal.entries import (
    FORMAT,
    Decided,
    Entry,
    Executed,
    Intent,
    Replied,
    RunStarted,
    SentPart,
    StageStarted,
)
from experepair.journal.journal import Journal, distil, read_journal, write_journal
from experepair.journal.reading import decode, encode

STARTED = RunStarted(
    run_id="r1",
    experepair="0.1.0",
    repository="/home/somebody/project",
    commit="c0ffee",
    issue_id="1",
    issue="It breaks.",
    settings={"out": "/home/somebody/out"},
)


def journal_of(path: Path, *stages: str) -> Path:
    with Journal.create(path) as journal:
        journal.append(STARTED)
        for stage in stages:
            journal.append(StageStarted(stage=stage))
    return path


def stages(entries: tuple[Entry, ...]) -> list[str]:
    return [entry.stage for entry in entries if isinstance(entry, StageStarted)]


def test_what_is_appended_is_read_back_numbered_and_dated(tmp_path: Path) -> None:
    with Journal.create(tmp_path / "j") as journal:
        stored = [journal.append(STARTED), journal.append(StageStarted(stage="reproduce"))]
        assert journal.entries == tuple(stored)
    assert read_journal(tmp_path / "j") == tuple(stored)
    assert [entry.seq for entry in stored] == [0, 1]
    assert all(entry.at.endswith("+00:00") for entry in stored)


@given(st.text(st.characters(exclude_categories=[]), max_size=50))
def test_any_text_survives_lone_surrogates_and_nul_included(text: str) -> None:
    entry = Replied(seq=0, call="c", text=text)
    line = encode(entry)
    assert line.isascii()
    assert line.count(b"\n") == 1
    back = decode(line, Path("j"))[0][0]
    assert isinstance(back, Replied)
    # JSON knows no two halves of a pair in a row: they come back as the character that they make
    assert back.text == text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")


def test_subscribers_are_told_only_after_the_entry_is_on_the_disk(tmp_path: Path) -> None:
    seen: list[int] = []
    with Journal.create(tmp_path / "j") as journal:
        journal.subscribe(lambda entry: seen.append(len(read_journal(tmp_path / "j")) - entry.seq))
        journal.append(STARTED)
        journal.append(StageStarted(stage="reproduce"))
    assert seen == [1, 1]


def test_resume_goes_on_where_the_journal_ended(tmp_path: Path) -> None:
    path = journal_of(tmp_path / "j", "reproduce")
    with Journal.resume(path) as journal:
        journal.append(StageStarted(stage="localize"))
    assert stages(read_journal(path)) == ["reproduce", "localize"]


@given(st.integers(1, 200))
def test_a_torn_last_line_is_cut_off_wherever_it_was_torn(torn: int) -> None:
    whole = encode(STARTED.model_copy(update={"seq": 0}))
    line = encode(StageStarted(seq=1, stage="x" * 200))
    content = whole + line[: min(torn, len(line) - 1)]
    entries, size = decode(content, Path("j"))
    assert (len(entries), size) == (1, len(whole))


def test_resume_writes_over_a_torn_last_line(tmp_path: Path) -> None:
    path = journal_of(tmp_path / "j", "reproduce")
    with path.open("ab") as file:
        file.write(b'{"kind":"stage_st')
    assert stages(read_journal(path)) == ["reproduce"]
    with Journal.resume(path) as journal:
        journal.append(StageStarted(stage="localize"))
    assert stages(read_journal(path)) == ["reproduce", "localize"]


@pytest.mark.parametrize(
    "damage",
    [
        lambda lines: [lines[0], b"{not json", *lines[2:]],
        lambda lines: [lines[0], lines[1].replace(b"stage_started", b"stage_sturted"), *lines[2:]],
        lambda lines: [lines[0], b"\xff\xfe", *lines[2:]],
        lambda lines: [lines[0], b"\0" * 20, *lines[2:]],
        lambda lines: [lines[0], b"[" * 100_000, *lines[2:]],
        lambda lines: [lines[0], b"null", *lines[2:]],
        lambda lines: [lines[0], b"", *lines[1:]],
        lambda lines: [lines[0], *lines[2:]],
        lambda lines: [lines[0], lines[2], lines[1]],
    ],
    ids=["no JSON", "unknown kind", "no UTF-8", "zeros", "deep", "no entry", "blank", "lost", "moved"],
)
def test_damage_before_the_last_line_is_refused_with_the_number_of_the_line(
    tmp_path: Path, damage: Callable[[list[bytes]], list[bytes]]
) -> None:
    path = journal_of(tmp_path / "j", "reproduce", "localize")
    path.write_bytes(b"\n".join([*damage(path.read_bytes().splitlines()), b""]))
    before = path.read_bytes()
    with pytest.raises(JournalError, match="line 2 "):
        read_journal(path)
    with pytest.raises(JournalError, match="line 2 "):
        Journal.resume(path)
    assert path.read_bytes() == before


def test_a_newer_format_is_refused_with_what_to_do(tmp_path: Path) -> None:
    data = {**json.loads(encode(STARTED)), "seq": 0, "version": FORMAT + 1, "unheard": "of"}
    (tmp_path / "j").write_text(json.dumps(data) + "\n")
    with pytest.raises(JournalError, match="newer experepair"):
        read_journal(tmp_path / "j")


def test_an_existing_journal_is_not_overwritten(tmp_path: Path) -> None:
    path = journal_of(tmp_path / "j", "reproduce")
    with pytest.raises(JournalError, match="resume"):
        Journal.create(path)
    assert stages(read_journal(path)) == ["reproduce"]


def test_a_missing_journal_cannot_be_resumed_or_read(tmp_path: Path) -> None:
    with pytest.raises(JournalError, match="no journal"):
        Journal.resume(tmp_path / "j")
    with pytest.raises(JournalError, match="can't read"):
        read_journal(tmp_path / "j")


def test_a_folder_that_is_not_there_is_an_output_error(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="No such file"):
        Journal.create(tmp_path / "missing" / "j")


def test_a_second_process_cannot_take_a_journal_that_is_held(tmp_path: Path) -> None:
    path = journal_of(tmp_path / "j")
    code = (
        "import sys; from pathlib import Path; from experepair.journal.journal import Journal\n"
        "journal = Journal.resume(Path(sys.argv[1])); print('held', flush=True); sys.stdin.read()"
    )
    other = subprocess.Popen(
        [sys.executable, "-c", code, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with other:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        with pytest.raises(JournalError, match=f"process {other.pid}"):
            Journal.resume(path)
        assert len(read_journal(path)) == 1  # reading needs no lock
        other.kill()
    Journal.resume(path).close()


def test_a_full_disk_is_an_output_error_that_leaves_the_old_content(tmp_path: Path) -> None:
    path = journal_of(tmp_path / "j", "reproduce")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    with Journal.resume(path) as journal:
        resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + 100, hard))
        try:
            with pytest.raises(OutputError, match="can't write the journal"):
                journal.append(StageStarted(stage="x" * 1000))
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        assert stages(read_journal(path)) == ["reproduce"]
        assert stages(journal.entries) == ["reproduce"]
        journal.append(StageStarted(stage="localize"))  # there is room again
    assert stages(read_journal(path)) == ["reproduce", "localize"]


def test_a_closed_journal_refuses_entries(tmp_path: Path) -> None:
    journal = Journal.create(tmp_path / "j")
    journal.close()
    with pytest.raises(JournalError, match="closed"):
        journal.append(STARTED)


def test_threads_share_a_journal_without_losing_or_mixing_lines(tmp_path: Path) -> None:
    with Journal.create(tmp_path / "j") as journal:
        journal.append(STARTED)

        def write(name: str) -> None:
            for number in range(25):
                journal.append(StageStarted(stage=f"{name}{number}"))

        threads = [threading.Thread(target=write, args=(name,)) for name in "abcd"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    read = stages(read_journal(tmp_path / "j"))
    assert len(read) == 100
    for name in "abcd":
        assert [stage for stage in read if stage.startswith(name)] == [f"{name}{n}" for n in range(25)]


def test_no_acknowledged_entry_is_lost_when_the_writer_is_killed(tmp_path: Path) -> None:
    path = journal_of(tmp_path / "j")
    code = (
        "import sys; from pathlib import Path; from experepair.journal.journal import Journal\n"
        "from experepair.journal.entries import StageStarted\n"
        "journal = Journal.resume(Path(sys.argv[1]))\n"
        "while True: print(journal.append(StageStarted(stage='x' * 5000)).seq, flush=True)"
    )
    for _ in range(3):
        writer = subprocess.Popen([sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE, text=True)
        with writer:
            assert writer.stdout is not None
            acknowledged = [writer.stdout.readline() for _ in range(20)]
            writer.kill()
            acknowledged += writer.stdout.readlines()
        whole = [int(line) for line in acknowledged if line.endswith("\n")]
        assert len(read_journal(path)) > whole[-1]
        Journal.resume(path).close()


def test_a_journal_in_memory_behaves_alike() -> None:
    journal = Journal.in_memory()
    seen: list[Entry] = []
    journal.subscribe(seen.append)
    stored = journal.append(STARTED)
    assert journal.entries == (stored,) == tuple(seen)


def test_a_distilled_journal_holds_replies_and_digests_but_no_prompts_paths_or_executions(
    tmp_path: Path,
) -> None:
    secret = SentPart(name="issue", text="planted-prompt", sha256="d1")
    intent = Intent(call="c", key="k", role="patch", model="m", system=secret, parts=(secret,))
    executed = Executed(key="e", purpose="reproduction", argv=("python",), stdout="planted-output")
    with Journal.create(tmp_path / "j") as journal:
        for entry in (STARTED, intent, executed, Decided(stage="s", what="planted-choice")):
            journal.append(entry)
        journal.append(Replied(call="c", text="the reply"))
        write_journal(tmp_path / "distilled", distil(journal.entries))
    text = (tmp_path / "distilled").read_text()
    assert "planted" not in text
    assert "somebody" not in text
    kinds = [entry.kind for entry in read_journal(tmp_path / "distilled")]
    assert kinds == ["run_started", "intent", "replied"]
    assert "d1" in text
    assert "the reply" in text


def test_writing_entries_to_a_bad_place_is_an_output_error(tmp_path: Path) -> None:
    with pytest.raises(OutputError):
        write_journal(tmp_path / "missing" / "j", ())
