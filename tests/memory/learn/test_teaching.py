"""`experepair memory learn`: histories, finished runs and human fixes into a real store."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import toy
from experepair.cli.app import app
from experepair.domain.memory import Failure, Origin
from experepair.domain.roles import Agent
from experepair.errors import ExpeRepairError, JournalError, UsageError
from experepair.memory.store import Change, State
from experepair.memory.store.store import Store
from experepair.session.learning import learn_history, learn_patch, learn_run
from experepair.session.repair import repair
from experepair.workspace.repository import Repository

ISSUE = "The colour is wrong\n\nIt should be green."
PATCH = """From: A <a@example.org>
Subject: [PATCH] Green

diff --git a/tests/test_colour.py b/tests/test_colour.py
new file mode 100644
--- /dev/null
+++ b/tests/test_colour.py
@@ -0,0 +1,2 @@
+def test_colour():
+    assert True
diff --git a/toy/unrelated.py b/toy/unrelated.py
--- a/toy/unrelated.py
+++ b/toy/unrelated.py
@@ -1,2 +1,2 @@
 def colour():
-    return 'blue'
+    return 'green'
"""


@pytest.fixture(autouse=True)
def _own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CACHE", "CONFIG", "DATA"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name))
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return toy.repository(tmp_path / "repo")


@pytest.fixture
def url(tmp_path: Path) -> str:
    return str(tmp_path / "memory.db")


def repaired(repo: Path, out: Path, memory: str, author: str | None = None) -> None:
    """Some patches of it fail."""
    model = toy.model(patch=(toy.WRONG, toy.GOOD, toy.WRONG, toy.BROKEN))
    repair(repo, toy.ISSUE, out=out, replay=model, memory=memory, python=sys.executable, issue_author=author)


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a repository, a repair of it in `out`, and the memory that this taught."""
    folder = tmp_path_factory.mktemp("told")
    with pytest.MonkeyPatch.context() as patched:
        for name in ("CACHE", "CONFIG", "DATA"):
            patched.setenv(f"XDG_{name}_HOME", str(folder / name))
        repaired(toy.repository(folder / "repo"), folder / "out", str(folder / "memory.db"))
    return folder


def commit(repo: Path, message: str, colour: str) -> None:
    (repo / "toy/unrelated.py").write_text(f"def colour():\n    return {colour!r}\n")
    toy.git(repo, "commit", "--quiet", "--all", f"--message={message}")


def kept(url: str, repo: Path, agent: Agent = Agent.PATCH) -> list[Change]:
    with Store.open(url) as store:
        return store.changes(Repository.open(repo).scope, agent, 0, 1000)


def learn(*arguments: str) -> str:
    done = CliRunner().invoke(app, ["memory", "learn", *arguments])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.stdout


def test_a_history_is_learned_once_and_then_only_what_is_new(repo: Path, url: str) -> None:
    commit(repo, "Colours are red", "red")
    assert learn_history(repo, memory=url).new == 1
    assert learn_history(repo, memory=url).new == 0
    commit(repo, "Colours are green", "green")
    assert learn_history(repo, memory=url).new == 1
    found = [change.demonstration for change in kept(url, repo)]
    assert [one.issue for one in found if one] == ["Colours are red\n", "Colours are green\n"]
    assert {one.origin for one in found if one} == {Origin.MINED}
    assert {one.functions for one in found if one} == {("colour",)}


def test_a_run_is_learned_after_the_fact_as_it_would_have_been_at_its_end(told: Path, tmp_path: Path) -> None:
    repo, url, later = told / "repo", str(told / "memory.db"), str(tmp_path / "later.db")
    assert learn_run(repo, told / "out", memory=url).new == 0
    repaired(repo, tmp_path / "untold", "none")
    assert learn_run(repo, tmp_path / "untold", memory=later).new == 1
    assert learn_run(repo, tmp_path / "untold", memory=later).new == 0
    for agent in Agent:
        both = [
            [(one.success, one.failure, one.paths, one.functions) for c in kept(each, repo, agent) if (one := c.demonstration)]
            for each in (url, later)
        ]  # fmt: skip
        assert both[0] == both[1]
        assert both[0]
    failures = [one.failure for change in kept(url, repo) if (one := change.demonstration)]
    assert failures[0] is None
    assert all(isinstance(failure, Failure) for failure in failures[1:])
    assert {change.demonstration and change.demonstration.functions for change in kept(url, repo)} == {
        ("mean",)
    }


def test_insights_that_memory_could_not_be_told_are_learned_with_the_run(told: Path, tmp_path: Path) -> None:
    repo, later = told / "repo", str(tmp_path / "later.db")
    learn_run(repo, told / "out", memory=later)
    expected = {
        Agent.TEST: ["Try empty inputs first."],
        Agent.PATCH: ["Guard a division where its divisor is made."],
    }
    for url in (str(told / "memory.db"), later):
        with Store.open(url) as store:
            for agent, texts in expected.items():
                present = store.present(Repository.open(repo).scope, agent)
                assert [one.text for one in present] == texts


def test_an_untrusted_run_stays_untrusted_when_it_is_learned_later(
    repo: Path, url: str, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    repaired(repo, out, "none", "mallory")
    taught = learn_run(repo, out, memory=url)
    assert taught.quarantined
    with Store.open(url) as store:
        stored = store.demonstrations(taught.demonstrations).values()
    assert {one.state for one in stored} == {State.QUARANTINED}


def test_a_run_of_another_repository_or_an_unfinished_one_is_refused(
    told: Path, url: str, tmp_path: Path
) -> None:
    repo, other = told / "repo", toy.repository(tmp_path / "other")
    out = Path(shutil.copytree(told / "out", tmp_path / "out"))
    with pytest.raises(UsageError, match="other"):
        learn_run(other, out, memory=url)
    (out / "result.json").unlink()
    with pytest.raises(UsageError, match="no result"):
        learn_run(repo, out, memory=url)
    with pytest.raises(JournalError, match=r"journal\.jsonl"):
        learn_run(repo, tmp_path, memory=url)
    assert not Path(url).exists()


def test_a_humans_fix_is_a_kind_of_its_own(repo: Path, url: str, tmp_path: Path) -> None:
    (tmp_path / "fix.patch").write_text(PATCH)
    taught = learn_patch(repo, str(tmp_path / "fix.patch"), ISSUE, memory=url)
    assert learn_patch(repo, str(tmp_path / "fix.patch"), ISSUE, memory=url).new == 0
    ((one),) = [change.demonstration for change in kept(url, repo)]
    assert one is not None
    assert (taught.new, taught.demonstrations, one.origin) == (1, (one.id,), Origin.HUMAN)
    assert (one.issue, one.paths, one.functions) == (f"{ISSUE}\n", ("toy/unrelated.py",), ("colour",))
    assert one.source.startswith("diff --git a/toy/unrelated.py")
    assert "test_colour" in one.tests


def test_what_no_fix_is_is_refused_with_a_reason(repo: Path, url: str, tmp_path: Path) -> None:
    file = tmp_path / "fix.patch"
    for content, reason in (
        ("hello", "no diff"),
        (PATCH.partition("diff --git a/toy")[0], "only tests/test_colour.py"),
    ):
        file.write_text(content)
        with pytest.raises(UsageError, match=reason):
            learn_patch(repo, str(file), ISSUE, memory=url)
    with pytest.raises(UsageError, match="nowhere"):
        learn_patch(repo, "nowhere.patch", ISSUE, memory=url)


def test_the_command_says_what_it_learned_for_people_and_for_programs(
    repo: Path, url: str, tmp_path: Path
) -> None:
    commit(repo, "Colours are red", "red")
    assert learn(str(repo), "--memory", url).startswith("learned 1 new past commit (memory of ")
    assert learn(str(repo), "--memory", url).startswith("nothing new")
    told = json.loads(learn(str(repo), "--memory", url, "--json"))
    assert (told["new"], told["repository"]) == (0, Repository.open(repo).scope)
    (tmp_path / "fix.patch").write_text(PATCH)
    fix = ("--patch", str(tmp_path / "fix.patch"), "--issue", ISSUE, "--memory", url)
    assert "memory accept" in learn(str(repo), *fix, "--untrusted")


def test_every_option_has_help_and_an_entry_in_the_docs() -> None:
    text = CliRunner().invoke(app, ["memory", "learn", "--help"], env={"COLUMNS": "200"}).stdout
    documented = (
        (Path(__file__).parents[3] / "docs" / "cli.md").read_text().partition("## experepair memory learn")[2]
    )
    options = {word.strip("[],;.") for word in text.split() if word.startswith("--")} - {"--help"}
    assert len(options) > 9
    assert not {option for option in options if option not in documented.partition("\n## ")[0]}


def test_memory_is_in_the_users_data_folder_unless_told_otherwise(repo: Path, tmp_path: Path) -> None:
    assert str(tmp_path / "DATA") in learn(str(repo))


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("--patch", "x"), "--issue"),
        (("--issue", "x"), "--patch"),
        (("--run", "x", "--patch", "x", "--issue", "x"), "not both"),
        (("--run", "x", "--limit", "3"), "past commits"),
        (("--untrusted",), "--patch"),
        (("--memory", "none"), "no memory"),
        (("--commit", "v9"), "v9"),
    ],
)
def test_flags_that_do_not_fit_are_refused_before_anything_is_learned(
    repo: Path, tmp_path: Path, arguments: tuple[str, ...], reason: str
) -> None:
    with pytest.raises(ExpeRepairError, match=reason):
        learn(str(repo), *arguments)
    assert not (tmp_path / "DATA" / "experepair" / "memory.db").exists()
