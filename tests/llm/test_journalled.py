"""Calls that are journalled, retried, paid once, and found again."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from experepair.domain.roles import Role
from experepair.errors import BudgetSpent, ExpeRepairError, OutputError, ProviderError, ReplayMiss
from experepair.journal.entries import Attempt, CallFailed, Decided, Entry, Intent, Replied, RunStarted
from experepair.journal.journal import Journal, distil, read_journal, write_journal
from experepair.llm.config import ModelConfig, Price, RetryPolicy
from experepair.llm.faults import ContextTooLong, Fault, FaultKind
from experepair.llm.journalled import JournalledModel, Mode, ReplayModel
from experepair.llm.ledger import Ledger
from experepair.llm.model import Call, ScriptedModel
from experepair.llm.provider import ProviderModel
from experepair.llm.request import Cut, Part, Prompt, Reply, Request, Usage
from experepair.llm.stub import Answer, Asked, StubProvider

QUICK = RetryPolicy(first_wait_s=0.01, max_wait_s=0.02, attempt_s=0.3, deadline_s=2.0, unreachable_s=0.05)
STARTED = RunStarted(run_id="r", experepair="0", repository="p", commit="c", issue_id="1", issue="i")


def request(text: str = "mend it", sample: int = 0, role: Role = Role.PATCH) -> Request:
    return Request(role, Prompt("be brief", (Part("issue", "it breaks"), Part("task", text))), sample)


def live(
    stub: StubProvider, journal: Journal, ledger: Ledger | None = None, **config: object
) -> JournalledModel:
    settings = {"name": "openai:stub", "base_url": f"{stub.url}/v1", "price": Price.parse("1/1"), **config}
    model = ProviderModel(ModelConfig.model_validate(settings))
    return JournalledModel(model, journal, ledger or Ledger(), retry=QUICK)


def answering(*answers: Answer) -> Callable[[Asked], Answer]:
    rest = list(answers)
    return lambda _: rest.pop(0) if len(rest) > 1 else rest[0]


def kinds(entries: Sequence[Entry]) -> list[str]:
    return [entry.kind for entry in entries]


def attempts(journal: Journal) -> list[Attempt]:
    return [entry for entry in journal.entries if isinstance(entry, Attempt)]


class Unreliable:
    """Raises what it is given, then answers."""

    def __init__(self, *faults: Exception) -> None:
        self._faults = list(faults)
        self.asked = 0

    def plan(self, request: Request, *, shrink: bool = False) -> Call:
        del shrink
        return Call(request, "unreliable", worst_case_tokens=100, worst_case_usd=1.0)

    async def reply(self, request: Request) -> Reply:
        del request
        self.asked += 1
        if self._faults:
            raise self._faults.pop(0)
        return Reply("ok", usage=Usage(30, 10), cost_usd=0.25)


def test_a_call_is_an_intent_an_attempt_and_a_reply() -> None:
    journal = Journal.in_memory()
    with StubProvider() as stub:
        reply = asyncio.run(live(stub, journal, temperature=0.8).reply(request()))
    assert reply.text == "ok"
    assert kinds(journal.entries) == ["intent", "attempt", "replied"]
    intent = journal.entries[0]
    assert isinstance(intent, Intent)
    assert [(part.name, part.text) for part in intent.parts] == [("issue", "it breaks"), ("task", "mend it")]
    assert (intent.model, intent.temperature, intent.sample) == ("openai:stub", 0.8, 0)
    assert intent.worst_case_usd == pytest.approx(intent.worst_case_tokens / 1e6)


def test_the_intent_is_on_the_disk_before_the_provider_is_asked(tmp_path: Path) -> None:
    seen: list[list[str]] = []

    def answer(_: Asked) -> Answer:
        seen.append(kinds(read_journal(tmp_path / "j")))
        return Answer()

    with Journal.create(tmp_path / "j") as journal, StubProvider(answer) as stub:
        asyncio.run(live(stub, journal).reply(request()))
    assert seen == [["intent"]]


@pytest.mark.parametrize("status", [429, 500, 503, 529])
def test_a_busy_provider_is_asked_again_and_each_attempt_is_journalled(status: int) -> None:
    journal = Journal.in_memory()
    with StubProvider(answering(Answer("busy", status=status), Answer("ok"))) as stub:
        assert asyncio.run(live(stub, journal).reply(request())).text == "ok"
    assert [(one.number, one.status, one.charged) for one in attempts(journal)] == [
        (1, status, False),
        (2, None, False),
    ]


def test_retry_after_is_waited_for() -> None:
    journal = Journal.in_memory()
    busy = Answer("busy", status=429, headers={"retry-after-ms": "400"})
    began = time.monotonic()
    with StubProvider(answering(busy, Answer("ok"))) as stub:
        asyncio.run(live(stub, journal).reply(request()))
    assert time.monotonic() - began >= 0.4
    assert attempts(journal)[0].wait_s >= 0.4


def test_a_retry_after_beyond_the_deadline_ends_the_call_at_once() -> None:
    busy = Answer("busy", status=429, headers={"retry-after": "3600"})
    with StubProvider(lambda _: busy) as stub, pytest.raises(ProviderError, match="429"):
        asyncio.run(live(stub, Journal.in_memory()).reply(request()))
    assert len(stub.asked) == 1


def test_an_overload_that_lasts_ends_with_the_attempts() -> None:
    journal = Journal.in_memory()
    with (
        StubProvider(lambda _: Answer("busy", status=529)) as stub,
        pytest.raises(ProviderError, match="529"),
    ):
        asyncio.run(live(stub, journal).reply(request()))
    assert len(stub.asked) == QUICK.attempts == len(attempts(journal))
    assert isinstance(journal.entries[-1], CallFailed)


@pytest.mark.parametrize(
    "answer", [Answer(delay_s=60), Answer(trickle_s=0.02), Answer(cut=True)], ids=["hangs", "trickles", "cut"]
)
def test_a_call_that_gets_no_whole_answer_ends_and_counts_as_spent(answer: Answer) -> None:
    journal, ledger = Journal.in_memory(), Ledger()
    with StubProvider(lambda _: answer) as stub, pytest.raises(ProviderError):
        asyncio.run(live(stub, journal, ledger).reply(request()))
    intent = journal.entries[0]
    assert isinstance(intent, Intent)
    assert all(one.charged for one in attempts(journal))
    assert ledger.spent_tokens == intent.worst_case_tokens * len(attempts(journal))
    assert ledger.reserved_tokens == 0


@pytest.mark.parametrize("status", [400, 401, 403, 404, 402])
def test_a_refusal_is_final_and_costs_nothing(status: int) -> None:
    journal, ledger = Journal.in_memory(), Ledger()
    with (
        StubProvider(lambda _: Answer("no", status=status)) as stub,
        pytest.raises(ProviderError, match=str(status)),
    ):
        asyncio.run(live(stub, journal, ledger).reply(request()))
    assert len(stub.asked) == 1
    assert (ledger.spent_usd, ledger.spent_tokens, ledger.reserved_tokens) == (0, 0, 0)


def test_an_unreachable_provider_is_given_up_early() -> None:
    with StubProvider() as stub:
        model = live(stub, Journal.in_memory())
    began = time.monotonic()
    with pytest.raises(ProviderError, match="no connection"):
        asyncio.run(model.reply(request()))
    assert time.monotonic() - began < 2


def test_by_default_nothing_unreachable_or_refused_takes_30_seconds() -> None:
    policy = RetryPolicy()
    connecting_s = 5.0  # of the SDKs' clients
    assert policy.unreachable_s + connecting_s < 30


def test_an_empty_choice_list_is_tried_again_but_not_for_ever() -> None:
    journal = Journal.in_memory()
    empty = Answer(body=b'{"choices": [], "model": "x", "object": "chat.completion"}')
    with StubProvider(lambda _: empty) as stub, pytest.raises(ProviderError):
        asyncio.run(live(stub, journal).reply(request()))
    assert len(stub.asked) == QUICK.garbled_attempts


def test_a_prompt_that_is_too_long_is_sent_once_more_shorter() -> None:
    too_long = Answer("maximum context length is 100 tokens", status=400)
    journal = Journal.in_memory()
    long = Request(Role.PATCH, Prompt("s", (Part("issue", "i"), Part("feedback", "x" * 4000, Cut.MIDDLE))))
    with StubProvider(answering(too_long, Answer("ok"))) as stub:
        assert asyncio.run(live(stub, journal).reply(long)).text == "ok"
    first, second = (len(asked.text) for asked in stub.asked)
    assert second < 0.7 * first
    assert kinds(journal.entries).count("intent") == 2


def test_a_prompt_of_which_nothing_can_go_is_not_sent_twice() -> None:
    too_long = Answer("maximum context length is 100 tokens", status=400)
    with StubProvider(lambda _: too_long) as stub, pytest.raises(ContextTooLong):
        asyncio.run(live(stub, Journal.in_memory()).reply(request()))
    assert len(stub.asked) == 1


def test_a_resumed_run_pays_no_journalled_call_again(tmp_path: Path) -> None:
    with StubProvider(lambda _: Answer("first\ud800\x00")) as stub:
        with Journal.create(tmp_path / "j") as journal:
            journal.append(STARTED)
            before = asyncio.run(live(stub, journal).reply(request()))
        with Journal.resume(tmp_path / "j") as journal:
            ledger = Ledger()
            ledger.restore(journal.entries)
            model = live(stub, journal, ledger)
            again = asyncio.run(model.reply(request()))
            assert len(stub.asked) == 1
            asyncio.run(model.reply(request("something new")))
    assert len(stub.asked) == 2
    assert again.replayed
    assert not before.replayed
    assert (again.text, again.usage, again.cost_usd) == (before.text, before.usage, before.cost_usd)
    assert ledger.spent_tokens == 24


def test_equal_requests_are_answered_in_their_order_on_resume() -> None:
    journal = Journal.in_memory()
    with StubProvider(answering(Answer("one"), Answer("two"), Answer("three"))) as stub:

        async def ask(times: int) -> list[str]:
            model = live(stub, Journal.in_memory(journal.entries))
            return [(await model.reply(request())).text for _ in range(times)]

        async def record() -> None:
            model = live(stub, journal)
            for _ in range(2):
                await model.reply(request())

        asyncio.run(record())
        assert asyncio.run(ask(3)) == ["one", "two", "three"]


def test_samples_of_one_prompt_are_kept_apart() -> None:
    journal = Journal.in_memory()
    model = JournalledModel(ScriptedModel(lambda asked: f"sample {asked.sample}"), journal, Ledger())

    async def both() -> list[str]:
        return [(await model.reply(request(sample=number))).text for number in (0, 1)]

    asyncio.run(both())
    replay = ReplayModel(journal.entries)
    assert asyncio.run(replay.reply(request(sample=1))).text == "sample 1"
    assert asyncio.run(replay.reply(request(sample=0))).text == "sample 0"


def test_another_model_or_temperature_on_resume_is_reported_once() -> None:
    journal = Journal.in_memory()
    with StubProvider() as stub:
        asyncio.run(live(stub, journal).reply(request()))
        model = live(stub, journal, name="openai:other", temperature=0.1)
        asyncio.run(model.reply(request()))
    told = [entry for entry in journal.entries if isinstance(entry, Decided)]
    assert len(told) == 1
    assert "openai:other" in told[0].what
    assert "openai:stub" in told[0].what


def test_replay_mode_refuses_what_the_journal_lacks() -> None:
    model = JournalledModel(ScriptedModel({Role.PATCH: ["x"]}), Journal.in_memory(), Ledger(), Mode.REPLAY)
    with pytest.raises(ReplayMiss):
        asyncio.run(model.reply(request()))


def recorded(tmp_path: Path, *, distilled: bool = False) -> Path:
    path = tmp_path / "recorded.jsonl"
    model = ScriptedModel(lambda asked: f"reply to {asked.prompt.parts[-1].text}")
    journal = Journal.in_memory()
    journal.append(STARTED)
    journalled = JournalledModel(model, journal, Ledger())
    for text in ("mend it", "mend it", "try again"):
        asyncio.run(journalled.reply(request(text)))
    write_journal(path, distil(journal.entries) if distilled else journal.entries)
    return path


@pytest.mark.parametrize("distilled", [False, True])
def test_a_journal_replays_20_times_from_different_folders_without_a_miss(
    tmp_path: Path, distilled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = recorded(tmp_path, distilled=distilled).read_bytes()
    for number in range(20):
        folder = tmp_path / f"user {number}" / "deep"
        folder.mkdir(parents=True)
        (folder / "copy.jsonl").write_bytes(content)
        monkeypatch.chdir(folder)
        with Journal.create(folder / "own.jsonl") as own:
            ledger = Ledger(max_cost_usd=0)
            model = JournalledModel(ReplayModel(Path("copy.jsonl")), own, ledger)
            for text in ("mend it", "mend it", "try again"):
                reply = asyncio.run(model.reply(request(text)))
                assert (reply.text, reply.replayed) == (f"reply to {text}", True)
        assert (ledger.spent_usd, ledger.spent_tokens) == (0, 0)
        resumed = Ledger()
        resumed.restore(read_journal(folder / "own.jsonl"))
        assert resumed.spent_tokens == 0


def test_replay_refuses_a_prompt_that_changed_by_one_character_and_shows_where(tmp_path: Path) -> None:
    with pytest.raises(ReplayMiss) as raised:
        asyncio.run(ReplayModel(recorded(tmp_path)).reply(request("mend it!")))
    assert "-mend it\n+mend it!" in raised.value.difference
    assert "recorded.jsonl" in str(raised.value)


def test_replay_of_a_distilled_journal_names_the_part_that_changed(tmp_path: Path) -> None:
    with pytest.raises(ReplayMiss) as raised:
        asyncio.run(ReplayModel(recorded(tmp_path, distilled=True)).reply(request("mend it!")))
    assert "changed: task" in raised.value.difference
    assert "issue" not in raised.value.difference


def test_replay_says_when_a_request_is_made_more_often_than_recorded(tmp_path: Path) -> None:
    model = ReplayModel(recorded(tmp_path))
    asyncio.run(model.reply(request("try again")))
    with pytest.raises(ReplayMiss, match="recorded 1 times"):
        asyncio.run(model.reply(request("try again")))


def test_replay_names_the_roles_when_none_of_this_kind_was_recorded(tmp_path: Path) -> None:
    with pytest.raises(ReplayMiss, match="recorded roles: patch"):
        asyncio.run(ReplayModel(recorded(tmp_path)).reply(request(role=Role.JUDGE)))


def test_a_recorded_failure_is_replayed_as_one() -> None:
    journal = Journal.in_memory()
    refused = Unreliable(Fault("the key is bad", FaultKind.REFUSED, status=401))
    with pytest.raises(ProviderError):
        asyncio.run(JournalledModel(refused, journal, Ledger(), retry=QUICK).reply(request()))
    with pytest.raises(ProviderError, match="as recorded: the key is bad"):
        asyncio.run(ReplayModel(journal.entries).reply(request()))


def test_a_failed_sample_that_the_run_went_on_without_stays_failed_on_resume() -> None:
    journal = Journal.in_memory([STARTED])
    model = JournalledModel(Unreliable(Fault("no", FaultKind.REFUSED)), journal, Ledger(), retry=QUICK)
    with pytest.raises(ProviderError):
        asyncio.run(model.reply(request(sample=1)))
    asyncio.run(model.reply(request(sample=0)))
    again = JournalledModel(Unreliable(), Journal.in_memory(journal.entries), Ledger(), retry=QUICK)
    assert asyncio.run(again.reply(request(sample=1))).text
    asyncio.run(model.reply(request("next round", sample=1)))
    resumed = JournalledModel(Unreliable(), Journal.in_memory(journal.entries), Ledger(), retry=QUICK)
    with pytest.raises(ProviderError, match="no"):
        asyncio.run(resumed.reply(request(sample=1)))


def test_a_failed_call_is_made_again_on_resume() -> None:
    journal = Journal.in_memory()
    refused = Unreliable(Fault("the key is bad", FaultKind.REFUSED, status=401))
    with pytest.raises(ProviderError):
        asyncio.run(JournalledModel(refused, journal, Ledger(), retry=QUICK).reply(request()))
    again = JournalledModel(Unreliable(), journal, Ledger(), retry=QUICK)
    assert asyncio.run(again.reply(request())).text == "ok"
    assert asyncio.run(ReplayModel(journal.entries).reply(request())).text == "ok"


def test_each_attempt_that_may_have_been_charged_counts() -> None:
    journal, ledger = Journal.in_memory(), Ledger()
    model = Unreliable(Fault("lost", FaultKind.LOST), Fault("busy", FaultKind.BUSY, status=429))
    asyncio.run(JournalledModel(model, journal, ledger, retry=QUICK).reply(request()))
    assert (ledger.spent_usd, ledger.spent_tokens, ledger.reserved_usd) == (1.25, 140, 0)
    restored = Ledger()
    restored.restore(journal.entries)
    assert (restored.spent_usd, restored.spent_tokens) == (1.25, 140)


def test_an_attempt_that_may_have_been_charged_is_not_repeated_beyond_the_cap() -> None:
    journal, ledger = Journal.in_memory(), Ledger(max_cost_usd=1.5)
    model = Unreliable(Fault("lost", FaultKind.LOST))
    with pytest.raises(BudgetSpent):
        asyncio.run(JournalledModel(model, journal, ledger, retry=QUICK).reply(request()))
    assert model.asked == 1
    assert (ledger.spent_usd, ledger.reserved_usd) == (1.0, 0)


def test_nothing_is_sent_or_journalled_when_the_budget_is_spent() -> None:
    journal, ledger, model = Journal.in_memory(), Ledger(max_tokens=99), Unreliable()
    with pytest.raises(BudgetSpent, match="99 tokens"):
        asyncio.run(JournalledModel(model, journal, ledger, retry=QUICK).reply(request()))
    assert (model.asked, journal.entries) == (0, ())


def test_a_cancelled_call_counts_with_its_worst_case_and_leaves_its_intent_open() -> None:
    journal, ledger = Journal.in_memory(), Ledger()

    class Endless(Unreliable):
        async def reply(self, request: Request) -> Reply:
            await asyncio.sleep(60)
            raise AssertionError(request)

    async def run() -> None:
        task = asyncio.create_task(JournalledModel(Endless(), journal, ledger).reply(request()))
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(run())
    assert kinds(journal.entries) == ["intent"]
    assert (ledger.spent_usd, ledger.reserved_usd) == (1.0, 0)


def test_an_answer_that_cannot_be_journalled_is_not_used_and_counts_as_spent() -> None:
    class FullAfterIntent(Journal):
        def append(self, entry):  # type: ignore[no-untyped-def]
            if isinstance(entry, Replied):
                raise OutputError("no space left")
            return super().append(entry)

    journal, ledger = FullAfterIntent(None, None, (), 0), Ledger()
    with pytest.raises(OutputError):
        asyncio.run(JournalledModel(Unreliable(), journal, ledger).reply(request()))
    assert ledger.spent_usd == 1.0
    assert "call_failed" not in kinds(journal.entries)


KILLED = """
import asyncio, os, signal, sys
from pathlib import Path
from experepair.domain.roles import Role
from experepair.journal.journal import Journal
from experepair.llm.config import ModelConfig, Price
from experepair.llm.journalled import JournalledModel
from experepair.llm.ledger import Ledger
from experepair.llm.provider import ProviderModel
from experepair.llm.request import Part, Prompt, Request

config = ModelConfig(name="openai:stub", base_url=sys.argv[2], price=Price.parse("1/1"))
model = JournalledModel(ProviderModel(config), Journal.create(Path(sys.argv[1])), Ledger())

def ask(text):
    prompt = Prompt("be brief", (Part("issue", "it breaks"), Part("task", text)))
    return model.reply(Request(Role.PATCH, prompt))

async def main():
    await ask("first")
    await ask("second")

asyncio.run(main())
"""


def test_a_call_cut_off_by_kill_9_counts_as_spent_on_resume_and_is_made_again(tmp_path: Path) -> None:
    path = tmp_path / "j"

    def answer(asked: Asked) -> Answer:
        if "second" in asked.text and victim.poll() is None:
            victim.kill()
            victim.wait()
        return Answer("ok")

    with StubProvider(answer) as stub:
        victim = subprocess.Popen([sys.executable, "-c", KILLED, str(path), f"{stub.url}/v1"])
        assert victim.wait(30) == -9
        with Journal.resume(path) as journal:
            assert kinds(journal.entries) == ["intent", "attempt", "replied", "intent"]
            cut_off = journal.entries[-1]
            assert isinstance(cut_off, Intent)
            ledger = Ledger()
            ledger.restore(journal.entries)
            assert ledger.spent_tokens == 12 + cut_off.worst_case_tokens
            model = live(stub, journal, ledger)
            first = asyncio.run(model.reply(request("first")))
            second = asyncio.run(model.reply(request("second")))
    assert (first.replayed, second.replayed) == (True, False)
    assert len(stub.asked) == 3  # two by the killed process, one by this
    assert ledger.spent_tokens == 24 + cut_off.worst_case_tokens


def test_every_error_of_a_call_is_one_of_ours() -> None:
    garbage = [
        b"",
        b"{}",
        b"null",
        b'"x"',
        b"\xff\xff",
        b'{"choices": null}',
        b'{"choices": [{}]}',
        b"[" * 9999,
    ]
    for body in garbage:
        with StubProvider(lambda _, body=body: Answer(body=body)) as stub, pytest.raises(ExpeRepairError):  # type: ignore[misc]
            asyncio.run(live(stub, Journal.in_memory()).reply(request()))
