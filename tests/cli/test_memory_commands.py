"""The commands about memory, on a store that was taught directly."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import toy
from experepair.cli.app import app
from experepair.cli.memory import memory
from experepair.domain.memory import TESTS_FOLLOW, Use
from experepair.domain.roles import Agent
from experepair.errors import OutputError, UsageError
from experepair.memory.retrieve.folder import scope_folder
from experepair.memory.store import Store
from lessons import SCOPE, add, run_lesson

TESTS = "diff --git a/tests/test_one.py b/tests/test_one.py\n--- a/tests/test_one.py\n+++ b/tests/test_one.py\n@@ -1,0 +2 @@\n+def test_one(): ...\n"
PATCH = (
    f"{TESTS}diff --git a/one.py b/one.py\n--- a/one.py\n+++ b/one.py\n@@ -1 +1 @@\n-wrong one\n+better one\n"
)


@pytest.fixture
def db(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Two repairs of one repository, the second of an issue that isn't trusted."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    path = str(tmp_path / "memory.db")
    with Store.open(path) as store:
        store.learn(run_lesson("one", operations=add("Look at the base class.")))
        (insight,) = store.present(SCOPE, Agent.PATCH)
        store.learn(run_lesson("two", trusted=False, uses=(Use(insight.id, named=True),)))
    return path


def call(db: str, *arguments: str, given: str = "") -> str:
    done = CliRunner().invoke(app, ["memory", *arguments, "--memory", db], input=given)
    if done.exception and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.stdout


def told(db: str, *arguments: str) -> Any:
    return json.loads(call(db, *arguments, "--json"))


def states(db: str) -> dict[str, str]:
    found = told(db, "list")["entries"]
    return {one["demonstration"]["id"].removeprefix(f"{SCOPE}/"): one["state"] for one in found}


def test_the_only_repository_of_a_memory_need_not_be_named(db: str) -> None:
    text = call(db, "list")
    assert f"{SCOPE}/one/pair" in text
    assert "quarantined" in text
    assert "page 1 of 1, 6 demonstrations" in text
    with pytest.raises(UsageError, match=r"knows no repository 'elsewhere'; it holds example\.org/repo"):
        call(db, "list", "--repo", "elsewhere")


def test_a_listing_narrows_and_has_pages(db: str) -> None:
    assert told(db, "list", "--agent", "patch", "--state", "accepted")["total"] == 2
    assert told(db, "list", "--issue", "issue-two", "--origin", "validated")["total"] == 3
    assert told(db, "list", "--text", "tried ONE")["total"] in (0, 1)
    pages = [told(db, "list", "--size", "4", "--page", str(page)) for page in (1, 2)]
    assert [len(page["entries"]) for page in pages] == [4, 2]
    assert {page["total"] for page in pages} == {6}
    assert "page 2 of 2" in call(db, "list", "--size", "4", "--page", "2")
    assert [one["key"] for one in told(db, "list", "lessons")] == ["run:two", "run:one"]
    assert "Look at the base class." in call(db, "list", "insights")


def test_search_finds_what_a_repair_would_be_given_with_its_score(db: str) -> None:
    name = "resolve alias quietly when joined fields shadow columns"
    with Store.open(db) as store:
        store.learn(run_lesson(name, issue="issue-long"))
    found = told(db, "search", f"Again: {name}")
    assert [one["text"] for one in found["patch"]["insights"]] == ["Look at the base class."]
    assert {one["issue_id"] for one in found["patch"]["demonstrations"]} == {"issue-long"}
    assert found["patch"]["audit"]["taken"][0]["score"] > 0
    assert list(told(db, "search", "Title of one", "--agent", "test")) == ["test"]
    assert "issue-long" in call(db, "search", f"Again: {name}")
    assert "0 found" in call(db, "search", "Something else entirely, of which nobody has heard so far")


def test_show_tells_the_text_the_origin_and_the_use_of_an_entry(db: str) -> None:
    text = call(db, "show", f"{SCOPE}/one/tuple")
    for said in (
        "feedback on one",
        "+right one",
        "issue: issue-one",
        "run: one",
        "files: one.py",
        "demonstration",
    ):
        assert said in text
    assert "6 " not in told(db, "show", "one")["lessons"][0]["key"]
    assert len(told(db, "show", "issue-one")["demonstrations"]) == 3
    (insight,) = told(db, "list", "insights")
    shown = told(db, "show", insight["insight"]["id"])
    assert shown["insights"][0]["usage"] == {"recalled": 0, "named": 0, "outcomes": {}}  # two is quarantined
    with pytest.raises(UsageError, match="nothing-like-it"):
        call(db, "show", "nothing-like-it")


def test_the_log_tells_who_did_what_newest_first_in_pages(db: str) -> None:
    events = told(db, "log")
    assert [event["event"] for event in events] == sorted((event["event"] for event in events), reverse=True)
    assert {event["kind"] for event in events} >= {"learned", "demonstration", "operation", "used"}
    older = told(db, "log", "--before", "3")
    assert [event["event"] for event in older] == [2, 1]
    assert {event["key"] for event in told(db, "log", "issue-two")} == {"run:two"}
    assert "patch: ADD as" in call(db, "log")


def test_what_is_quarantined_is_recalled_once_it_is_accepted(db: str) -> None:
    assert states(db)["two/pair"] == "quarantined"
    assert "accepted: 1 lessons, 3 demonstrations" in call(db, "accept", "issue-two")
    assert states(db)["two/pair"] == "accepted"
    assert told(db, "list", "insights")[0]["usage"]["named"] == 1


def test_forgetting_hides_and_erasing_leaves_no_trace_in_database_and_indexes(db: str) -> None:
    call(db, "search", "Title of one\n\nThe text of one, naïve.")
    call(db, "forget", f"{SCOPE}/one/pair")
    assert states(db)["one/pair"] == "forgotten"
    cache = Path(os.environ["XDG_CACHE_HOME"])
    assert any(path.is_file() for path in cache.rglob("*"))
    assert "erased" in call(db, "forget", "issue-one", "--erase")
    left = [path for path in (Path(db), *cache.rglob("*")) if path.is_file()]
    assert not any(b"right one" in path.read_bytes() for path in left)
    assert states(db)["one/pair"] == "erased"


def test_an_index_that_cannot_be_removed_is_named_when_content_is_erased(db: str) -> None:
    with Store.open(db) as store:
        folder = scope_folder(store.identity, SCOPE)
    folder.parent.mkdir(parents=True)
    folder.write_text("no folder, so that it can't be removed as one")
    with pytest.raises(OutputError, match="is erased, but the index in"):
        call(db, "forget", "issue-one", "--erase")
    assert states(db)["one/pair"] == "erased"


def test_reverting_a_run_undoes_what_it_taught(db: str, tmp_path: Path) -> None:
    told(db, "revert", "one")
    assert {state for name, state in states(db).items() if name.startswith("one/")} == {"reverted"}
    assert told(db, "list", "insights") == []
    with pytest.raises(UsageError, match="no such thing"):
        call(db, "revert", "no such thing")
    with pytest.raises(UsageError, match="holds no result"):
        call(db, "revert", str(tmp_path))


def test_a_rejected_patch_is_no_success_any_more_and_an_edited_one_is_replaced(
    db: str, tmp_path: Path
) -> None:
    call(db, "verdict", "one", "rejected")
    assert states(db)["one/pair"] == "rejected"
    assert states(db)["one/test"] == "accepted"
    call(db, "verdict", "one", "accepted")
    assert states(db)["one/pair"] == "accepted"
    (tmp_path / "mine.diff").write_text(PATCH)
    call(db, "verdict", "one", "edited", str(tmp_path / "mine.diff"))
    human = [one["demonstration"] for one in told(db, "list", "--origin", "human")["entries"]]
    assert human
    assert all("+better one" in one["success"].split(TESTS_FOLLOW)[0] for one in human)
    assert all("+def test_one" in one["success"].split(TESTS_FOLLOW)[1] for one in human)
    assert all(one["paths"] == ["one.py"] for one in human)
    assert states(db)["one/pair"] == "rejected"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("one", "edited"), "a patch belongs to the verdict"),
        (("one", "rejected", "mine.diff"), "a patch belongs to the verdict"),
        (("one", "edited", "missing.diff"), "can't read the patch"),
        (("one", "edited", "empty.diff"), "holds no diff"),
        (("one", "edited", "tests.diff"), "no line of source"),
        (("nobody", "rejected"), "nobody"),
    ],
)
def test_a_verdict_that_cannot_be_given_says_why(
    db: str, tmp_path: Path, arguments: tuple[str, ...], said: str
) -> None:
    (tmp_path / "empty.diff").write_text("nothing\n")
    (tmp_path / "tests.diff").write_text(TESTS)
    with pytest.raises(UsageError, match=said):
        call(db, "verdict", *arguments)


def test_an_export_is_restored_as_a_backup_and_quarantined_as_anything_else(db: str, tmp_path: Path) -> None:
    exported = call(db, "export")
    assert all(json.loads(line) for line in exported.splitlines())
    call(db, "export", "--all", "--out", str(tmp_path / "all.jsonl"))
    backup, foreign = str(tmp_path / "backup.db"), str(tmp_path / "foreign.db")
    assert "imported 2 new lessons with 6 demonstrations" in call(
        backup, "import", str(tmp_path / "all.jsonl"), "--trusted"
    )
    assert states(backup) == states(db)
    assert call(backup, "export") == exported or len(call(backup, "export").splitlines()) == len(
        exported.splitlines()
    )
    assert "quarantined" in call(foreign, "import", "-", given=exported)
    assert set(states(foreign).values()) == {"quarantined"}
    with pytest.raises(UsageError, match="can't read the export"):
        call(foreign, "import", str(tmp_path / "missing.jsonl"))


def test_stats_show_growth_use_and_outcomes_and_verify_compares(db: str) -> None:
    found = told(db, "stats", "--verify")
    assert found["stats"]["lessons"]
    assert found["differences"] == []
    assert "verified" in call(db, "stats", "--verify", "--all")


def test_verify_finds_an_index_that_holds_other_things_than_the_store(db: str) -> None:
    call(db, "search", "Title of one")
    assert told(db, "stats", "--verify")["differences"] == []
    folder = Path(os.environ["XDG_CACHE_HOME"]) / "experepair" / "memory"
    stores = [path for path in folder.rglob("*.store") if path.stat().st_size > 100]
    assert stores
    for path in stores:
        content = bytearray(path.read_bytes())
        content[10:60] = bytes(50)
        path.write_bytes(content)
    done = CliRunner().invoke(app, ["memory", "stats", "--verify", "--memory", db])
    assert done.exit_code == 1
    assert "the index of the patch agent" in done.stdout


def test_a_memory_that_is_not_there_is_said_and_not_made(db: str, tmp_path: Path) -> None:
    del db
    with pytest.raises(UsageError, match=r"no memory in .*typo\.db' yet"):
        call(str(tmp_path / "typo.db"), "list")
    assert not (tmp_path / "typo.db").exists()
    with pytest.raises(UsageError, match="there is no memory"):
        call("none", "list")


def test_the_repository_of_the_working_directory_is_meant_unless_another_one_is_named(
    db: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo = toy.repository(tmp_path / "repo")
    monkeypatch.chdir(repo)
    assert told(db, "list")["total"] == 0
    assert told(db, "list", "--repo", SCOPE)["total"] == 6
    assert told(db, "list", "--all")["total"] == 6
    assert told(db, "list", "--repo", str(repo))["total"] == 0


def test_terminal_control_in_what_was_learned_does_not_reach_the_terminal(db: str) -> None:
    with Store.open(db) as store:
        store.learn(run_lesson("three", operations=add("Look \x1b[2J here.")))
    assert "\x1b[2J" not in call(db, "list", "insights") + call(db, "log") + call(db, "show", "three")


@pytest.mark.parametrize("command", [str(one.name) for one in memory.registered_commands])
def test_every_command_has_help_and_an_entry_in_the_docs(command: str) -> None:
    text = CliRunner().invoke(app, ["memory", command, "--help"], env={"COLUMNS": "200"}).stdout
    assert len(text.split("Options:")[0].split("\n\n")[1].split()) > 5
    documented = (Path(__file__).parents[2] / "docs" / "cli.md").read_text()
    headings = [line for line in documented.splitlines() if line.startswith("## experepair memory ")]
    assert any(command in line.removeprefix("## experepair memory ").split(", ") for line in headings)
    options = {word.strip("[],;.") for word in text.split() if word.startswith("--")} - {"--help"}
    assert not {option for option in options if option not in documented}
