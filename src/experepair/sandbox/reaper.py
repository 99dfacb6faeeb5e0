"""A process that outlives experepair by a moment, and removes its containers when it is gone."""

from __future__ import annotations

import asyncio
import contextlib

from experepair.sandbox.engine import Engine

_TEXT = """
label=$1
shift
read -r closed || sleep 1
remove() {
    found=$("$@" ps --all --quiet --filter "label=$label")
    [ -z "$found" ] || "$@" rm --force --volumes $found
}
remove "$@"
if [ -z "$closed" ]; then
    sleep 1
    remove "$@"
fi
for image in $("$@" images --quiet --filter "label=$label" | sort -u); do
    "$@" rmi --force "$image"
done
"""
"""The end of stdin without a word means that experepair was killed: then a client of the engine may still be at work
for a moment, and what it makes is waited for."""

_END_S = 60.0


class Reaper:
    """Removes all containers and images with a label when this process closes it, or dies; see `Reaper.start`."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    @classmethod
    async def start(cls, engine: Engine, label: str) -> Reaper:
        """Start it, in a session of its own: Ctrl-C doesn't reach it.

        Args:
            engine: whose containers they are.
            label: "NAME=VALUE".
        """
        process = await asyncio.create_subprocess_exec(
            "/bin/sh",
            "-c",
            _TEXT,
            "sh",
            label,
            *engine.words,
            stdin=-1,
            stdout=-3,
            stderr=-3,
            start_new_session=True,
        )
        return cls(process)

    async def close(self) -> None:
        """Have everything removed now, and wait for it."""
        if self._process.stdin is not None:
            with contextlib.suppress(ConnectionError):
                self._process.stdin.write(b"closed\n")
                await self._process.stdin.drain()
            self._process.stdin.close()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_END_S):
                await self._process.wait()
