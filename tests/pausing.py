"""A model that repairs the toy and, in one process once, waits in the middle: to be stopped or killed there."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import toy
from experepair.domain.roles import Role
from experepair.llm.model import Model, ScriptedModel
from experepair.llm.request import Reply, Request

REACHED = "reached"
"""Holds the id of the process that waits."""
GO = "go"
"""Ends the waiting."""
WOKEN = "woken"


class Pausing:
    """Answers from the prompt alone, so that a resumed repair goes on as it began."""

    def __init__(self, folder: Path, role: Role | None) -> None:
        self._folder, self._role = folder, role
        self._model = ScriptedModel(
            lambda request: toy.reply_to("\n".join(p.text for p in request.prompt.parts))
        )

    async def reply(self, request: Request) -> Reply:
        if request.role is self._role:
            await pause(self._folder)
        return await self._model.reply(request)


def model(folder: Path, role: Role | None, work: object) -> Model:
    """As the campaign's `replay`, when the first two are bound."""
    del work
    return Pausing(folder, role)


async def pause(folder: Path) -> None:
    """Wait, unless another process does so or has done so."""
    beside = folder / f"{REACHED}.{os.getpid()}"
    beside.write_text(str(os.getpid()))
    try:
        (folder / REACHED).hardlink_to(beside)
    except FileExistsError:
        return
    while not (folder / GO).exists():  # noqa: ASYNC110 - another process ends it
        await asyncio.sleep(0.05)
    (folder / WOKEN).touch()
