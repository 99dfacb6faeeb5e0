"""Models by role, samples, and replies by hand."""

from __future__ import annotations

import asyncio
import threading
import time
from pathlib import Path

import pytest

from experepair.domain.roles import Role
from experepair.errors import BudgetSpent, ProviderError, ReplayMiss, UsageError
from experepair.journal.entries import Intent
from experepair.journal.journal import Journal
from experepair.llm.config import ModelConfig, ModelsConfig, Price, RetryPolicy, Sampling
from experepair.llm.ledger import Ledger
from experepair.llm.manual import ManualModel
from experepair.llm.model import ScriptedModel
from experepair.llm.replay import ReplayModel
from experepair.llm.request import Part, Prompt, Reply, Request
from experepair.llm.roles import Models, check_affordable
from experepair.llm.sampling import samples
from experepair.llm.stub import Answer, Asked, StubProvider

PROMPT = Prompt("be brief", (Part("issue", "it breaks"),))
NO_WAITS = RetryPolicy(attempts=1)


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)


def config(stub: StubProvider, **changes: object) -> ModelsConfig:
    model = ModelConfig(name="openai:stub", base_url=f"{stub.url}/v1", price=Price.parse("1/1"))
    return ModelsConfig.model_validate({"default": model, "retry": NO_WAITS, **changes})


class Sampler:
    """Fails for some samples, and remembers when which was asked and done."""

    def __init__(self, failing: dict[int, Exception] | None = None) -> None:
        self._failing = failing or {}
        self.events: list[str] = []

    async def reply(self, request: Request) -> Reply:
        self.events.append(f"asked {request.sample}")
        await asyncio.sleep(0.001)
        self.events.append(f"done {request.sample}")
        if request.sample in self._failing:
            raise self._failing[request.sample]
        return Reply(f"sample {request.sample} of {request.samples}")


def test_each_role_is_asked_from_its_own_model_at_its_own_temperature() -> None:
    with StubProvider() as stub:
        judge = ModelConfig(name="openai:judge", base_url=f"{stub.url}/v1", temperature=0.3)
        wanted = config(stub, roles={Role.JUDGE: judge}, temperatures={Role.PATCH: 0.9})

        async def run() -> None:
            async with Models.live(wanted, Journal.in_memory(), Ledger()) as models:
                for role in (Role.JUDGE, Role.PATCH, Role.LOCALIZE):
                    await models.reply(role, PROMPT)

        asyncio.run(run())
    asked = [(one.body["model"], one.body.get("temperature")) for one in stub.asked]
    assert asked == [("judge", 0.3), ("stub", 0.9), ("stub", None)]


def test_caps_hold_over_all_roles_together() -> None:
    with StubProvider() as stub:
        ledger = Ledger(max_tokens=8_192 + 120)
        models = Models.live(config(stub), Journal.in_memory(), ledger)

        async def run() -> None:
            for role in Role:
                await models.reply(role, PROMPT)

        with pytest.raises(BudgetSpent):
            asyncio.run(run())
    assert 0 < len(stub.asked) < len(Role)
    assert ledger.spent_tokens == 12 * len(stub.asked)


def test_a_replay_needs_no_key_and_serves_any_configured_model() -> None:
    journal = Journal.in_memory()
    with StubProvider() as stub:
        asyncio.run(Models.live(config(stub), journal, Ledger()).reply(Role.PATCH, PROMPT))
    other = ModelsConfig(default=ModelConfig(name="anthropic:claude-sonnet-5-5"), max_cost_usd=0)
    own, ledger = Journal.in_memory(), Ledger(max_cost_usd=0)
    models = Models.live(other, own, ledger, replay=ReplayModel(journal.entries))
    assert asyncio.run(models.reply(Role.PATCH, PROMPT)).text == "ok"
    assert [entry.kind for entry in own.entries] == ["intent", "attempt", "replied"]
    with pytest.raises(ReplayMiss):
        asyncio.run(models.samples(Role.JUDGE, PROMPT, 2))


def test_a_missing_key_is_named_before_any_call() -> None:
    wanted = ModelsConfig(default=ModelConfig(name="anthropic:claude-sonnet-5-5"))
    with pytest.raises(UsageError, match="ANTHROPIC_API_KEY"):
        Models.live(wanted, Journal.in_memory(), Ledger())


def test_samples_are_asked_all_at_once_by_default() -> None:
    model = Sampler()
    replies = asyncio.run(samples(model, Role.PATCH, PROMPT, 4))
    assert model.events[:4] == ["asked 0", "asked 1", "asked 2", "asked 3"]
    assert [one.text for one in replies if isinstance(one, Reply)] == [f"sample {n} of 4" for n in range(4)]


def test_the_first_sample_can_go_alone_so_that_the_rest_find_its_prompt_cached() -> None:
    model = Sampler()
    asyncio.run(samples(model, Role.PATCH, PROMPT, 4, strategy=Sampling.FIRST_THEN_REST))
    assert model.events[:5] == ["asked 0", "done 0", "asked 1", "asked 2", "asked 3"]


@pytest.mark.parametrize("strategy", list(Sampling))
def test_a_failed_sample_does_not_lose_the_others(strategy: Sampling) -> None:
    refused, spent = ProviderError("refused"), BudgetSpent("spent")
    model = Sampler({0: refused, 2: spent})
    result = asyncio.run(samples(model, Role.PATCH, PROMPT, 4, strategy=strategy))
    assert (result[0], result[2]) == (refused, spent)
    assert isinstance(result[1], Reply)
    assert isinstance(result[3], Reply)


def test_a_replay_miss_of_one_sample_ends_them_all() -> None:
    model = Sampler({1: ReplayMiss("patch", "j", "")})
    with pytest.raises(ReplayMiss):
        asyncio.run(samples(model, Role.PATCH, PROMPT, 4))


def test_no_samples_are_no_calls() -> None:
    for strategy in Sampling:
        assert asyncio.run(samples(Sampler(), Role.PATCH, PROMPT, 0, strategy=strategy)) == []


def test_a_budget_that_ends_between_samples_keeps_those_answered() -> None:
    with StubProvider() as stub:
        wanted = config(stub, sampling="first-then-rest")
        models = Models.live(wanted, Journal.in_memory(), Ledger(max_tokens=8_192 + 100))
        result = asyncio.run(models.samples(Role.PATCH, PROMPT, 8))
    kinds = [type(one) for one in result]
    assert kinds[0] is Reply
    assert BudgetSpent in kinds
    assert kinds.count(Reply) == len(stub.asked)


def test_calls_of_one_run_go_over_in_parallel() -> None:
    together = threading.Barrier(4, timeout=10)

    def answer(_: Asked) -> Answer:
        together.wait()  # passes only when all four are there
        return Answer()

    with StubProvider(answer) as stub:
        models = Models.live(config(stub), Journal.in_memory(), Ledger())
        result = asyncio.run(models.samples(Role.PATCH, PROMPT, 4))
    assert all(isinstance(one, Reply) for one in result)


def test_scripted_models_serve_every_role_and_remember_what_they_were_asked() -> None:
    scripted = ScriptedModel({Role.PATCH: ["a", "b"], Role.JUDGE: ["yes"]})
    models = Models.scripted(scripted)
    replies = asyncio.run(models.samples(Role.PATCH, PROMPT, 2))
    assert [one.text for one in replies if isinstance(one, Reply)] == ["a", "b"]
    assert asyncio.run(models.reply(Role.JUDGE, PROMPT)).text == "yes"
    assert [(one.role, one.sample) for one in scripted.asked] == [
        (Role.PATCH, 0),
        (Role.PATCH, 1),
        (Role.JUDGE, 0),
    ]


def test_an_unknown_price_with_a_cap_on_cost_is_refused_at_the_start() -> None:
    with StubProvider() as stub:
        free = ModelConfig(name="openai:stub", base_url=f"{stub.url}/v1")
        with pytest.raises(UsageError, match=r"openai:stub.*--price.*--max-tokens"):
            check_affordable(ModelsConfig(default=free, max_cost_usd=1))
        assert len(check_affordable(ModelsConfig(default=free, max_cost_usd=1, max_tokens=10))) == 1
        warnings = check_affordable(ModelsConfig(default=free))
        assert check_affordable(config(stub, max_cost_usd=1)) == []
    assert len(warnings) == 1
    assert "openai:stub" in warnings[0]
    assert stub.asked == []


def test_a_reply_by_hand_is_taken_from_its_file(tmp_path: Path) -> None:
    folder = tmp_path / "mail"
    asked: list[Path] = []

    async def run() -> list[str]:
        model = ManualModel(folder, asked.append, poll_s=0.01)
        waiting = [asyncio.create_task(model.reply(Request(Role.PATCH, PROMPT, n, 2))) for n in (0, 1)]
        await asyncio.sleep(0.05)
        assert not any(task.done() for task in waiting)
        (folder / "0002.reply.md").write_text("second")
        (folder / "0001.reply.md").write_text("first")
        return [(await task).text for task in waiting]

    assert asyncio.run(run()) == ["first", "second"]
    assert [path.name for path in asked] == ["0001.prompt.md", "0002.prompt.md"]
    text = asked[0].read_text()
    assert text.index("be brief") < text.index("it breaks")


def test_a_reply_by_hand_that_is_still_being_written_is_waited_for(tmp_path: Path) -> None:
    async def run() -> str:
        task = asyncio.create_task(ManualModel(tmp_path, poll_s=0.05).reply(Request(Role.PATCH, PROMPT)))
        await asyncio.sleep(0.02)
        (tmp_path / "0001.reply.md").write_text("")
        for text in ("a", "ab", "abc"):
            (tmp_path / "0001.reply.md").write_text(text)
            await asyncio.sleep(0.02)
        return (await task).text

    assert asyncio.run(run()) == "abc"


def test_a_prompt_by_hand_is_there_whole_or_not_at_all(tmp_path: Path) -> None:
    text = "long " * 2_000_000
    seen: list[int] = []

    def look() -> None:
        prompt = tmp_path / "0001.prompt.md"
        while not prompt.exists():
            time.sleep(0.0001)
        seen.append(prompt.stat().st_size)
        (tmp_path / "0001.reply.md").write_text("read")

    reader = threading.Thread(target=look)
    reader.start()
    request = Request(Role.PATCH, Prompt("be brief", (Part("issue", text),)))
    asyncio.run(ManualModel(tmp_path, poll_s=0.01).reply(request))
    reader.join()
    assert seen == [(tmp_path / "0001.prompt.md").stat().st_size]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["0001.prompt.md", "0001.reply.md"]


def test_waiting_for_a_hand_can_be_cancelled(tmp_path: Path) -> None:
    async def run() -> None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await ManualModel(tmp_path).reply(Request(Role.PATCH, PROMPT))

    began = time.monotonic()
    asyncio.run(run())
    assert time.monotonic() - began < 5


def test_prompts_by_hand_are_journalled_and_numbered_on(tmp_path: Path) -> None:
    (tmp_path / "0007.prompt.md").write_text("from an earlier run")
    journal = Journal.in_memory()
    models = Models.live(
        ModelsConfig(default=ModelConfig(name="manual"), max_cost_usd=0),
        journal,
        Ledger(max_cost_usd=0),
        manual_folder=tmp_path,
        on_prompt=lambda path: path.with_name("0008.reply.md").write_text("the reply"),
    )
    assert asyncio.run(models.reply(Role.PATCH, PROMPT)).text == "the reply"
    assert (tmp_path / "0008.prompt.md").exists()
    intent = journal.entries[0]
    assert isinstance(intent, Intent)
    assert intent.model == "manual"


def test_the_manual_model_needs_a_folder() -> None:
    with pytest.raises(UsageError, match="folder"):
        Models.live(ModelsConfig(default=ModelConfig(name="manual")), Journal.in_memory(), Ledger())
