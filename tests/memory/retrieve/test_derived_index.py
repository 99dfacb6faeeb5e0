import os
import shutil
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

import pytest

from experepair.domain.memory import Query
from experepair.domain.roles import Agent
from experepair.memory.config import RecallConfig
from experepair.memory.retrieve.bm25 import Bm25
from experepair.memory.retrieve.folder import drop_indexes
from experepair.memory.retrieve.index import DerivedIndex
from experepair.memory.retrieve.lock import locked
from listed_store import SCOPE, ListedStore, demonstration

QUESTION = Query(Agent.PATCH, "now", "The gate of the garden squeaks in winter")


def store() -> ListedStore:
    words = ["bench", "lawn", "hedge", "shed", "pond", "path", "roof", "wall", "brick", "chimney"]
    return ListedStore([demonstration(word, f"The {word} of the garden squeaks in winter") for word in words])


def opened(folder: Path, source: ListedStore, **settings: object) -> DerivedIndex:
    return DerivedIndex(folder, source, SCOPE, Agent.PATCH, RecallConfig.model_validate(settings))


def found(index: DerivedIndex, question: Query = QUESTION) -> list[str]:
    return [hit.entry.id for hit in islice(Bm25(index, RecallConfig()).ranked(question), 50)]


def files(folder: Path, suffix: str = "") -> list[Path]:
    return [path for path in folder.rglob("index/*") if path.name.endswith(suffix) and path.name[0] != "."]


def test_a_second_reader_uses_what_the_first_made(tmp_path: Path) -> None:
    source = store()
    assert len(found(opened(tmp_path, source))) == 10
    before = source.reads
    assert len(found(opened(tmp_path, source))) == 10
    assert source.reads == before


def test_an_open_index_is_caught_up_with_what_the_store_learns_and_drops(tmp_path: Path) -> None:
    source = store()
    index = opened(tmp_path, source)
    assert "gate" not in found(index)
    source.learn(demonstration("gate", "The gate of the garden squeaks in winter"))
    source.drop("bench")
    assert found(index)[0] == "gate"
    assert "bench" not in found(index)
    assert index.view().size == 10


def test_an_entry_that_is_recallable_again_is_in_it_once(tmp_path: Path) -> None:
    source = store()
    index = opened(tmp_path, source)
    for _ in range(3):
        source.drop("bench")
        source.learn(demonstration("bench", "The bench of the garden squeaks in winter"))
        assert found(index).count("bench") == 1
    assert found(opened(tmp_path / "fresh", source)).count("bench") == 1


def emptied(path: Path) -> None:
    path.write_bytes(b"")


def halved(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def garbled(path: Path) -> None:
    path.write_bytes(b"\xff" * path.stat().st_size)


def replaced_by_a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize("harm", [Path.unlink, emptied, halved, garbled, replaced_by_a_folder])
@pytest.mark.parametrize("suffix", ["meta.json", ".store", ".term", ".idx", ".fieldnorm", ".fast", ""])
def test_a_damaged_index_is_made_again(tmp_path: Path, harm: Callable[[Path], None], suffix: str) -> None:
    source = store()
    expected = found(opened(tmp_path, source))
    harmed = files(tmp_path, suffix)
    assert harmed
    for path in harmed:
        harm(path)
    if suffix in (".idx", ".term", ".store", "") and harm is garbled:
        shutil.rmtree(tmp_path)  # flipped bits are found by `memory stats --verify`
    assert found(opened(tmp_path, source)) == expected


def test_a_deleted_folder_is_made_again_by_a_new_reader(tmp_path: Path) -> None:
    source = store()
    index = opened(tmp_path / "agent", source)
    expected = found(index)
    shutil.rmtree(tmp_path / "agent")
    assert found(index) == expected
    source.learn(demonstration("gate", "The gate of the garden squeaks in winter"))
    assert found(index)[0] == "gate"
    assert found(opened(tmp_path / "agent", source))[0] == "gate"


def test_an_index_of_a_newer_store_is_made_again_from_a_restored_backup(tmp_path: Path) -> None:
    source = store()
    found(opened(tmp_path, source))
    backup = ListedStore([demonstration("old", "The gate of the garden squeaks")])
    index = opened(tmp_path, backup)
    assert found(index) == ["old"]
    assert index.notes


def test_a_folder_that_cannot_be_written_is_made_up_for_by_a_temporary_one(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    index = opened(tmp_path / "file" / "agent", store())
    assert len(found(index)) == 10
    assert any("no index is kept" in note for note in index.notes)


@contextmanager
def held(lock: Path) -> Iterator[None]:
    """Another process holds the lock."""
    code = "import fcntl,sys;f=open(sys.argv[1],'w');fcntl.flock(f,2);print(1,flush=True);sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", code, str(lock)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield
        process.communicate()


def test_a_busy_lock_is_waited_for_until_the_deadline_and_older_contents_serve(tmp_path: Path) -> None:
    source = store()
    index = opened(tmp_path, source, lock_wait_s=0.1)
    assert len(found(index)) == 10
    source.learn(demonstration("gate", "The gate of the garden squeaks in winter"))
    (lock,) = tmp_path.rglob("lock")
    with held(lock):
        assert "gate" not in found(index)
        assert any("behind" in note for note in index.notes)
        assert len(found(opened(tmp_path, source, lock_wait_s=0.1))) == 10
    assert "gate" in found(index)


def test_reading_needs_no_lock(tmp_path: Path) -> None:
    source = store()
    found(opened(tmp_path, source))
    (lock,) = tmp_path.rglob("lock")
    with held(lock):
        index = opened(tmp_path, source, lock_wait_s=0.0)
        assert len(found(index)) == 10
        assert not index.notes


def test_readers_in_many_threads_and_writers_find_what_was_learned(tmp_path: Path) -> None:
    source = store()
    index = opened(tmp_path, source)
    wrong: list[str] = []

    def read(number: int) -> None:
        for turn in range(5):
            name = f"n{number}-{turn}"
            source.learn(demonstration(name, f"The zebra{number}x{turn} crosses"))
            asked = Query(Agent.PATCH, "now", f"zebra{number}x{turn}")
            if found(index, asked)[:1] != [name]:
                wrong.append(name)

    threads = [threading.Thread(target=read, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_the_lock_is_free_again_after_its_holder_died(tmp_path: Path) -> None:
    with locked(tmp_path / "lock", 0) as first, locked(tmp_path / "lock", 0) as second:
        assert (first, second) == (True, False)
    with locked(tmp_path / "lock", 0) as third:
        assert third


def test_only_the_user_can_read_the_index(tmp_path: Path) -> None:
    found(opened(tmp_path / "agent", store()))
    (folder,) = (tmp_path / "agent").iterdir()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_dropped_indexes_leave_no_text_behind_and_are_made_again(tmp_path: Path) -> None:
    source = store()
    folder = tmp_path / "a-store"
    drop_indexes("a-store", SCOPE, tmp_path)
    from experepair.memory.retrieve.folder import agent_folder

    place = agent_folder("a-store", SCOPE, Agent.PATCH, tmp_path)
    assert len(found(opened(place, source))) == 10
    drop_indexes("a-store", SCOPE, tmp_path)
    assert not [path for path in folder.rglob("*") if path.is_file()]
    assert len(found(opened(place, source))) == 10
