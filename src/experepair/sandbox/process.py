"""Runs one sandboxed process: set-up, hand-over, streams, time limit, and its end in every case.

The process first sets itself up, then writes `HANDOVER` with the execution's token as a line on stderr, and waits for
a line on stdin. Only then does the command's time begin. So a set-up that fails is never mistaken for a command that
fails, and when experepair dies during set-up the command never begins: nobody is there to write that line.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import signal
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from experepair.domain.command import Completed, Ended
from experepair.sandbox.output import HeadTail
from experepair.sandbox.sandbox import Limits

SETUP_S = 120.0
"""How long set-up may take in seconds; copying a big tree on a busy machine takes a while."""

END_S = 5.0
"""How long the end of a killed process is waited for in seconds."""

_NOTES = 64 * 1024
"""Bytes of set-up messages that are kept."""


Watch = Callable[[int], Awaitable[str]]
"""Given the process's id, returns only when it has to end, with the reason in words."""


class SetupFailed(Exception):
    """The sandbox did not come to the point of running the command; the message is what it printed."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a sandboxed process ended; the fields mean what they mean in `Completed`.

    Attributes:
        trailer: what came on stdout after the trailer's mark.
    """

    exit_code: int | None
    stdout: str
    stderr: str
    duration_s: float
    ended: Ended
    trailer: bytes = b""

    def completed(self, files: Mapping[str, bytes]) -> Completed:
        """The same with the collected files."""
        return Completed(self.exit_code, self.stdout, self.stderr, self.duration_s, self.ended, files)


def new_token() -> str:
    """A word that no output holds by chance."""
    return f"experepair-{secrets.token_hex(12)}"


@dataclass(frozen=True, slots=True)
class Trailer:
    """What follows the command's own output on stdout.

    Attributes:
        mark: what it begins with; no output holds it by chance.
        room: bytes of it that are kept.
    """

    mark: bytes
    room: int


class _Streams(asyncio.SubprocessProtocol):
    """Keeps what comes, and notices the hand-over and the end."""

    def __init__(self, token: str, output_bytes: int, trailer: Trailer | None) -> None:
        self._mark = f"{token}\n".encode()
        self._notes = bytearray()
        self._streams = {1: HeadTail(output_bytes), 2: HeadTail(output_bytes)}
        self._trailer = trailer
        self._held = b""
        self._in_trailer = False
        self.trailer = bytearray()
        loop = asyncio.get_running_loop()
        self.ready: asyncio.Future[bool] = loop.create_future()
        self.exited = asyncio.Event()
        self.closed = asyncio.Event()

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        if fd == 2 and not self.ready.done():
            self._notes += data
            before, mark, after = bytes(self._notes).partition(self._mark)
            if not mark:
                del self._notes[:-_NOTES]
                return
            self._notes = bytearray(before)
            self.ready.set_result(True)
            data = after
        if fd == 1 and self._trailer is not None:
            data = self._before_trailer(data, self._trailer)
        self._streams[fd].feed(data)

    def _before_trailer(self, data: bytes, trailer: Trailer) -> bytes:
        """Take the trailer out; an end that may be a part of its mark is held back until more comes."""
        if not self._in_trailer:
            data, mark, after = (self._held + data).partition(trailer.mark)
            if not mark:
                keep = len(trailer.mark) - 1
                self._held = data[-keep:]
                return data[:-keep]
            self._held = b""
            self._in_trailer = True
        else:
            data, after = b"", data
        self.trailer += after[: max(0, trailer.room - len(self.trailer))]
        return data

    def process_exited(self) -> None:
        self.exited.set()
        if not self.ready.done():
            # What it printed last may still be in the pipe: give its readers a turn.
            asyncio.get_running_loop().call_later(0.05, self._give_up)

    def connection_lost(self, exc: Exception | None) -> None:
        self._give_up()
        self.exited.set()
        self.closed.set()

    def _give_up(self) -> None:
        if not self.ready.done():
            self.ready.set_result(False)

    def notes(self) -> str:
        return self._notes.decode(errors="replace").strip()

    def text(self, fd: int) -> str:
        if fd == 1 and self._held:
            self._streams[1].feed(self._held)
            self._held = b""
        return self._streams[fd].text()


async def run_process(
    argv: Sequence[str],
    *,
    token: str,
    stdin: bytes,
    env: Mapping[str, str],
    limits: Limits,
    group: bool = False,
    prelude: bytes = b"",
    trailer: Trailer | None = None,
    watch: Watch | None = None,
) -> Outcome:
    """Run `argv` and the command in it, which begins after the hand-over.

    Args:
        argv: the process; it hands over by `token`.
        token: from `new_token`.
        stdin: what the command reads.
        env: all of the environment.
        limits: time and output are held here.
        group: kill the process group in the end; without, killing the process itself is known to end all of it.
        prelude: what the set-up reads, before the hand-over.
        trailer: what is expected on stdout when the command is over.
        watch: ends the command when it returns.

    Raises:
        SetupFailed: there was no hand-over.
    """
    loop = asyncio.get_running_loop()
    launch = asyncio.ensure_future(
        loop.subprocess_exec(
            lambda: _Streams(token, limits.output_kb * 1024, trailer),
            *argv,
            env=dict(env),
            cwd="/",
            start_new_session=True,
        )
    )
    try:
        transport, protocol = await asyncio.shield(launch)
    except OSError as error:
        raise SetupFailed(f"{argv[0]}: {error.strerror}") from error
    except asyncio.CancelledError:
        with contextlib.suppress(OSError):
            await _end(*await launch, group)
        raise
    reason = ""
    try:
        await _hand_over(transport, protocol, prelude, stdin)
        started = time.monotonic()
        ended, reason = await _over(protocol, limits, watch(transport.get_pid()) if watch else None)
        duration = time.monotonic() - started
        return_code = transport.get_returncode()
    finally:
        await _end(transport, protocol, group)
    stdout, stderr = protocol.text(1), protocol.text(2)
    if reason:
        stderr += f"[{reason}]\n"
        return Outcome(128 + signal.SIGKILL, stdout, stderr, duration, Ended.KILLED)
    if ended is Ended.TIMED_OUT or return_code is None:
        return Outcome(None, stdout, stderr, duration, Ended.TIMED_OUT)
    code = 128 - return_code if return_code < 0 else return_code
    killed = Ended.KILLED if 128 < code <= 128 + signal.NSIG else Ended.EXITED
    return Outcome(code, stdout, stderr, duration, killed, bytes(protocol.trailer))


async def _over(protocol: _Streams, limits: Limits, watch: Awaitable[str] | None) -> tuple[Ended, str]:
    """Wait for the end, the time limit, or the word of the watch; why it is over, and the word."""
    exited = asyncio.ensure_future(protocol.exited.wait())
    watched = asyncio.ensure_future(watch) if watch is not None else None
    waits: list[asyncio.Future[Any]] = [exited, *([watched] if watched else [])]
    try:
        await asyncio.wait(waits, timeout=limits.time_s, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for each in waits:
            each.cancel()
    if exited.done() and not exited.cancelled():
        return Ended.EXITED, ""
    if watched is not None and watched.done() and not watched.cancelled():
        return Ended.KILLED, watched.result()
    return Ended.TIMED_OUT, ""


async def _hand_over(
    transport: asyncio.SubprocessTransport, protocol: _Streams, prelude: bytes, stdin: bytes
) -> None:
    pipe = cast("asyncio.WriteTransport", transport.get_pipe_transport(0))
    if prelude:
        pipe.write(prelude)
    try:
        async with asyncio.timeout(SETUP_S):  # wait_for of Python 3.11 can swallow a cancellation
            ready = await asyncio.shield(protocol.ready)
    except TimeoutError:
        raise SetupFailed(f"not ready after {SETUP_S:.0f} s: {protocol.notes()}") from None
    if not ready:
        raise SetupFailed(protocol.notes() or "it ended without a word")
    pipe.write(b"go\n" + stdin)
    pipe.write_eof()


async def _end(transport: asyncio.SubprocessTransport, protocol: _Streams, group: bool) -> None:
    """Leave no process behind, and take in what is still in the pipes."""
    if not protocol.ready.done():
        # Killed while it sets up, a part of it may live on that has not asked yet to die with its parent. Without the
        # hand-over it ends by itself.
        if (stdin := transport.get_pipe_transport(0)) is not None:
            stdin.close()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(END_S):
                await protocol.closed.wait()
    with contextlib.suppress(ProcessLookupError):
        if group:
            os.killpg(transport.get_pid(), signal.SIGKILL)
        elif transport.get_returncode() is None:
            transport.kill()
    try:
        async with asyncio.timeout(END_S):
            await protocol.closed.wait()
    except TimeoutError:
        pass  # something that outlived the kill holds the pipes: closing them is what can be done
    finally:
        transport.close()
