import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from experepair.domain.memory import Failure, Query
from experepair.domain.roles import Agent
from experepair.errors import ProviderError, UsageError
from experepair.memory.config import RecallConfig
from experepair.memory.eligibility import Bounds
from experepair.memory.recall import Recaller
from experepair.memory.retrieve.embedder import OpenAIEmbedder
from experepair.memory.retrieve.vectors import VectorCache
from listed_store import SCOPE, ListedStore, demonstration

THEMES = (
    ["pond", "water", "wet", "rain", "swim"],
    ["gate", "door", "open", "lock", "hinge"],
    ["roof", "tile"],
)


class ThemedEmbedder:
    """How often each theme is spoken of."""

    name = "themes"

    def __init__(self) -> None:
        self.asked: list[str] = []

    def embed(self, texts: Sequence[str]) -> list[Sequence[float]]:
        self.asked += texts
        return [[sum(text.lower().count(word) for word in theme) for theme in THEMES] for text in texts]


def store() -> ListedStore:
    return ListedStore(
        [
            demonstration("rain", "rain in the pond", paths=("garden/a.py",)),
            demonstration("hinge", "the hinge of the door", paths=("garden/b.py",)),
            demonstration("tile", "a tile fell"),
            demonstration(
                "answer",
                "a tile fell",
                "- b\n+ c",
                failure=Failure("x", "lock is stuck"),
                paths=("garden/c.py",),
            ),
        ]
    )


def recaller(folder: Path, source: ListedStore, embedder: Any, **settings: object) -> Recaller:
    config = RecallConfig.model_validate({"retriever": "embedding"} | settings)
    return Recaller(source, SCOPE, Bounds(), config, folder, embedder)


def names(reader: Recaller, issue: str, **more: Any) -> list[str]:
    found = reader.recall(Query(Agent.PATCH, "now", issue, **more))
    return [each.id for each in found.demonstrations]


def test_what_means_the_same_in_other_words_is_recalled(tmp_path: Path) -> None:
    reader = recaller(tmp_path, store(), ThemedEmbedder())
    assert names(reader, "I cannot swim, too wet") == ["rain"]
    assert names(reader, "nothing of that sort") == []


def test_vectors_are_made_once_for_all_readers(tmp_path: Path) -> None:
    first, second = ThemedEmbedder(), ThemedEmbedder()
    names(recaller(tmp_path, store(), first), "wet")
    assert len(first.asked) == 5
    source = store()
    source.learn(demonstration("new", "more water"))
    names(recaller(tmp_path, source, second), "wet")
    assert second.asked == ["more water\n"]


def test_a_damaged_cache_is_made_again(tmp_path: Path) -> None:
    names(recaller(tmp_path, store(), ThemedEmbedder()), "wet")
    (cache,) = tmp_path.rglob("vectors.sqlite")
    cache.write_bytes(b"no database at all, but long enough to be taken for a header of one" * 20)
    assert names(recaller(tmp_path, store(), ThemedEmbedder()), "wet") == ["rain"]
    again = ThemedEmbedder()
    assert names(recaller(tmp_path, store(), again), "wet") == ["rain"]


def test_a_cache_that_cannot_be_written_costs_nothing_but_money(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    cache = VectorCache(tmp_path / "file" / "vectors.sqlite", "model")
    cache.keep({"a": [1.0]})
    assert cache.read(["a"]) == {}


def test_vectors_of_different_models_are_apart(tmp_path: Path) -> None:
    VectorCache(tmp_path / "v", "one").keep({"a": [1.0, 2.0]})
    assert VectorCache(tmp_path / "v", "two").read(["a"]) == {}
    assert list(VectorCache(tmp_path / "v", "one").read(["a"])["a"]) == [1.0, 2.0]


def test_with_a_failure_answers_compete_by_failure(tmp_path: Path) -> None:
    reader = recaller(tmp_path, store(), ThemedEmbedder())
    assert names(reader, "too wet", failure=Failure("y", "the lock does not open")) == ["rain", "answer"]


def test_hybrid_joins_both_orders(tmp_path: Path) -> None:
    source = store()
    source.learn(demonstration("words", "swimming costumes are sold out"))
    reader = recaller(tmp_path, source, ThemedEmbedder(), retriever="hybrid")
    found = names(reader, "swimming costumes")
    assert found[0] == "words"
    assert "rain" in found


@contextmanager
def endpoint(answer: Any, status: int = 200) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """An embeddings endpoint on this machine, and what it was asked."""
    asked: list[dict[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            asked.append(body | {"path": self.path})
            data = json.dumps(answer(body) if callable(answer) else answer).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: Any) -> None:
            del format, args

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1", asked
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def themed(body: dict[str, Any]) -> dict[str, Any]:
    vectors = ThemedEmbedder().embed(body["input"])
    data = [{"object": "embedding", "index": place, "embedding": each} for place, each in enumerate(vectors)]
    return {
        "object": "list",
        "model": body["model"],
        "data": data,
        "usage": {"prompt_tokens": 1, "total_tokens": 1},
    }


def test_any_endpoint_with_openais_api_serves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with endpoint(themed) as (url, asked):
        settings = {"embedding_model": "openai:small", "embedding_base_url": url}
        assert names(recaller(tmp_path, store(), None, **settings), "too wet") == ["rain"]
    assert [request["path"] for request in asked] == ["/v1/embeddings"]
    assert asked[0]["model"] == "small"
    assert asked[0]["encoding_format"] == "float"


def test_many_texts_are_asked_for_in_several_requests() -> None:
    with endpoint(themed) as (url, asked):
        vectors = OpenAIEmbedder("openai:small", url).embed([f"wet {number}" for number in range(130)])
    assert len(vectors) == 130
    assert [len(request["input"]) for request in asked] == [64, 64, 2]


@pytest.mark.parametrize(
    ("answer", "status"),
    [
        ({"error": {"message": "no such model"}}, 404),
        ({"data": []}, 200),
        ({"data": None}, 200),
        ({"data": [{"index": 0, "embedding": [1.0]}, {"index": 1, "embedding": [1.0, 2.0]}]}, 200),
    ],
)
def test_an_answer_without_the_vectors_is_the_providers_fault(answer: Any, status: int) -> None:
    with endpoint(answer, status) as (url, _), pytest.raises(ProviderError, match="openai:small"):
        OpenAIEmbedder("openai:small", url).embed(["one", "two"])


@pytest.mark.parametrize(
    ("name", "reason"),
    [("small", "PROVIDER:NAME"), ("nobody:small", "nobody"), ("openai:small", "OPENAI_API_KEY")],
)
def test_a_model_that_cannot_be_asked_is_said_before_anything_is_sent(
    name: str, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(UsageError, match=reason):
        OpenAIEmbedder(name)
