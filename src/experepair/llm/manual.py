"""A model for people who only have a chat window: prompts are files, and so are replies."""

from __future__ import annotations

import asyncio
import contextlib
import os
import tempfile
from collections.abc import Callable
from pathlib import Path

from experepair.errors import OutputError
from experepair.llm.fit import estimate_tokens, prompt_tokens
from experepair.llm.model import Call
from experepair.llm.request import Reply, Request, Usage

NAME = "manual"
"""What `--model` is given."""


class ManualModel:
    """Writes each prompt to NNNN.prompt.md and waits until NNNN.reply.md is there.

    The reply is taken when its file isn't empty and hasn't changed for one poll; write it elsewhere and move
    it to be sure. Waiting ends only by an answer or by cancellation.

    Args:
        folder: where the files go; made if it isn't there. A prompt that an earlier run left is taken up with its reply; other
            numbers go on from those that are there.
        asked: told the path of each prompt when it is written.
        poll_s: pause between two looks for the reply, in seconds.
    """

    def __init__(
        self, folder: Path, asked: Callable[[Path], object] | None = None, *, poll_s: float = 0.5
    ) -> None:
        self._folder, self._asked, self._poll_s = folder, asked, poll_s
        self._claimed: set[Path] = set()

    def plan(self, request: Request, *, shrink: bool = False) -> Call:
        """The request as it is; it costs nothing here."""
        del shrink
        return Call(request, NAME, worst_case_tokens=prompt_tokens(request.prompt), worst_case_usd=0.0)

    async def reply(self, request: Request) -> Reply:
        """Wait for the reply to this prompt; tokens are estimated.

        Raises:
            OutputError: the prompt can't be written.
        """
        path = self._write(_markdown(request))
        if self._asked is not None:
            self._asked(path)
        text = await self._answer(path.with_name(path.name.replace(".prompt.", ".reply.")))
        usage = Usage(input=prompt_tokens(request.prompt), output=estimate_tokens(text))
        return Reply(text, usage=usage, model=NAME, cost_usd=0.0)

    def _write(self, text: str) -> Path:
        """Take the next free number; another process may be at it too. A prompt is there whole or not at all."""
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            if (again := self._unclaimed(text)) is not None:
                return again
            number = max(
                (int(one.name[:4]) for one in self._folder.glob("[0-9][0-9][0-9][0-9].*")), default=0
            )
            with tempfile.NamedTemporaryFile(dir=self._folder, prefix=".") as beside:
                beside.write(text.encode("utf-8", "replace"))
                beside.flush()
                Path(beside.name).chmod(0o644)
                while True:
                    number += 1
                    path = self._folder / f"{number:04}.prompt.md"
                    with contextlib.suppress(FileExistsError):
                        os.link(beside.name, path)
                        self._claimed.add(path)
                        return path
        except OSError as error:
            raise OutputError(
                f"can't write a prompt into {str(self._folder)!r}: {error.strerror or error}"
            ) from error

    def _unclaimed(self, text: str) -> Path | None:
        """The same prompt as an earlier run left it, whose reply may have been written since."""
        for path in sorted(self._folder.glob("[0-9][0-9][0-9][0-9].prompt.md")):
            if path not in self._claimed and path.read_bytes() == text.encode("utf-8", "replace"):
                self._claimed.add(path)
                return path
        return None

    async def _answer(self, path: Path) -> str:
        before = b""
        while (now := _content(path)) != before or not now:
            before = now
            await asyncio.sleep(self._poll_s)
        return now.decode("utf-8", "replace")


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""  # not there yet


def _markdown(request: Request) -> str:
    return f"# System\n\n{request.prompt.system}\n\n# User\n\n{request.prompt.user}\n"
