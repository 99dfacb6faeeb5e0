"""Whole repairs with the two memories on SQLite."""

from __future__ import annotations

import asyncio
import json
import shutil
import sys
from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

import toy
from experepair.domain.memory import Operation, Query
from experepair.domain.roles import Agent, Role
from experepair.domain.trajectory import Trajectory
from experepair.errors import MemoryUnavailable, ProviderError, UsageError
from experepair.llm.model import Model, ScriptedModel
from experepair.llm.request import Reply, Request
from experepair.memory.config import RecallConfig
from experepair.memory.eligibility import Bounds
from experepair.memory.lesson import Learned
from experepair.memory.memory import NoMemory, ScriptedMemory
from experepair.memory.repository import RepositoryMemory
from experepair.memory.store import Filter, State, Store
from experepair.session.issues import is_trusted, read_issue
from experepair.session.localize import localize
from experepair.session.managing import run_name
from experepair.session.memory import open_memory
from experepair.session.opened import journalled_settings
from experepair.session.repair import repair
from experepair.session.settings import load
from experepair.steps.result import Result, Status
from experepair.workspace.repository import Repository

SIMILAR = "mean(()) raises ZeroDivisionError\n\n`stats.mean` should return 0.0 for an empty tuple, but it divides by zero.\n"
LEAN: Mapping[str, Any] = {"samples": 1, "validation_tests": 1, "refinements": 1, "existing_tests": 0}
"""Of everything one, where it is no matter of how many."""
INSIGHT = "Guard a division where its divisor is made."


def run(repo: Path, out: Path, model: Model | None = None, issue: str = toy.ISSUE, **given: Any) -> Result:
    given = {"memory": str(out.parent / "memory.db"), **given}
    return repair(repo, issue, out=out, replay=model or toy.model(), python=sys.executable, **given)


def remembered(model: ScriptedModel) -> dict[Role, str]:
    """What memory added to the first prompt of each role."""
    found: dict[Role, str] = {}
    for request in model.asked:
        text = "\n".join(part.text for part in request.prompt.parts if part.name == "memory")
        found.setdefault(request.role, text)
    return found


def entries(out: Path, kind: str) -> list[dict[str, Any]]:
    lines = (json.loads(line) for line in (out / "journal.jsonl").read_text().splitlines())
    return [line for line in lines if line["kind"] == kind]


@pytest.fixture(scope="module")
def _once(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Result]:
    """A repository, and the first repair of it, which taught a memory beside."""
    folder = tmp_path_factory.mktemp("taught")
    with pytest.MonkeyPatch.context() as patched:
        for name in ("CACHE", "CONFIG", "DATA"):
            patched.setenv(f"XDG_{name}_HOME", str(folder / name))
        return folder, run(toy.repository(folder / "repo"), folder / "1")


@pytest.fixture
def taught(_once: tuple[Path, Result], tmp_path: Path) -> tuple[Path, Result]:
    """The repository, the first repair, and in the test's folder a memory that it taught."""
    folder, result = _once
    shutil.copy(folder / "memory.db", tmp_path / "memory.db")
    return folder / "repo", result


def test_the_second_issue_is_given_what_the_first_taught_and_says_so(
    taught: tuple[Path, Result], tmp_path: Path
) -> None:
    repo, first = taught
    assert first.memory is not None
    assert first.memory.learned is not None
    assert (first.memory.learned.new, first.memory.remembered) == (True, ())
    model = toy.model(patch=f"<applied>1, 9</applied>\n{toy.GOOD}")
    second = run(repo, tmp_path / "2", model, SIMILAR)
    shown = remembered(model)
    for role in (Role.REPRODUCE, Role.VALIDATE):
        assert "1. Try empty inputs first." in shown[role]
        assert "This script worked:" in shown[role]
        assert "def test_mean_of_nothing_is_zero" in shown[role]
    for role in (Role.LOCALIZE, Role.PATCH, Role.REFINE):
        assert f"1. {INSIGHT}" in shown[role]
        assert "+    if not values:" in shown[role]
    assert not shown[Role.JUDGE] + shown[Role.REVIEW] + shown[Role.SUMMARIZE]
    assert second.memory is not None
    told = {(one.kind, one.agent): one for one in second.memory.remembered}
    assert told["insight", "patch"].applied == ("P1.1", "P1.2", "P1.3", "P1.4")
    assert told["insight", "test"].applied == ()
    assert told["demonstration", "patch"].source == first.run_id
    assert told["demonstration", "patch"].prompts == ("localize", "patch x4", "refine x4")
    assert (told["demonstration", "patch"].score or 0) > 0
    assert second.memory.similar[0].startswith(f"similar to {first.issue.id}")
    report = (tmp_path / "2" / "report.md").read_text()
    assert INSIGHT in report
    assert "This issue is similar to" in report
    assert Result.model_validate_json((tmp_path / "2" / "result.json").read_text()).memory == second.memory
    with Store.open(str(tmp_path / "memory.db")) as store:
        (known,) = store.insights(Repository.open(repo).scope, Agent.PATCH)
    assert (known.usage.recalled, known.usage.named) == (1, 1)
    assert run_name(str(tmp_path / "2")) == run_name(second.run_id) == second.run_id
    evidence = localize(repo, SIMILAR, memory=str(tmp_path / "memory.db")).ranking.files[0].evidence
    assert any(one.kind == "repair" and "mean([])" in one.detail for one in evidence)


def test_the_prompts_of_the_arms_without_memory_are_those_of_an_empty_one_byte_for_byte(
    taught: tuple[Path, Result], tmp_path: Path
) -> None:
    repo, _ = taught
    arms: Mapping[str, Mapping[str, Any]] = {
        "empty": {"memory": str(tmp_path / "empty.db")},
        "none": {"memory": "none"},
        "no recall": {"no_recall": True},
        "without": {"recall": {"demonstrations": False, "insights": False}},
        "only insights": {"recall": {"demonstrations": False}},
    }
    prompts = {}
    for name, given in arms.items():
        model = toy.model()
        run(repo, tmp_path / name, model, SIMILAR, **{**given, "no_learn": True, "repair": LEAN})
        prompts[name] = sorted((request.role, request.sample, request.prompt.user) for request in model.asked)
    assert prompts["empty"] == prompts["none"] == prompts["no recall"] == prompts["without"]
    assert prompts["only insights"] != prompts["empty"]
    assert not any("<demonstration>" in prompt for _, _, prompt in prompts["only insights"])


def test_what_an_unknown_author_teaches_is_recalled_only_once_it_is_accepted(
    repo: Path, tmp_path: Path
) -> None:
    result = run(repo, tmp_path / "1", issue_author="mallory")
    assert result.memory is not None
    assert result.memory.learned is not None
    assert result.memory.learned.quarantined
    assert "experepair memory accept" in (tmp_path / "1" / "report.md").read_text()
    with Store.open(str(tmp_path / "memory.db")) as store:
        memory = RepositoryMemory(store, Repository.open(repo).scope, Bounds(), RecallConfig())
        query = Query(Agent.PATCH, "another", SIMILAR)
        before = asyncio.run(memory.recall(query))
        assert (before.insights, before.demonstrations) == ((), ())
        assert {one.state for one in store.listing(Filter()).entries} == {State.QUARANTINED}
        store.accept(Repository.open(repo).scope, [result.run_id])
        after = asyncio.run(memory.recall(query))
    assert [one.text for one in after.insights] == [INSIGHT]
    assert [one.trusted for one in after.demonstrations] == [False]


def test_only_an_author_on_the_repositorys_list_is_trusted_and_an_issue_that_is_handed_over_without_one(
    repo: Path,
) -> None:
    (repo / "experepair.toml").write_text('trusted_authors = ["Alice", "bob "]\n')
    listed = load(repo, {}).trusted_authors
    assert [is_trusted(author, listed) for author in ("alice", "Bob", "mallory", "", None)] == [
        True, True, False, False, True,
    ]  # fmt: skip


def test_issues_in_files_of_one_name_are_two_and_the_same_file_is_the_same(tmp_path: Path) -> None:
    files = [tmp_path / name / "issue.md" for name in ("one", "two", "copy")]
    for file, text in zip(files, (toy.ISSUE, SIMILAR, toy.ISSUE), strict=True):
        file.parent.mkdir()
        file.write_text(text)
    one, two, copy = (read_issue(str(file), "example/toy").id for file in files)
    assert one == copy != two
    assert one.startswith("issue-")


def test_a_run_that_dies_while_it_learns_learns_once_and_pays_once_when_it_is_resumed(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    learn = RepositoryMemory.learn

    async def dying(
        self: RepositoryMemory, lived: Trajectory, operations: Mapping[Agent, tuple[Operation, ...]]
    ) -> Learned:
        await learn(self, lived, operations)
        raise SystemExit("killed")

    model = toy.model()
    with monkeypatch.context() as patched:
        patched.setattr(RepositoryMemory, "learn", dying)
        with pytest.raises(SystemExit):
            run(repo, tmp_path / "1", model)
    assert (tmp_path / "1" / "result.json").is_file()
    again = toy.model()
    result = run(repo, tmp_path / "1", again, resume=True)
    assert not again.asked
    assert result.memory is not None
    assert result.memory.learned is not None
    assert (result.status, result.memory.learned.new) == (Status.REPAIRED, False)
    third = run(repo, tmp_path / "1", again, resume=True)
    assert third.memory is not None
    assert third.memory.learned == result.memory.learned
    with Store.open(str(tmp_path / "memory.db")) as store:
        assert len(store.lessons()) == 1
        assert len(store.present(Repository.open(repo).scope, Agent.PATCH)) == 1


def test_a_resumed_run_is_given_the_same_memories_again_whatever_was_learned_meanwhile(
    taught: tuple[Path, Result], tmp_path: Path
) -> None:
    repo, first = taught

    class Dying:
        """Its provider is gone when the reviewer is asked; the run is killed there."""

        async def reply(self, request: Request) -> Reply:
            if request.role is Role.REVIEW:
                raise SystemExit("killed")
            return await model.reply(request)

    model = toy.model()
    with pytest.raises(SystemExit):
        run(repo, tmp_path / "2", Dying(), SIMILAR)
    with Store.open(str(tmp_path / "memory.db")) as store:
        store.revert(Repository.open(repo).scope, first.run_id)
    again = toy.model()
    result = run(repo, tmp_path / "2", again, SIMILAR, resume=True)
    assert result.status is Status.REPAIRED
    assert {request.role for request in again.asked} == {Role.REVIEW, Role.SUMMARIZE}


def test_a_summary_that_fails_harms_neither_the_result_nor_the_demonstrations(
    repo: Path, tmp_path: Path
) -> None:
    class Failing:
        async def reply(self, request: Request) -> Reply:
            if request.role is Role.SUMMARIZE:
                raise ProviderError("gone")
            return await model.reply(request)

    model = toy.model()
    result = run(repo, tmp_path / "1", Failing())
    assert (result.status, result.exit_status) == (Status.REPAIRED, 0)
    assert result.memory is not None
    assert result.memory.learned is not None
    assert result.memory.learned.failed == "no insights were drawn: gone"
    assert len(result.memory.learned.demonstrations) >= 2
    assert result.memory.learned.operations == ()


def test_malformed_operations_are_in_the_journal_with_their_reason_and_the_others_apply(
    repo: Path, tmp_path: Path
) -> None:
    lines = [
        {"agent": "patch", "operation": "ADD", "insight": "Keep it small."},
        {"agent": "patch", "operation": "EDIT", "number": 3, "insight": "There is no third."},
    ]
    model = toy.model(summarize="```json\n" + "\n".join(json.dumps(line) for line in lines) + "\n```")
    run(repo, tmp_path / "1", model)
    (learned,) = entries(tmp_path / "1", "learned")
    assert len(learned["operations"]) == 1
    assert "no insight '3'" in learned["dropped"][0]
    with Store.open(str(tmp_path / "memory.db")) as store:
        assert [one.text for one in store.present(Repository.open(repo).scope, Agent.PATCH)] == [
            "Keep it small."
        ]


def test_the_summarizer_sees_a_failed_repair_marked_as_such(repo: Path, tmp_path: Path) -> None:
    model = toy.model(patch=toy.WRONG)
    result = run(repo, tmp_path / "1", model)
    assert result.status is Status.UNRESOLVED
    (asked,) = (request.prompt.user for request in model.asked if request.role is Role.SUMMARIZE)
    assert "it FAILED, no patch passes." in asked
    assert "It failed:" in asked
    assert "The insights of the patch agent at present: none." in asked
    with Store.open(str(tmp_path / "memory.db")) as store:
        kept = [one.demonstration.agent for one in store.listing(Filter()).entries]
        assert kept == [Agent.TEST]  # the script is kept although no patch passed
        assert len(store.present(Repository.open(repo).scope, Agent.PATCH)) == 1


def test_a_repair_that_was_cut_short_teaches_nothing_since_it_may_be_resumed(
    repo: Path, tmp_path: Path
) -> None:
    memory = ScriptedMemory({})
    result = run(repo, tmp_path / "1", memory=memory, max_tokens=9000)
    assert result.status is Status.BUDGET_SPENT
    assert memory.told == []


def test_a_store_that_cannot_be_opened_is_a_clear_error_before_any_call(repo: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no database, but longer than any header of one " * 10)
    for url in (str(tmp_path / "file"), "/proc/nowhere/memory.db", "mysql://u:hunter2@host/x"):
        model = toy.model()
        with pytest.raises(MemoryUnavailable) as error:
            run(repo, tmp_path / "out", model, memory=url)
        assert not model.asked
        assert "hunter2" not in str(error.value)
    assert not (tmp_path / "out").exists()


def test_a_password_in_the_address_of_memory_is_not_journalled(repo: Path) -> None:
    recall = {"embedding_base_url": "https://u:hunter2@host/v1"}
    settings = load(repo, {"memory": "postgresql://u:hunter2@host/x", "max_cost": 1, "recall": recall})
    told = journalled_settings(settings, "postgresql://u:***@host/x")
    assert (told["max_cost"], told["memory"]) == (1.0, "postgresql://u:***@host/x")
    assert "host/v1" in told["recall"]["embedding_base_url"]
    assert "hunter2" not in json.dumps(told)


@pytest.mark.parametrize(
    ("recall", "refused"),
    [
        ({"retriever": "embedding"}, True),
        ({"retriever": "hybrid", "embedding_model": "nobody:small"}, True),
        ({"retriever": "embedding", "demonstrations": False}, False),
        ({"retriever": "paper"}, False),
    ],
)
def test_a_retriever_that_cannot_work_is_refused_before_any_call(
    repo: Path, tmp_path: Path, recall: Mapping[str, Any], refused: bool
) -> None:
    given = load(repo, {"memory": str(tmp_path / "memory.db"), "recall": recall})
    expected = pytest.raises(UsageError, match="embedding model") if refused else nullcontext()
    with expected, open_memory(None, given, Repository.open(repo), "HEAD") as opened:
        assert opened.remembers


def test_without_an_address_memory_is_in_the_users_data_folder(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    run(repo, tmp_path / "1", memory=None)
    assert (tmp_path / "data" / "experepair" / "memory.db").is_file()
    monkeypatch.setenv("EXPEREPAIR_MEMORY", "none")
    with open_memory(None, load(repo, {}), Repository.open(repo), "HEAD") as opened:
        assert (type(opened.memory), opened.remembers, opened.learns) == (NoMemory, False, False)
