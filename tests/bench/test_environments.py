from __future__ import annotations

import json
from pathlib import Path

import pytest

from experepair.bench.environments import Environments, image_of
from experepair.bench.instance import Instance
from experepair.errors import UsageError

SYMPY = Instance("sympy__sympy-24213", "sympy/sympy", "a" * 40, "text", version="1.12")
FILE = """
["*"]
rootfs = "roots/py39"
variables = { A = "all", B = "all" }

["sympy/sympy"]
python = "/envs/sympy-{version}/bin/python"
variables = { B = "sympy" }

["sympy/sympy@1.12"]
setup = "true"

["sympy__sympy-24213"]
variables = { C = "one" }
"""


def test_what_is_said_of_an_instance_goes_over_version_repository_and_rest(tmp_path: Path) -> None:
    (tmp_path / "environments.toml").write_text(FILE)
    environment = Environments.read(tmp_path / "environments.toml").of(SYMPY)
    assert environment.rootfs == tmp_path / "roots" / "py39"
    assert environment.python == "/envs/sympy-1.12/bin/python"
    assert environment.setup == "true"
    assert environment.variables == {"A": "all", "B": "sympy", "C": "one"}
    assert environment.settings() == {
        "rootfs": tmp_path / "roots" / "py39", "python": "/envs/sympy-1.12/bin/python", "setup": "true",
    }  # fmt: skip


def test_json_says_the_same_as_toml(tmp_path: Path) -> None:
    (tmp_path / "environments.json").write_text(json.dumps({"sympy/sympy": {"image": "local:{version}"}}))
    assert Environments.read(tmp_path / "environments.json").of(SYMPY).image == "local:1.12"


def test_an_instance_without_an_entry_is_an_error_that_names_the_keys() -> None:
    with pytest.raises(UsageError, match=r"none for 'sympy__sympy-24213', 'sympy/sympy@1.12', 'sympy/sympy'"):
        Environments({"django/django": {}}, Path()).of(SYMPY)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[a]\nimages = 'x'", "'a' in .*: images: Extra inputs"),
        ("[a]\nimage = 'x'\nrootfs = '/r'", "an image or a rootfs, not both"),
        ("a = 1", "'a' in "),
        ("[a", "can't read the environments"),
    ],
)
def test_a_file_that_cannot_be_meant_is_an_error(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "environments.toml").write_text(text)
    with pytest.raises(UsageError, match=message):
        Environments.read(tmp_path / "environments.toml")


def test_the_images_are_named_as_swe_bench_names_them() -> None:
    assert image_of(SYMPY) == "swebench/sweb.eval.x86_64.sympy_1776_sympy-24213:latest"
    assert Environments.images().of(SYMPY).image == image_of(SYMPY)
