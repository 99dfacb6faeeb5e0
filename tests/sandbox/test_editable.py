"""Which folders beside a repository its environment needs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from experepair.sandbox.editable import editable_projects


@pytest.fixture
def site(tmp_path: Path) -> Path:
    folder = tmp_path / "venv" / "lib" / "python3.11" / "site-packages"
    folder.mkdir(parents=True)
    return folder


def project(folder: Path) -> Path:
    folder.mkdir(parents=True)
    (folder / "pyproject.toml").touch()
    return folder


def test_records_and_path_files_name_projects(site: Path, tmp_path: Path) -> None:
    repo, one, two = (project(tmp_path / name) for name in ("repo", "one", "with space"))
    (one / "src").mkdir()
    (site / "one.pth").write_text(f"# comment\nimport os\n{one}/src\nrelative\n{repo}/src\n{site}\n")
    info = site / "two.dist-info"
    info.mkdir()
    url = two.as_uri()
    (info / "direct_url.json").write_text(json.dumps({"url": url, "dir_info": {"editable": True}}))
    assert editable_projects(site, repo) == (str(one), str(two))


def test_only_projects_count_and_never_what_holds_the_repository(site: Path, tmp_path: Path) -> None:
    outer = project(tmp_path / "outer")
    secrets = tmp_path / "home" / ".ssh" / "deep" / "down"
    secrets.mkdir(parents=True)
    (site / "x.pth").write_text(f"{secrets}\n{outer}\n/\n/no/such/folder\n")
    assert editable_projects(site, outer / "repo") == ()


@pytest.mark.parametrize(
    "content", ["", "[]", "{", '{"url": 3}', '{"url": "file:///x", "dir_info": []}', '{"dir_info": {}}']
)
def test_odd_records_are_passed_over(site: Path, tmp_path: Path, content: str) -> None:
    info = site / "x.dist-info"
    info.mkdir()
    (info / "direct_url.json").write_text(content)
    (site / "x.pth").write_bytes(b"/\xff\n/\0\n")
    assert editable_projects(site, tmp_path) == ()
