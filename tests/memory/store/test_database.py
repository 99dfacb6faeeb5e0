"""Addresses, versions and the one writer of the database."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory

import experepair.memory.store.database as database_module
from experepair.domain.memory import Use
from experepair.domain.roles import Agent
from experepair.errors import MemoryUnavailable, UsageError
from experepair.memory.config import LearnConfig
from experepair.memory.store import Filter, Store, schema
from experepair.memory.store.database import parsed
from lessons import SCOPE, add, run_lesson

NewUrl = Callable[[], str]
HERE = Path(__file__).parent


def test_the_identity_stays_and_differs_between_stores(new_url: NewUrl) -> None:
    url = new_url()
    with Store.open(url) as store:
        first = store.identity
    with Store.open(url) as store, Store.open(new_url()) as other:
        assert store.identity == first
        assert other.identity != first


def test_a_path_and_a_url_name_the_same_file(tmp_path: Path) -> None:
    path = tmp_path / "made" / "memory.db"
    with Store.open(str(path)) as store, Store.open(f"sqlite:///{path}") as same:
        assert store.url == same.url == f"sqlite:///{path}"
        assert store.identity == same.identity
    assert path.parent.stat().st_mode & 0o777 == 0o700


def test_passwords_are_never_shown() -> None:
    url = "postgresql://me:hushhush@127.0.0.1:1/db?password=hushhush&connect_timeout=1"
    with pytest.raises(UsageError) as caught:
        Store.open(url)
    assert "127.0.0.1:1/db" in str(caught.value)
    assert "hushhush" not in str(caught.value)


@pytest.mark.parametrize(
    "url", ["", ":memory:", "sqlite://", "mysql://me@host/db", "nonsense://", "postgresql://h:x/d"]
)
def test_an_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(MemoryUnavailable):
        Store.open(url)


def test_a_file_that_is_no_store_is_refused_and_stays_as_it_is(tmp_path: Path) -> None:
    text, foreign = tmp_path / "notes.txt", tmp_path / "foreign.db"
    text.write_text("no database " * 100)
    with sqlite3.connect(foreign) as connection:
        connection.execute("CREATE TABLE theirs (x)")
    connection.close()
    with pytest.raises(MemoryUnavailable, match="not a database"):
        Store.open(str(text))
    with pytest.raises(MemoryUnavailable, match="database of something else"):
        Store.open(str(foreign))
    with pytest.raises(MemoryUnavailable):
        Store.open(str(tmp_path))
    assert text.read_text() == "no database " * 100


def test_a_database_that_is_newer_than_the_program_is_refused(new_url: NewUrl) -> None:
    url = new_url()
    Store.open(url).close()
    engine = sa.create_engine(parsed(url))
    with engine.begin() as connection:
        connection.exec_driver_sql("UPDATE memory_version SET version_num = '9999'")
    engine.dispose()
    with pytest.raises(MemoryUnavailable, match="newer experepair \\(schema 9999, this one knows 0001\\)"):
        Store.open(url)


def test_the_newest_migration_makes_the_tables_that_the_program_uses(new_url: NewUrl) -> None:
    config = Config()
    config.set_main_option("script_location", str(Path(database_module.__file__).parent / "migrations"))
    assert ScriptDirectory.from_config(config).get_heads() == [schema.VERSION]
    url = new_url()
    Store.open(url).close()
    engine = sa.create_engine(parsed(url))
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"version_table": schema.VERSION_TABLE})
        assert compare_metadata(context, schema.metadata) == []
    engine.dispose()


def test_a_store_of_version_1_is_upgraded_with_all_that_it_holds(tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    with sqlite3.connect(path) as connection:
        connection.executescript((HERE / "version_1.sql").read_text())
    connection.close()
    with Store.open(str(path)) as store:
        _holds_the_fixture(store)


def test_an_export_of_version_1_can_be_imported(store: Store) -> None:
    store.import_((HERE / "version_1.jsonl").read_text().splitlines(), trusted=True)
    _holds_the_fixture(store)


def _holds_the_fixture(store: Store) -> None:
    for lesson in (run_lesson("a"), run_lesson("b")):
        found = store.demonstrations([one.id for one in lesson.demonstrations])
        assert tuple(one.demonstration for one in found.values()) == lesson.demonstrations
    assert [one.text for one in store.present(SCOPE, Agent.PATCH)] == ["By a", "By b"]
    assert store.insights(SCOPE, Agent.PATCH)[0].usage.named == 1
    assert store.verify() == ()
    assert store.learn(run_lesson("c")).new


def test_processes_that_open_a_new_store_at_once_all_get_it(new_url: NewUrl) -> None:
    url = new_url()
    pids = [_forked(partial(_open_and_learn, url, number)) for number in range(8)]
    assert [os.waitpid(pid, 0)[1] for pid in pids] == [0] * 8
    with Store.open(url) as store:
        assert store.scopes() == {SCOPE: 24}
        assert store.listing(Filter()).total == 72
        assert len(store.present(SCOPE, Agent.PATCH)) == 15
        assert store.verify() == ()


def _open_and_learn(url: str, number: int) -> None:
    with Store.open(url) as store:
        for turn in range(3):
            name = f"{number}-{turn}"
            uses = [Use(one.id, named=True) for one in store.present(SCOPE, Agent.PATCH)[:2]]
            store.learn(run_lesson(name, operations=add(f"Lesson of {name}"), uses=uses))


def test_what_was_acknowledged_survives_kill_9_and_no_lesson_is_half_there(new_url: NewUrl) -> None:
    url = new_url()
    Store.open(url).close()
    acknowledged: list[str] = []
    for number in range(3):
        reading, writing = os.pipe()
        pid = _forked(partial(_learn_forever, url, number, writing))
        os.close(writing)
        with os.fdopen(reading, "rb") as lines:
            acknowledged.append(lines.readline().decode().strip())
            time.sleep(0.02)
            os.kill(pid, 9)
            acknowledged += [line.decode().strip() for line in lines if line.endswith(b"\n")]
        os.waitpid(pid, 0)
    with Store.open(url) as store:
        assert store.knows(SCOPE, acknowledged) == set(acknowledged)
        assert store.listing(Filter()).total == 3 * store.scopes()[SCOPE]
        assert store.verify() == ()


def _learn_forever(url: str, number: int, writing: int) -> None:
    with Store.open(url) as store:
        for turn in range(10_000):
            store.learn(run_lesson(f"{number}-{turn}", operations=add(f"Lesson {turn} of {number}")))
            os.write(writing, f"run:{number}-{turn}\n".encode())


def _forked(work: Callable[[], None]) -> int:
    pid = os.fork()
    if pid:
        return pid
    status = 1
    try:
        work()
        status = 0
    finally:
        os._exit(status)


def test_a_writer_that_keeps_the_lock_is_waited_for_with_a_deadline(new_url: NewUrl) -> None:
    url = new_url()
    with Store.open(url) as store, Store.open(url, LearnConfig(lock_wait_s=0.3)) as hasty:
        assert store.learn(run_lesson("a")).new
        entered, leave = threading.Event(), threading.Event()

        def hold() -> None:
            with store._database.write():
                entered.set()
                leave.wait(30)

        holder = threading.Thread(target=hold)
        holder.start()
        try:
            assert entered.wait(30)
            with pytest.raises(MemoryUnavailable, match=r"has held its write lock for 0\.3 s"):
                hasty.learn(run_lesson("b"))
            assert len(hasty.changes(SCOPE, Agent.PATCH, 0, 9)) == 2
        finally:
            leave.set()
            holder.join()
        assert hasty.learn(run_lesson("b")).new


def test_threads_share_a_store(tmp_path: Path) -> None:
    with Store.open(str(tmp_path / "memory.db")) as store:
        threads = [
            threading.Thread(target=store.learn_many, args=([run_lesson(f"{n}-{i}") for i in range(5)],))
            for n in range(6)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert store.scopes() == {SCOPE: 30}
        assert store.verify() == ()


def test_importing_the_values_of_the_store_loads_no_sql() -> None:
    code = (
        "import sys; from experepair.memory.store import Stored, State, Filter; "
        "sys.exit('sqlalchemy' in sys.modules or 'alembic' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
