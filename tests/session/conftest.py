from __future__ import annotations

from pathlib import Path

import pytest

import toy


@pytest.fixture(autouse=True)
def _own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("OPENAI_API_KEY", "sk-planted-0123456789")
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return toy.repository(tmp_path / "repo")
