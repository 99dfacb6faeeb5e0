"""What a repository holds, read from its files."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experepair.session.environment.packages import Layout, layout


def of(files: Mapping[str, str]) -> Layout:
    content = {path: text.encode() for path, text in files.items()}
    return layout(tuple(content), content.get)


def names(files: Mapping[str, str]) -> list[str]:
    return [package.name for package in of(files).packages if package.main]


@pytest.mark.parametrize(
    ("files", "main"),
    [
        (["a/__init__.py", "a/b/__init__.py", "tests/__init__.py", "docs/__init__.py"], ["a"]),
        (["src/a/__init__.py", "src/a/tests/__init__.py"], ["a"]),
        (["src/google/cloud/x/__init__.py"], ["google.cloud.x"]),
        (["a/__init__.py", "b/__init__.py"], ["a", "b"]),
        (["my-app/__init__.py", "run.py"], []),
        (["a/b/c/d/__init__.py"], []),
        ([], []),
    ],
)
def test_packages_are_found_where_they_lie(files: list[str], main: list[str]) -> None:
    assert names(dict.fromkeys(files, "")) == main


def test_the_package_that_is_named_like_the_project_is_the_main_one() -> None:
    files = {
        "pyproject.toml": '[project]\nname = "python-dateutil"\n',
        "src/dateutil/__init__.py": "",
        "src/z/__init__.py": "",
    }
    assert names(files) == ["dateutil"]
    assert [one.name for one in of(files).packages] == ["dateutil", "z"]


def test_a_single_module_is_found_by_the_projects_name_only() -> None:
    files = {"setup.py": "setup(name='six', python_requires='>=3.7')", "six.py": "", "other.py": ""}
    assert names(files) == ["six"]
    assert of(files).python == 7
    assert names({"six.py": ""}) == []


def test_projects_inside_a_repository_are_not_on_the_import_path() -> None:
    found = of(
        {"packages/one/pyproject.toml": "", "packages/one/src/one/__init__.py": "", "two/__init__.py": ""}
    )
    assert [(one.name, one.reached, one.main) for one in found.packages] == [
        ("two", True, True),
        ("one", False, False),
    ]
    assert found.folders == ("",)


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("pyproject.toml", '[tool.setuptools.package-dir]\n"" = "code"\n'),
        ("pyproject.toml", '[tool.poetry]\npackages = [{include = "a", from = "code"}]\n'),
        ("pyproject.toml", '[tool.hatch.build.targets.wheel]\npackages = ["code/a"]\n'),
        ("pyproject.toml", '[tool.maturin]\npython-source = "code"\n'),
        ("setup.cfg", "[options]\npackage_dir =\n    = code\n"),
        ("setup.cfg", "[options.packages.find]\nwhere = code\n"),
        ("setup.py", "setup(packages=find_packages('code'))"),
        ("setup.py", "setup(package_dir={'': 'code'})"),
    ],
)
def test_folders_that_a_configuration_declares_are_imported_from(file: str, content: str) -> None:
    found = of({file: content, "code/a/__init__.py": ""})
    assert found.folders == ("", "code")
    assert [one.name for one in found.packages] == ["a"]


def test_folders_outside_the_tree_are_never_imported_from() -> None:
    content = '[tool.setuptools.packages.find]\nwhere = ["../x", "/etc", "absent"]\n'
    assert of({"pyproject.toml": content, "etc/a.py": ""}).folders == ("", "etc")


@pytest.mark.parametrize("file", ["pyproject.toml", "setup.cfg", "setup.py"])
@given(
    content=st.binary(max_size=200)
    | st.sampled_from([b"project = 1", b"[tool]\npoetry = []", b"[options", b"\xff"])
)
def test_an_odd_configuration_says_nothing(file: str, content: bytes) -> None:
    files = {file: content, "a/__init__.py": b""}
    assert [one.name for one in layout(tuple(files), files.get).packages] == ["a"]
