"""Sandboxes for tests: a checkout, and how to run commands over it."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from experepair.domain.command import NO_CHANGES, Changes, Command, Completed
from experepair.sandbox.bubblewrap import BubblewrapSandbox
from experepair.sandbox.bwrap_command import Copy
from experepair.sandbox.interpreter import Interpreter, find_interpreter
from experepair.sandbox.sandbox import Limits

T = TypeVar("T")


@dataclass
class Box:
    """A checkout and how to run commands over it."""

    tree: Path
    run_root: Path
    mount_at: Path = Path("/home/someone/project")
    copies: tuple[Copy, ...] = (Copy.OVERLAY,)
    interpreter: Interpreter = field(default_factory=lambda: base_interpreter())
    rootfs: Path | None = None
    held: tuple[asyncio.Runner, BubblewrapSandbox] | None = None

    @contextmanager
    def opened(self) -> Iterator[Box]:
        """Opened once for many tests, which must not change what it is made of."""
        with asyncio.Runner() as runner:
            sandbox = self.sandbox()
            runner.run(sandbox.__aenter__())
            self.held = (runner, sandbox)
            try:
                yield self
            finally:
                runner.run(sandbox.__aexit__(None, None, None))

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

    def use(self, scenario: Callable[[BubblewrapSandbox], Awaitable[T]]) -> T:
        async def main(sandbox: BubblewrapSandbox) -> T:
            return await scenario(sandbox)

        async def opening() -> T:
            async with self.sandbox() as sandbox:
                return await scenario(sandbox)

        if self.held is not None:
            runner, sandbox = self.held
            return runner.run(main(sandbox))
        return asyncio.run(opening())

    def run(self, command: Command, changes: Changes = NO_CHANGES, limits: Limits | None = None) -> Completed:
        return self.use(lambda sandbox: sandbox.run(command, changes, limits=limits))

    def sh(self, text: str, changes: Changes = NO_CHANGES, limits: Limits | None = None) -> Completed:
        return self.run(Command(("sh", "-c", text)), changes, limits)

    def python(self, text: str, changes: Changes = NO_CHANGES, limits: Limits | None = None) -> Completed:
        return self.run(Command(("{python}", "-c", text)), changes, limits)


def make_tree(folder: Path) -> Path:
    """A small checkout."""
    (folder / "pkg").mkdir(parents=True)
    (folder / "pkg" / "__init__.py").write_text("value = 'original'\n")
    (folder / "run.sh").write_text("#!/bin/sh\necho original\n")
    (folder / "run.sh").chmod(0o755)
    (folder / "link").symlink_to("pkg")
    (folder / ".git").mkdir()
    (folder / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    return folder


def base_interpreter() -> Interpreter:
    return find_interpreter(Path("/"), getattr(sys, "_base_executable", sys.executable))
