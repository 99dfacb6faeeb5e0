"""The doctor says what is wrong and what helps."""

from __future__ import annotations

import socket
import sys
from pathlib import Path
from typing import Any

import pytest

import toy
from experepair.llm.stub import Answer, StubProvider
from experepair.sandbox.open import Kind
from experepair.sandbox.probe import BackendReport, Proof
from experepair.sandbox.sandbox import Isolation
from experepair.session.doctor import Finding, State
from experepair.session.doctor.machine import sandboxes
from experepair.session.doctor.model import models
from experepair.session.doctor.repository import repository
from experepair.session.settings import load


def checked(repo: Path, **flags: Any) -> dict[str, Finding]:
    flags = {"python": sys.executable, **flags}
    return {finding.what: finding for finding in repository(repo, load(repo, flags))}


def asked(**flags: Any) -> dict[str, Finding]:
    return {finding.what: finding for finding in models(load(None, flags), asked_for=True)}


def test_a_repository_that_runs_is_told_with_a_test_that_passes(repo: Path) -> None:
    found = checked(repo)
    assert {finding.state for finding in found.values()} == {State.GOOD}
    assert found["imports the tree"].found == "toy: a planted sentinel was seen"
    expected = (
        "unittest, going by tests/test_stats.py: 2 of 2 tests in tests/test_stats.py pass in the sandbox"
    )
    assert found["existing tests"].found == expected


def test_a_repository_that_would_be_refused_is_bad_and_its_tests_are_not_tried(repo: Path) -> None:
    (repo / "toy" / "__init__.py").write_text("import dependency_of_no_one\n")
    toy.git(repo, "commit", "--quiet", "--all", "--message=x")
    found = checked(repo)
    assert found["imports the tree"].state is State.BAD
    assert "pip install dependency_of_no_one" in found["imports the tree"].remedy
    assert "existing tests" not in found


def test_tests_that_cannot_run_are_explained(repo: Path) -> None:
    (repo / "tox.ini").write_text(
        "[testenv]\ncommands = pytest\n[pytest]\naddopts = --cov=toy --reruns 2 -n auto\n"
    )
    (repo / "tests" / "test_stats.py").write_text("import nowhere_to_be_found\n" + toy.TESTS)
    toy.git(repo, "add", "--all")
    toy.git(repo, "commit", "--quiet", "--message=x")
    found = checked(repo)["existing tests"]
    assert found.state is State.NOTE
    assert "pytest-cov" in found.found or "nowhere_to_be_found" in found.found


def test_a_file_whose_tests_are_all_skipped_says_nothing_yet(repo: Path) -> None:
    skipped = "import unittest\n@unittest.skip('x')\nclass T(unittest.TestCase):\n    def test_x(self): ...\n"
    (repo / "tests" / "test_a.py").write_text(skipped)
    toy.git(repo, "add", "--all")
    toy.git(repo, "commit", "--quiet", "--message=x")
    assert "2 of 2 tests in tests/test_stats.py" in checked(repo)["existing tests"].found


def test_flags_are_tried_as_fix_would_use_them(repo: Path) -> None:
    found = checked(repo, setup="echo no; exit 9")
    assert "exit status 9" in found["imports the tree"].found
    assert checked(repo, python="/no/python")["interpreter"].state is State.BAD
    assert checked(repo.parent)["repository"].state is State.BAD


def test_an_endpoint_that_answers_and_one_that_does_not_are_told_apart(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with StubProvider(lambda _: Answer("yes")) as stub:
        found = asked(model="openai:stub", base_url=f"{stub.url}/v1", price="1/1")
        assert found["endpoint"].state is State.GOOD
        assert "without a key" in found["endpoint"].found
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    found = asked(model="openai:stub", base_url=f"http://127.0.0.1:{port}/v1", price="1/1")
    assert found["endpoint"].state is State.BAD
    assert "--base-url" in found["endpoint"].remedy


def test_what_was_not_tried_is_said() -> None:
    assert "nothing was tried" in asked(model="manual")["endpoint"].found
    missing = asked()
    assert (missing["model"].state, missing["endpoint"].found) == (
        State.BAD,
        "not tried: no model can be asked",
    )


LACKING = (
    BackendReport("bubblewrap", works=False, reason="refused", remedy="install it"),
    BackendReport("docker", works=False, reason="is not installed"),
    BackendReport("podman", works=False, reason="is not installed"),
)
WORKING = tuple(
    BackendReport(
        each.backend,
        works=True,
        proofs=(Proof("network cut", kept=True),),
        isolation=Isolation(each.backend, "overlay", memory="cgroup v2"),
    )
    for each in LACKING
)


@pytest.mark.parametrize(
    ("kind", "image", "working", "bad"),
    [
        (Kind.AUTO, False, (), ["bubblewrap"]),
        (Kind.AUTO, False, ("docker", "podman"), ["bubblewrap"]),
        (Kind.AUTO, False, ("bubblewrap",), []),
        (Kind.AUTO, True, ("bubblewrap",), ["docker", "podman"]),
        (Kind.AUTO, True, ("podman",), []),
        (Kind.PODMAN, True, ("bubblewrap", "docker"), ["podman"]),
        (Kind.BUBBLEWRAP, False, ("docker",), ["bubblewrap"]),
        (Kind.NONE, False, (), []),
    ],
)
def test_only_a_sandbox_that_a_repair_would_take_is_bad_when_it_lacks(
    kind: Kind, image: bool, working: tuple[str, ...], bad: list[str]
) -> None:
    reports = [well if well.backend in working else ill for ill, well in zip(LACKING, WORKING, strict=True)]
    findings, works = sandboxes(reports, kind, image=image)
    assert [one.what for one in findings if one.state is State.BAD] == [f"sandbox: {name}" for name in bad]
    assert works is not bool(bad)


def test_what_holds_the_memory_and_what_helps_to_a_better_copy_is_said() -> None:
    copied = BackendReport(
        "bubblewrap",
        works=True,
        proofs=(Proof("network cut", kept=True),),
        isolation=Isolation("bubblewrap", "copied tree", ("no overlay: refused",), memory="watchdog"),
        remedy="give it a profile",
    )
    (finding,), works = sandboxes([copied], Kind.AUTO, image=False)
    assert works
    assert (finding.state, finding.remedy) == (State.NOTE, "give it a profile")
    assert "copied tree; memory by watchdog" in finding.found
    assert "no overlay: refused" in finding.found
