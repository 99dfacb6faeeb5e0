"""Serve the pages on loopback until the user has seen enough."""

from __future__ import annotations

import secrets
import socket
from collections.abc import Callable

from experepair.errors import UsageError
from experepair.web.shelf import Shelf

LOOPBACK = "127.0.0.1"


def listen(port: int) -> socket.socket:
    """A socket on loopback.

    Args:
        port: 0 for any that is free.

    Raises:
        UsageError: the port is taken.
    """
    found = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((LOOPBACK, port))
    except (OSError, OverflowError) as error:
        found.close()
        raise UsageError(f"can't listen on port {port}: {error}; give another --port, or none") from error
    return found


def serve(shelf: Shelf, port: int, ready: Callable[[str], None]) -> None:
    """Answer until interrupted.

    Args:
        shelf: what is shown.
        port: 0 for any that is free.
        ready: is told the address to open, with its token, as soon as it answers.

    Raises:
        UsageError: the port is taken.
    """
    import uvicorn

    from experepair.web.app import application
    from experepair.web.guard import Guard

    with listen(port) as found:
        taken = found.getsockname()[1]
        token = secrets.token_urlsafe(32)
        hosts = frozenset({f"{LOOPBACK}:{taken}", f"localhost:{taken}"})
        guarded = Guard(application(shelf), token, hosts)
        config = uvicorn.Config(
            guarded,
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            lifespan="off",
            timeout_graceful_shutdown=1,
        )
        found.listen()  # so that a browser that is quicker than the server waits
        ready(f"http://{LOOPBACK}:{taken}/?token={token}")
        try:
            uvicorn.Server(config).run(sockets=[found])
        except KeyboardInterrupt:  # uvicorn raises it again after shutting down
            return
        finally:
            shelf.close()
