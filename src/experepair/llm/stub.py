"""A provider on this machine that answers as told: for tests, benchmarks and trying things out offline."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from experepair.llm.request import Usage


@dataclass(frozen=True, slots=True)
class Asked:
    """A request as it came over the wire; names of headers are in lower case."""

    path: str
    headers: Mapping[str, str]
    body: Mapping[str, Any]

    @property
    def text(self) -> str:
        """All text of the prompt, in order, whatever the provider's format."""
        given = self.body.get("system"), self.body.get("systemInstruction")
        turns = self.body.get("messages") or self.body.get("contents") or ()
        return "\n\n".join(_texts([*given, *turns]))


@dataclass(frozen=True, slots=True)
class Answer:
    """What comes back, and how badly.

    Attributes:
        text: of the reply.
        status: of HTTP; other than 200 the text is the message of an error.
        usage: None leaves it away.
        headers: beside the usual.
        body: sent instead of the provider's format.
        delay_s: pause before the answer begins.
        trickle_s: pause after each byte of the body.
        cut: whether the connection is closed after half of the body.
    """

    text: str = "ok"
    status: int = 200
    usage: Usage | None = field(default_factory=lambda: Usage(input=10, output=2))
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    delay_s: float = 0.0
    trickle_s: float = 0.0
    cut: bool = False


class StubProvider:
    """Speaks OpenAI's chat, Anthropic's messages and Google's generateContent on a loopback port.

    Use it as a context manager.

    Args:
        answer: decides each answer; called in the thread of the connection.
    """

    def __init__(self, answer: Callable[[Asked], Answer] | None = None) -> None:
        self.asked: list[Asked] = []
        self._answer = answer or (lambda _: Answer())
        self._closing = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self._server.block_on_close = False
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    @property
    def url(self) -> str:
        """For Anthropic and Google; OpenAI's clients want `/v1` at its end."""
        return f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> StubProvider:
        self._thread.start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _respond(self, asked: Asked) -> Answer:
        self.asked.append(asked)
        answer = self._answer(asked)
        self._closing.wait(answer.delay_s)
        return answer


def _handler(stub: StubProvider) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            content = self.rfile.read(int(self.headers["content-length"]))
            headers = {name.lower(): value for name, value in self.headers.items()}
            asked = Asked(self.path, headers, json.loads(content))
            answer = stub._respond(asked)
            body = answer.body if answer.body is not None else json.dumps(_body(asked, answer)).encode()
            try:
                self.send_response(answer.status)
                for name, value in {"content-type": "application/json", **answer.headers}.items():
                    self.send_header(name, value)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self._send(body[: len(body) // 2] if answer.cut else body, answer)
            except OSError:
                self.close_connection = True  # the client has given up

        def _send(self, body: bytes, answer: Answer) -> None:
            if answer.trickle_s:
                for byte in body:
                    self.wfile.write(bytes([byte]))
                    if stub._closing.wait(answer.trickle_s):
                        break
            else:
                self.wfile.write(body)
            self.close_connection = answer.cut

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    return Handler


def _body(asked: Asked, answer: Answer) -> dict[str, Any]:
    if answer.status != 200:
        return {"error": {"message": answer.text, "type": "stub_error", "code": answer.status}}
    if "generateContent" in asked.path:
        return _google(answer)
    if asked.path.endswith("/messages"):
        return _anthropic(asked, answer)
    return _openai(asked, answer)


def _openai(asked: Asked, answer: Answer) -> dict[str, Any]:
    body: dict[str, Any] = {
        "id": "stub",
        "object": "chat.completion",
        "created": 1,
        "model": asked.body.get("model"),
        "choices": [
            {"index": 0, "message": {"role": "assistant", "content": answer.text}, "finish_reason": "stop"}
        ],
    }
    if usage := answer.usage:
        body["usage"] = {
            "prompt_tokens": usage.input,
            "completion_tokens": usage.output,
            "total_tokens": usage.input + usage.output,
            "prompt_tokens_details": {"cached_tokens": usage.cached},
        }
    return body


def _anthropic(asked: Asked, answer: Answer) -> dict[str, Any]:
    usage = answer.usage or Usage()
    return {
        "id": "stub",
        "type": "message",
        "role": "assistant",
        "model": asked.body.get("model"),
        "content": [{"type": "text", "text": answer.text}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {
            "input_tokens": usage.input - usage.cached - usage.cache_written,
            "cache_read_input_tokens": usage.cached,
            "cache_creation_input_tokens": usage.cache_written,
            "output_tokens": usage.output,
        },
    }


def _google(answer: Answer) -> dict[str, Any]:
    body: dict[str, Any] = {
        "candidates": [
            {"content": {"role": "model", "parts": [{"text": answer.text}]}, "finishReason": "STOP"}
        ],
        "modelVersion": "stub",
        "responseId": "stub",
    }
    if usage := answer.usage:
        body["usageMetadata"] = {
            "promptTokenCount": usage.input,
            "candidatesTokenCount": usage.output,
            "totalTokenCount": usage.input + usage.output,
            "cachedContentTokenCount": usage.cached,
        }
    return body


def _texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        inner = value.get("content") or value.get("parts") or value.get("text")
        return _texts(inner)
    if isinstance(value, list):
        return [text for one in value for text in _texts(one)]
    return []
