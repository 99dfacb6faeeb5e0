"""Who may see the pages: this machine, with the token; and what a page may do in the browser."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Awaitable, Callable, MutableMapping
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qsl, urlencode

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

PLOT_STYLE = "'sha256-+TfQir1nvDucAdvE6XUQBt4ayUjpAWkbw2kCdSfekHM='"
"""Of the one style element that Observable Plot puts into a drawing with the class "plot"."""
POLICY = (
    f"default-src 'none'; script-src 'self'; style-src 'self' {PLOT_STYLE}; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
"""Nothing foreign, nothing inline but the style of the charts."""
_HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
_REFUSED = (
    "<!doctype html><html lang=en><meta charset=utf-8><title>experepair</title>"
    "<h1>This page needs its token</h1><p>Open the address that <code>experepair view</code> printed: "
    "it carries a token that only you know.</p></html>"
)


class Guard:
    """Stands before the application.

    Refuses other names than this machine's (DNS rebinding), requests without the token, and changes that another
    site's page asks for. The token comes once in the address, and lives in a cookie from then on.
    """

    def __init__(self, app: App, token: str, hosts: frozenset[str]) -> None:
        """Wrap an application.

        Args:
            app: what is guarded.
            token: who knows it may see everything.
            hosts: what the Host header may say, with the port.
        """
        self._app, self._token, self._hosts = app, token, hosts
        port = next(iter(hosts)).rpartition(":")[2]
        self._cookie = f"experepair-{port}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or refuse."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        host = headers.get("host", "")
        if host not in self._hosts:
            await _answer(send, 421, "This server answers on loopback only.", "text/plain; charset=utf-8")
            return
        query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        given = dict(query).get("token")
        if given is not None and scope["method"] == "GET":
            await self._welcome(scope, given, [pair for pair in query if pair[0] != "token"], send)
            return
        if not self._knows(self._cookie_of(headers)):
            await _answer(send, 403, _REFUSED)
            return
        if scope["method"] not in ("GET", "HEAD") and not _own(headers, host):
            await _answer(send, 403, "Another site asked for this change.", "text/plain; charset=utf-8")
            return
        await self._app({**scope, "change_token": change_token(self._token)}, receive, _hardened(send))

    async def _welcome(self, scope: Scope, given: str, rest: list[tuple[str, str]], send: Send) -> None:
        if not self._knows(given):
            await _answer(send, 403, _REFUSED)
            return
        where = scope["path"] if not scope["path"].startswith("//") else "/"
        target = where + ("?" + urlencode(rest) if rest else "")
        cookie = f"{self._cookie}={self._token}; Path=/; HttpOnly; SameSite=Strict"
        await _answer(send, 303, "", more=[(b"location", target.encode()), (b"set-cookie", cookie.encode())])

    def _cookie_of(self, headers: dict[str, str]) -> str:
        try:
            found = SimpleCookie(headers.get("cookie", "")).get(self._cookie)
        except CookieError:
            return ""
        return found.value if found else ""

    def _knows(self, given: str) -> bool:
        return hmac.compare_digest(given.encode(), self._token.encode())


def change_token(token: str) -> str:
    """What a form must send with a change: made of the token, which itself never stands in a page."""
    return hmac.new(token.encode(), b"change", hashlib.sha256).hexdigest()


def _own(headers: dict[str, str], host: str) -> bool:
    return headers.get("origin") == f"http://{host}" and headers.get("sec-fetch-site", "same-origin") in (
        "same-origin",
        "none",
    )


def _hardened(send: Send) -> Send:
    async def with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            own = {name.lower() for name, _ in message.get("headers", ())}
            added = [(name.encode(), value.encode()) for name, value in _HEADERS.items()]
            if b"cache-control" not in own:
                added.append((b"cache-control", b"no-store"))
            message = {**message, "headers": [*message.get("headers", ()), *added]}
        await send(message)

    return with_headers


async def _answer(
    send: Send,
    status: int,
    body: str,
    kind: str = "text/html; charset=utf-8",
    more: list[tuple[bytes, bytes]] | None = None,
) -> None:
    headers = [(b"content-type", kind.encode()), (b"content-length", str(len(body.encode())).encode())]
    hardened = _hardened(send)
    await hardened({"type": "http.response.start", "status": status, "headers": [*headers, *(more or [])]})
    await hardened({"type": "http.response.body", "body": body.encode()})
