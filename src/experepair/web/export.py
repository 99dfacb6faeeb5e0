"""A static copy of what is on a shelf: the same pages, with relative links, to open from the file system."""

from __future__ import annotations

import asyncio
import re
import shutil
from collections import deque
from hashlib import sha256
from pathlib import Path, PurePosixPath
from posixpath import relpath
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from experepair.errors import OutputError
from experepair.web.app import STATIC, application

if TYPE_CHECKING:
    from fastapi import FastAPI

    from experepair.web.guard import Message
    from experepair.web.shelf import Shelf

_START = "/?all=1"
_UNSAFE = re.compile(r"[^A-Za-z0-9._~-]")


def write_copy(shelf: Shelf, folder: Path) -> int:
    """Write everything that can be reached from the first page by links; memory itself isn't, only what runs were given.

    Args:
        shelf: what is copied.
        folder: where to; it must not be there yet, or be empty.

    Returns:
        how many pages were written.

    Raises:
        OutputError: the folder holds something, or can't be written.
    """
    try:
        if folder.exists() and any(folder.iterdir()):
            raise OutputError(f"{str(folder)!r} isn't empty; give a new folder for the copy")
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copytree(STATIC, folder / "static", ignore=shutil.ignore_patterns("htmx*"))
        return asyncio.run(_copy(application(shelf), folder))
    except OSError as error:
        raise OutputError(f"can't write the copy into {str(folder)!r}: {error.strerror or error}") from error


async def _copy(app: FastAPI, folder: Path) -> int:
    known = {_START}
    waiting = deque([_START])
    while waiting:
        address = waiting.popleft()
        here = file_of(address)

        def link(path: str, here: str = here) -> str:
            there = file_of(path)
            if not path.startswith("/static/") and path not in known:
                known.add(path)
                waiting.append(path)
            return relpath(there, PurePosixPath(here).parent)

        target = folder / here
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(await _ask(app, address, link))
    return len(known)


def file_of(address: str) -> str:
    """The file that holds a page; the same page always gets the same one, and no address leaves the folder."""
    split = urlsplit(address)
    if split.path == "/" and split.query in ("", "all=1"):
        return "index.html"
    steps = [_UNSAFE.sub("_", unquote(step)).strip(".") or "_" for step in split.path.strip("/").split("/")]
    if split.path.startswith("/static/") or PurePosixPath(split.path).suffix == ".diff":
        return "/".join(steps)
    if split.query or unquote(split.path) != split.path:
        steps[-1] += "-" + sha256(address.encode()).hexdigest()[:12]
    return "/".join(steps) + ".html"


async def _ask(app: FastAPI, address: str, link: Any) -> bytes:
    split = urlsplit(address)
    body: list[bytes] = []

    async def send(message: Message) -> None:
        body.append(message.get("body", b""))

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "GET",
        "scheme": "http",
        "path": unquote(split.path),
        "raw_path": split.path.encode(),
        "query_string": split.query.encode(),
        "root_path": "",
        "headers": [],
        "client": None,
        "server": ("127.0.0.1", 80),
        "link": link,
    }
    await app(scope, receive, send)
    return b"".join(body)
