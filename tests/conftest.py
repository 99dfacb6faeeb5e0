"""What every test shares: none of them ever touches the user's own memory."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _own_data(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path_factory.mktemp("data")))
    for name in ("EXPEREPAIR_MEMORY", "EXPEREPAIR_NO_RECALL", "EXPEREPAIR_NO_LEARN"):
        monkeypatch.delenv(name, raising=False)
