"""What is on the wire, per provider, and what comes of every kind of answer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from experepair.domain.roles import Role
from experepair.errors import UsageError
from experepair.llm.config import ModelConfig, Price, Sampling
from experepair.llm.faults import ContextTooLong, Fault, FaultKind
from experepair.llm.provider import ProviderModel
from experepair.llm.request import Cut, Part, Prompt, Reply, Request, Usage
from experepair.llm.stub import Answer, Asked, StubProvider

pytestmark = pytest.mark.filterwarnings("ignore:The model .* is deprecated:DeprecationWarning")

PROMPT = Prompt("Be brief.", (Part("issue", "It breaks."), Part("task", "Mend it.")))
KEY = "sk-planted-0123456789"


@pytest.fixture(autouse=True)
def _keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GOOGLE_API_KEY", "DEEPSEEK_API_KEY"):
        monkeypatch.setenv(name, KEY)
    for name in ("OPENAI_BASE_URL", "OLLAMA_BASE_URL", "VLLM_BASE_URL", "GEMINI_API_KEY"):
        monkeypatch.delenv(name, raising=False)


def ask(config: ModelConfig, request: Request | None = None, sampling: Sampling = Sampling.PARALLEL) -> Reply:
    model = ProviderModel(config, sampling=sampling)
    planned = model.plan(request or Request(Role.PATCH, PROMPT)).request
    return asyncio.run(model.reply(planned))


def fault(answer: Answer) -> Fault:
    with StubProvider(lambda _: answer) as stub, pytest.raises(Fault) as raised:
        ask(ModelConfig(name="openai:gpt-4o", base_url=f"{stub.url}/v1"))
    return raised.value


def sent(
    name: str, suffix: str = "", answer: Callable[[Asked], Answer] | None = None, **config: float
) -> Asked:
    with StubProvider(answer) as stub:
        ask(ModelConfig(name=name, base_url=stub.url + suffix, **config))  # type: ignore[arg-type]
    return stub.asked[0]


def test_openai_chat_is_sent_as_configured() -> None:
    asked = sent("openai:gpt-4o", "/v1", temperature=0.8, max_output_tokens=500)
    assert asked.path == "/v1/chat/completions"
    assert asked.headers["authorization"] == f"Bearer {KEY}"
    assert asked.body == {
        "model": "gpt-4o",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "It breaks.\n\nMend it."},
        ],
        "temperature": 0.8,
        "max_tokens": 500,
        "stream": False,
    }


def test_anthropic_messages_are_sent_with_a_temperature_and_a_cached_system_message() -> None:
    asked = sent("anthropic:claude-haiku-4-5", temperature=0.8, max_output_tokens=500)
    assert asked.path == "/v1/messages"
    assert KEY in (
        asked.headers.get("x-api-key"),
        asked.headers.get("authorization", "").removeprefix("Bearer "),
    )
    assert asked.body["model"] == "claude-haiku-4-5"
    assert asked.body["temperature"] == 0.8
    assert asked.body["max_tokens"] == 500
    assert [block["text"] for block in asked.body["system"]] == ["Be brief."]
    assert asked.body["system"][0]["cache_control"]["type"] == "ephemeral"
    assert asked.body["messages"] == [
        {"role": "user", "content": [{"type": "text", "text": "It breaks.\n\nMend it."}]}
    ]


def test_google_generate_content_is_sent_as_configured() -> None:
    asked = sent("google:gemini-2.5-pro", temperature=0.8, max_output_tokens=500)
    assert asked.path == "/v1beta/models/gemini-2.5-pro:generateContent"
    assert asked.headers["x-goog-api-key"] == KEY
    assert asked.text == "Be brief.\n\nIt breaks.\n\nMend it."
    assert asked.body["generationConfig"]["temperature"] == 0.8
    assert asked.body["generationConfig"]["maxOutputTokens"] == 500


@pytest.mark.parametrize("name", ["deepseek:deepseek-chat", "ollama:qwen3-coder", "vllm:Qwen/Qwen3-Coder"])
def test_compatible_providers_are_asked_at_a_given_base_url(name: str) -> None:
    asked = sent(name, "/v1", temperature=0.8)
    assert asked.path == "/v1/chat/completions"
    assert asked.body["model"] == name.partition(":")[2]
    assert asked.body["temperature"] == 0.8


def test_a_local_server_needs_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    assert "planted" not in str(sent("openai:anything", "/v1").headers)


def test_no_temperature_is_sent_unless_one_is_configured() -> None:
    assert "temperature" not in sent("openai:gpt-4o", "/v1").body


@pytest.mark.parametrize("name", ["openai:o3", "anthropic:claude-sonnet-5-5"])
def test_a_model_without_temperature_is_sent_none_and_its_samples_get_angles(name: str) -> None:
    with StubProvider() as stub:
        config = ModelConfig(
            name=name, base_url=stub.url + ("/v1" if "openai" in name else ""), temperature=0.8
        )
        for sample in range(4):
            ask(config, Request(Role.PATCH, PROMPT, sample, 4))
    assert all("temperature" not in asked.body for asked in stub.asked)
    texts = [asked.text for asked in stub.asked]
    assert len(set(texts)) == 4
    assert all(text.startswith("Be brief.\n\nIt breaks.\n\nMend it.") for text in texts)


def test_a_model_with_temperature_gets_the_same_prompt_for_all_samples() -> None:
    with StubProvider() as stub:
        config = ModelConfig(name="openai:gpt-4o", base_url=f"{stub.url}/v1", temperature=0.8)
        for sample in range(4):
            ask(config, Request(Role.PATCH, PROMPT, sample, 4))
    assert len({asked.text for asked in stub.asked}) == 1


def test_a_single_request_gets_no_angle() -> None:
    assert sent("openai:o3", "/v1").text.endswith("Mend it.")


def test_anthropic_is_told_to_cache_what_lasts_and_what_later_samples_share() -> None:
    prompt = Prompt(
        "s", (Part("issue", "lasting"), Part("feedback", "changing", Cut.MIDDLE), Part("task", "end"))
    )
    with StubProvider() as stub:
        config = ModelConfig(name="anthropic:claude-haiku-4-5", base_url=stub.url)
        ask(config, Request(Role.PATCH, prompt, 1, 4), sampling=Sampling.FIRST_THEN_REST)
    blocks = stub.asked[0].body["messages"][0]["content"]
    assert [(block["text"], "cache_control" in block) for block in blocks] == [
        ("lasting\n\n", True),
        ("changing\n\nend", True),
    ]


def test_the_angle_of_a_sample_stands_behind_what_is_cached_for_all_samples() -> None:
    with StubProvider() as stub:
        config = ModelConfig(name="anthropic:claude-sonnet-5-5", base_url=stub.url)
        for sample in range(4):
            ask(config, Request(Role.PATCH, PROMPT, sample, 4), sampling=Sampling.FIRST_THEN_REST)
    blocks = [asked.body["messages"][0]["content"] for asked in stub.asked]
    assert all("cache_control" in shared and "cache_control" not in angle for shared, angle in blocks)
    assert {shared["text"] for shared, _ in blocks} == {"It breaks.\n\nMend it.\n\n"}
    assert len({angle["text"] for _, angle in blocks}) == 4


def test_openai_is_left_to_fill_its_cache_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    with StubProvider() as stub:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{stub.url}/v1")
        config = ModelConfig(name="openai:gpt-6.1-sol")
        reply = ask(config, Request(Role.PATCH, PROMPT, 0, 4), sampling=Sampling.FIRST_THEN_REST)
    assert "cache" not in str(stub.asked[0].body)
    assert stub.asked[0].body["max_completion_tokens"] == 32_768  # a model that reasons
    assert isinstance(stub.asked[0].body["messages"][1]["content"], str)
    assert reply.cost_usd is None  # that isn't OpenAI's URL


def test_a_reply_carries_usage_cached_tokens_and_what_the_provider_wrote() -> None:
    usage = Usage(input=100, output=20, cached=60, cache_written=30)
    with StubProvider(lambda _: Answer("hello", usage=usage)) as stub:
        reply = ask(ModelConfig(name="anthropic:claude-haiku-4-5", base_url=stub.url))
    assert (reply.text, reply.usage, reply.finish) == ("hello", usage, "stop")
    assert reply.raw_usage["details"]["cache_creation_input_tokens"] == 30


def test_a_reply_at_another_url_has_an_unknown_cost() -> None:
    with StubProvider() as stub:
        reply = ask(ModelConfig(name="openai:gpt-4o", base_url=f"{stub.url}/v1"))
    assert reply.usage is not None
    assert reply.cost_usd is None


def test_a_given_price_is_used_at_any_url() -> None:
    with StubProvider(lambda _: Answer(usage=Usage(1_000_000, 100_000))) as stub:
        config = ModelConfig(name="openai:x", base_url=f"{stub.url}/v1", price=Price.parse("3/15"))
        assert ask(config).cost_usd == pytest.approx(4.5)


def test_a_reply_without_usage_has_no_usage_and_no_cost() -> None:
    with StubProvider(lambda _: Answer(usage=None)) as stub:
        config = ModelConfig(name="openai:x", base_url=f"{stub.url}/v1", price=Price.parse("3/15"))
        reply = ask(config)
    assert (reply.text, reply.usage, reply.cost_usd) == ("ok", None, None)


def test_lone_surrogates_and_nul_in_a_prompt_can_be_sent() -> None:
    prompt = Prompt("s\ud800", (Part("issue", "a\x00\udfffb"),))
    with StubProvider() as stub:
        ask(ModelConfig(name="openai:x", base_url=f"{stub.url}/v1"), Request(Role.PATCH, prompt))
    assert stub.asked[0].text == "s\ufffd\n\na\x00\ufffdb"


def test_lone_surrogates_and_nul_in_a_reply_are_kept() -> None:
    with StubProvider(lambda _: Answer("a\x00\ud800b")) as stub:
        assert ask(ModelConfig(name="openai:x", base_url=f"{stub.url}/v1")).text == "a\x00\ud800b"


def test_an_answer_of_10_mb_is_a_reply() -> None:
    with StubProvider(lambda _: Answer("x" * 10_000_000)) as stub:
        assert len(ask(ModelConfig(name="openai:x", base_url=f"{stub.url}/v1")).text) == 10_000_000


@pytest.mark.parametrize(
    ("answer", "kind", "status"),
    [
        (Answer("no", status=401), FaultKind.REFUSED, 401),
        (Answer("no", status=403), FaultKind.REFUSED, 403),
        (Answer("no such model", status=404), FaultKind.REFUSED, 404),
        (Answer("bad", status=400), FaultKind.REFUSED, 400),
        (Answer("slow down", status=429), FaultKind.BUSY, 429),
        (Answer("oops", status=500), FaultKind.BUSY, 500),
        (Answer("overloaded", status=529), FaultKind.BUSY, 529),
        (
            Answer(body=b"<html>sign in</html>", headers={"content-type": "text/html"}),
            FaultKind.GARBLED,
            None,
        ),
        (Answer(body=b"<html>sign in</html>"), FaultKind.GARBLED, None),
        (Answer(body=b'{"id": 1'), FaultKind.GARBLED, None),
        (Answer(body=b""), FaultKind.GARBLED, None),
        (Answer(body=b"[]"), FaultKind.GARBLED, None),
        (Answer(body=b'{"choices": [], "model": "x", "object": "chat.completion"}'), FaultKind.GARBLED, None),
        (Answer(cut=True), FaultKind.LOST, None),
    ],
)
def test_every_bad_answer_is_a_fault_of_the_right_kind(
    answer: Answer, kind: FaultKind, status: int | None
) -> None:
    found = fault(answer)
    assert (found.kind, found.status) == (kind, status)


def test_retry_after_is_read() -> None:
    assert fault(Answer("slow down", status=429, headers={"retry-after": "7"})).retry_after_s == 7


@pytest.mark.parametrize(
    "message",
    [
        "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens.",
        "prompt is too long: 210000 tokens > 200000 maximum",
        "the request exceeds the available context size",
    ],
)
def test_a_prompt_that_is_too_long_is_recognised(message: str) -> None:
    assert isinstance(fault(Answer(message, status=400)), ContextTooLong)


def test_an_sdk_never_retries_by_itself() -> None:
    with StubProvider(lambda _: Answer("oops", status=500)) as stub, pytest.raises(Fault):
        ask(ModelConfig(name="openai:x", base_url=f"{stub.url}/v1"))
    assert len(stub.asked) == 1


def test_a_refused_connection_is_unreachable() -> None:
    with StubProvider() as stub:
        closed = f"{stub.url}/v1"
    with pytest.raises(Fault) as raised:
        ask(ModelConfig(name="openai:x", base_url=closed))
    assert raised.value.kind is FaultKind.UNREACHABLE
    assert closed in str(raised.value)
    assert "Errno" in str(raised.value)


def test_an_error_is_one_short_line() -> None:
    assert len(str(fault(Answer("long\n" * 10_000, status=400)))) < 500
    assert "\n" not in str(fault(Answer("long\n" * 10_000, status=400)))


def test_a_key_never_shows_in_an_error() -> None:
    assert KEY not in str(fault(Answer(f"bad key {KEY}", status=401)))


@pytest.mark.parametrize(
    ("name", "variable"),
    [
        ("openai:gpt-4o", "OPENAI_API_KEY"),
        ("anthropic:claude-haiku-4-5", "ANTHROPIC_API_KEY"),
        ("google:gemini-2.5-pro", "GOOGLE_API_KEY"),
        ("deepseek:deepseek-chat", "DEEPSEEK_API_KEY"),
        ("ollama:qwen3", "OLLAMA_BASE_URL"),
    ],
)
def test_what_is_missing_in_the_environment_is_named_before_any_call(
    name: str, variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(variable, raising=False)
    with pytest.raises(UsageError, match=variable):
        ProviderModel(ModelConfig(name=name))


@pytest.mark.parametrize(
    "name", ["nonesuch:x", "gpt-4o", ":x", "openai:", "test", "voyageai:voyage-3", "mistral:x"]
)
def test_an_unusable_name_is_a_usage_error(name: str) -> None:
    with pytest.raises(UsageError):
        ProviderModel(ModelConfig(name=name))


@pytest.mark.parametrize(
    "url", ["localhost:11434", "ftp://x", "http://", "http://[", "http://x:99999999", ""]
)
def test_an_unusable_base_url_is_a_usage_error(url: str) -> None:
    with pytest.raises(UsageError, match="base URL"):
        ProviderModel(ModelConfig(name="openai:x", base_url=url))


def test_a_long_prompt_is_cut_to_the_window_before_it_is_sent() -> None:
    prompt = Prompt("s", (Part("issue", "keep me"), Part("feedback", "x" * 100_000, Cut.MIDDLE)))
    with StubProvider() as stub:
        config = ModelConfig(
            name="openai:x", base_url=f"{stub.url}/v1", context_window=8_000, max_output_tokens=1_000
        )
        ask(config, Request(Role.PATCH, prompt))
    text = stub.asked[0].text
    assert "keep me" in text
    assert "characters left out" in text
    assert len(text) < 20_000


def test_a_plan_names_the_worst_case() -> None:
    with StubProvider() as stub:
        config = ModelConfig(
            name="openai:x", base_url=f"{stub.url}/v1", price=Price.parse("1000/0"), max_output_tokens=100
        )
        call = ProviderModel(config).plan(Request(Role.PATCH, PROMPT))
    assert call.worst_case_usd == pytest.approx((call.worst_case_tokens - 100) / 1000)
