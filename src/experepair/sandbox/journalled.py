"""Executions in the journal: nothing that was run before an interruption is run again."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import os
from collections import defaultdict, deque
from collections.abc import Callable
from dataclasses import replace

from experepair.domain.command import NO_CHANGES, Changes, Command, Completed, Ended
from experepair.journal.entries import Executed
from experepair.journal.journal import Journal
from experepair.sandbox.sandbox import Limits, Sandbox


class JournalledSandbox:
    """Runs commands in another sandbox, a few at a time, and journals how they ended.

    Executions that stand in the journal when it is made are answered from it, each one once: a command that a repair
    runs twice on purpose is also run twice.

    Args:
        sandbox: runs the commands.
        journal: the one record.
        clean: takes out of an output what varies between machines and runs (see `normalise`).
        max_parallel: executions at once; None means as many as there are processors.
        scope: what decides outcomes beside the commands: tree, interpreter, backend. Executions of another scope are not
            answered from the journal.
        reuse: False runs everything, as a demonstration of a recorded repair wants it.
    """

    def __init__(
        self,
        sandbox: Sandbox,
        journal: Journal,
        clean: Callable[[str], str] = str,
        *,
        max_parallel: int | None = None,
        reuse: bool = True,
        scope: str = "",
    ) -> None:
        self._sandbox = sandbox
        self._journal = journal
        self._clean = clean
        self._scope = scope
        self._turn = asyncio.Semaphore(max_parallel or os.cpu_count() or 1)
        self._done: defaultdict[str, deque[Executed]] = defaultdict(deque)
        for entry in journal.entries if reuse else ():
            if isinstance(entry, Executed):
                self._done[entry.key].append(entry)

    async def run(
        self,
        command: Command,
        changes: Changes = NO_CHANGES,
        *,
        limits: Limits | None = None,
        purpose: str = "",
    ) -> Completed:
        """Answer from the journal, or run and journal; outputs are clean in both cases.

        Args:
            command: as for `Sandbox.run`.
            changes: as for `Sandbox.run`.
            limits: as for `Sandbox.run`.
            purpose: what it is run for, in words, for the record.
        """
        digests = {path: None if new is None else _digest(new) for path, new in sorted(changes.items())}
        key = execution_key(command, digests, limits, self._scope)
        if self._done[key]:
            return _completed(self._done[key].popleft())
        async with self._turn:
            done = await self._sandbox.run(command, changes, limits=limits)
        done = replace(done, stdout=self._clean(done.stdout), stderr=self._clean(done.stderr))
        self._journal.append(
            Executed(
                key=key,
                purpose=purpose,
                argv=command.argv,
                changes=digests,
                exit_code=done.exit_code,
                stdout=done.stdout,
                stderr=done.stderr,
                duration_s=round(done.duration_s, 3),
                ended=str(done.ended),
                files={path: base64.b64encode(content).decode() for path, content in done.files.items()},
            )
        )
        return done


def execution_key(
    command: Command, digests: dict[str, str | None], limits: Limits | None, scope: str = ""
) -> str:
    """Digest of everything that decides the outcome."""
    parts = {
        "argv": command.argv,
        "env": sorted(command.env),
        "stdin": _digest(command.stdin),
        "cwd": command.cwd,
        "collect": command.collect,
        "changes": digests,
        "limits": limits.model_dump() if limits else None,
        "scope": scope,
    }
    return _digest(json.dumps(parts, sort_keys=True).encode())


def _completed(entry: Executed) -> Completed:
    files = {path: base64.b64decode(content) for path, content in entry.files.items()}
    return Completed(entry.exit_code, entry.stdout, entry.stderr, entry.duration_s, Ended(entry.ended), files)


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
