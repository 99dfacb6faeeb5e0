"""Runs commands on a copy of a folder, as a sandbox does, but isolates nothing."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from experepair.domain.command import NO_CHANGES, Changes, Command, Completed, Ended
from experepair.sandbox.sandbox import Limits


class LocalRunner:
    """One folder of files, of which each command gets a copy.

    Args:
        tree: the folder.
        time_up_at: the time of each command is up as soon as it has printed this.
    """

    def __init__(self, tree: Path, time_up_at: str = "") -> None:
        self.tree = tree
        self.time_up_at = time_up_at
        self.ran: list[tuple[Command, Limits | None]] = []

    async def run(
        self, command: Command, changes: Changes = NO_CHANGES, *, limits: Limits | None = None
    ) -> Completed:
        """Run to completion."""
        self.ran.append((command, limits))
        return await asyncio.to_thread(self._run, command, changes)

    def _run(self, command: Command, changes: Changes) -> Completed:
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder, "tree")
            shutil.copytree(self.tree, copy)
            for path, content in changes.items():
                if content is None:
                    (copy / path).unlink()
                else:
                    (copy / path).parent.mkdir(parents=True, exist_ok=True)
                    (copy / path).write_bytes(content)
            argv = [word.replace("{python}", sys.executable) for word in command.argv]
            env = {"PATH": os.environ["PATH"], "PYTHONDONTWRITEBYTECODE": "1", **dict(command.env)}
            env["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
            process = subprocess.Popen(
                argv, cwd=copy / command.cwd, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE
            )
            with process:
                cut = self._read_until(process) if self.time_up_at else b""
                out, err = process.communicate()
            ended = Ended.TIMED_OUT if cut else Ended.EXITED
            code = None if cut else process.returncode
            files = {path: (copy / path).read_bytes() for path in command.collect if (copy / path).is_file()}
            return Completed(code, (cut + out).decode(), err.decode(), 0.0, ended, files)

    def _read_until(self, process: subprocess.Popen[bytes]) -> bytes:
        assert process.stdout is not None
        seen = b""
        while chunk := os.read(process.stdout.fileno(), 1 << 16):
            seen += chunk
            if self.time_up_at.encode() in seen:
                process.kill()
                break
        return seen
