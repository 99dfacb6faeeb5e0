"""The viewer, served on loopback for tests."""

from __future__ import annotations

import http.client
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from experepair.memory.store import Store
from experepair.web.app import application
from experepair.web.guard import Guard
from experepair.web.serve import listen
from experepair.web.shelf import Shelf

TOKEN = "a-token-that-only-the-reader-knows"  # the tests' own
Opened = tuple[int, str, http.client.HTTPMessage]


class Client:
    """A browser's requests without a browser."""

    def __init__(self, port: int) -> None:
        self.port, self.host = port, f"127.0.0.1:{port}"
        self.cookie = f"experepair-{port}={TOKEN}"

    def ask(self, path: str, method: str = "GET", body: str = "", **headers: str) -> Opened:
        client = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        given = {"host": self.host, "cookie": self.cookie, **headers}
        try:
            client.request(
                method, path, body or None, {name: value for name, value in given.items() if value}
            )
            answer = client.getresponse()
            return answer.status, answer.read().decode(), answer.headers
        finally:
            client.close()


@contextmanager
def served(shelf: Shelf) -> Iterator[Client]:
    import uvicorn

    with listen(0) as found:
        port = found.getsockname()[1]
        guarded = Guard(application(shelf), TOKEN, frozenset({f"127.0.0.1:{port}"}))
        server = uvicorn.Server(uvicorn.Config(guarded, log_config=None, lifespan="off"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [found]}, daemon=True)
        found.listen()
        thread.start()
        try:
            yield Client(port)
        finally:
            server.should_exit = True
            thread.join(10)
            shelf.close()


def memory_of(path: Path) -> AbstractContextManager[Store]:
    return Store.open(str(path))
