"""Sandboxes for tests: a checkout, and how to run commands over it."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path

from experepair.domain.command import NO_CHANGES, Changes, Command, Completed
from experepair.sandbox.bubblewrap import BubblewrapSandbox
from experepair.sandbox.bwrap_command import Copy
from experepair.sandbox.interpreter import Interpreter, find_interpreter
from experepair.sandbox.sandbox import Limits


@dataclass
class Box:
    """A checkout and how to run commands over it."""

    tree: Path
    run_root: Path
    mount_at: Path = Path("/home/someone/project")
    copies: tuple[Copy, ...] = (Copy.OVERLAY,)
    interpreter: Interpreter = field(default_factory=lambda: base_interpreter())
    rootfs: Path | None = None

    def sandbox(self) -> BubblewrapSandbox:
        return BubblewrapSandbox(
            self.tree,
            self.mount_at,
            self.interpreter,
            Limits(time_s=30),
            rootfs=self.rootfs,
            run_root=self.run_root,
            copies=self.copies,
        )

    def use(self, scenario: Callable[[BubblewrapSandbox], Awaitable[None]]) -> None:
        async def main() -> None:
            async with self.sandbox() as sandbox:
                await scenario(sandbox)

        asyncio.run(main())

    def run(self, command: Command, changes: Changes = NO_CHANGES, limits: Limits | None = None) -> Completed:
        async def main() -> Completed:
            async with self.sandbox() as sandbox:
                return await sandbox.run(command, changes, limits=limits)

        return asyncio.run(main())

    def sh(self, text: str, changes: Changes = NO_CHANGES, limits: Limits | None = None) -> Completed:
        return self.run(Command(("sh", "-c", text)), changes, limits)

    def python(self, text: str, changes: Changes = NO_CHANGES, limits: Limits | None = None) -> Completed:
        return self.run(Command(("{python}", "-c", text)), changes, limits)


def base_interpreter() -> Interpreter:
    return find_interpreter(Path("/"), getattr(sys, "_base_executable", sys.executable))
