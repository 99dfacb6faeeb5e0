"""Stores on both databases."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from clusters import postgres, postgres_programs
from experepair.memory.store import Store
from experepair.memory.store.database import parsed

NewUrl = Callable[[], str]


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    programs = postgres_programs()
    if programs is None:
        pytest.skip("PostgreSQL isn't installed")
    with postgres(programs) as url:
        yield url


@pytest.fixture
def new_postgres(postgres_url: str) -> NewUrl:
    def make() -> str:
        name = f"store_{uuid.uuid4().hex}"
        engine = sa.create_engine(parsed(postgres_url), isolation_level="AUTOCOMMIT")
        with engine.connect() as connection:
            connection.exec_driver_sql(f"CREATE DATABASE {name}")
        engine.dispose()
        return postgres_url.replace("/postgres?", f"/{name}?")

    return make


@pytest.fixture
def new_sqlite(tmp_path: Path) -> NewUrl:
    return lambda: str(tmp_path / f"{uuid.uuid4().hex}.db")


@pytest.fixture(params=["sqlite", "postgresql"])
def new_url(request: pytest.FixtureRequest) -> NewUrl:
    """Makes the address of a store that isn't there yet."""
    name = "new_sqlite" if request.param == "sqlite" else "new_postgres"
    found: NewUrl = request.getfixturevalue(name)
    return found


@pytest.fixture
def store(new_url: NewUrl) -> Iterator[Store]:
    with Store.open(new_url()) as opened:
        yield opened
