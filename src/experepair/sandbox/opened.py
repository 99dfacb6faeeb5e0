"""What all sandboxes share: they are opened and closed by `async with`, and undo what they made."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import AsyncExitStack
from pathlib import Path
from types import TracebackType
from typing import Self

from experepair.domain.command import NO_CHANGES, Changes, Command, Completed
from experepair.sandbox.fence import sweep_fences
from experepair.sandbox.interpreter import Interpreter
from experepair.sandbox.run_folder import RunFolder, default_run_root, sweep
from experepair.sandbox.sandbox import Isolation, Limits


class OpenedSandbox(ABC):
    """Opens in `_open`, and closes what was put on `_resources`, last first.

    Args:
        run_root: where staging folders are made; None means below the user's cache folder.
    """

    def __init__(self, run_root: Path | None) -> None:
        self._run_root = run_root or default_run_root()
        self._resources = AsyncExitStack()

    @property
    @abstractmethod
    def isolation(self) -> Isolation:
        """As it was proved when the sandbox was opened."""

    @property
    @abstractmethod
    def place(self) -> str:
        """Where commands see the tree."""

    @property
    @abstractmethod
    def interpreter(self) -> Interpreter:
        """What "{python}" stands for."""

    @abstractmethod
    async def run(
        self, command: Command, changes: Changes = NO_CHANGES, *, limits: Limits | None = None
    ) -> Completed:
        """As the port says it."""

    @abstractmethod
    async def _open(self) -> None:
        """Make ready; what is raised here closes everything again."""

    def _run_folder(self) -> RunFolder:
        """A staging folder of this sandbox's own, after what dead processes left is swept."""
        sweep(self._run_root)
        sweep_fences()
        return self._resources.enter_context(RunFolder(self._run_root))

    async def __aenter__(self) -> Self:
        try:
            await self._open()
        except BaseException:
            await self._resources.aclose()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._resources.aclose()
