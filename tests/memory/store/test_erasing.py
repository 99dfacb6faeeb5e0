"""Erasing leaves nothing in the files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import sqlalchemy as sa

from experepair.domain.roles import Agent
from experepair.errors import MemoryUnavailable
from experepair.memory.config import LearnConfig
from experepair.memory.store import Filter, State, Store, Verdict
from experepair.memory.store.database import parsed
from experepair.memory.store.schema import metadata
from lessons import SCOPE, add, edit, run_lesson


def learned(store: Store) -> None:
    for number in range(40):
        store.learn(run_lesson(f"other{number}", operations=add(f"Other {number}")))
    store.learn(run_lesson("hush", operations=add("An insight on hush")))
    seen = store.present(SCOPE, Agent.PATCH)[-1]
    store.learn(run_lesson("later", operations={Agent.PATCH: [edit(seen, "An insight by later")]}))
    store.learn(run_lesson("twin", operations=add("An insight on hush")))
    store.verdict(SCOPE, "hush", Verdict.EDITED, "a human's diff without that word: hush")


def everything(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(folder.iterdir()))


def test_nothing_of_an_erased_issue_is_left_in_any_file(tmp_path: Path) -> None:
    with Store.open(str(tmp_path / "memory.db")) as store, Store.open(str(tmp_path / "memory.db")) as other:
        learned(store)
        words = (b"right hush", b"tried hush", b"Title of hush", b"word: hush")
        assert all(word in everything(tmp_path) for word in words)
        assert other.listing(Filter()).total
        store.forget(SCOPE, ["issue-hush"], erase=True)
        assert [word for word in words if word in everything(tmp_path)] == []
        assert b"right other3" in everything(tmp_path)
        assert {one.state for one in store.listing(Filter(issue_id="issue-hush")).entries} == {State.ERASED}
        assert store.verify() == ()
        other.learn(run_lesson("after"))


def test_nothing_of_an_erased_insight_is_left_also_where_another_lesson_asked_for_it(tmp_path: Path) -> None:
    with Store.open(str(tmp_path / "memory.db")) as store:
        learned(store)
        for text in ("An insight by later", "An insight on hush"):
            named = next(one.id for one in store.present(SCOPE, Agent.PATCH) if one.text == text)
            store.forget(SCOPE, [named], erase=True)
        assert b"An insight on hush" not in everything(tmp_path)
        assert b"An insight by later" not in everything(tmp_path)
        assert b"right hush" in everything(tmp_path)
        assert store.verify() == ()


def test_one_demonstration_can_be_erased_alone(tmp_path: Path) -> None:
    with Store.open(str(tmp_path / "memory.db")) as store:
        store.learn(run_lesson("hush"))
        store.forget(SCOPE, [f"{SCOPE}/hush/tuple"], erase=True)
        assert b"tried hush" not in everything(tmp_path)
        assert b"right hush" in everything(tmp_path)
        store.forget(SCOPE, [f"{SCOPE}/hush/pair"], erase=True)
        assert b"right hush" not in everything(tmp_path)
        assert b"Title of hush" in everything(tmp_path)
        store.forget(SCOPE, [f"{SCOPE}/hush/test"], erase=True)
        assert b"Title of hush" not in everything(tmp_path)
        assert store.verify() == ()


def test_nothing_of_an_erased_issue_is_left_in_any_table(new_url: Callable[[], str]) -> None:
    url = new_url()
    with Store.open(url) as store:
        learned(store)
        store.forget(SCOPE, ["issue-hush"], erase=True)
    engine = sa.create_engine(parsed(url))
    with engine.connect() as connection:
        rows = [str(tuple(row)) for t in metadata.sorted_tables for row in connection.execute(sa.select(t))]
    engine.dispose()
    for word in ("right hush", "tried hush", "Title of hush", "word: hush"):
        assert [row for row in rows if word in row] == []


def test_a_reader_that_stays_is_reported_and_the_content_is_gone_for_all_others(tmp_path: Path) -> None:
    path = str(tmp_path / "memory.db")
    with Store.open(path, LearnConfig(lock_wait_s=0.2)) as store:
        learned(store)
        reader = store.export()
        next(reader)
        next(reader)
        with pytest.raises(MemoryUnavailable, match="still read older pages"):
            store.forget(SCOPE, ["issue-hush"], erase=True)
        reader.close()  # type: ignore[attr-defined]
        store.forget(SCOPE, ["issue-hush"], erase=True)
        assert b"right hush" not in everything(tmp_path)
