"""Labels by which containers and images of dead processes are known, and their removal."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping
from pathlib import Path

from experepair.sandbox.engine import Engine
from experepair.sandbox.run_folder import is_held

LOCK = "experepair.lock"
_BOOT = "experepair.boot"
_DEADLINE = "experepair.deadline"


def labels(lock: Path, lasts_s: float) -> dict[str, str]:
    """Labels of what a process makes.

    Args:
        lock: held as long as the process lives.
        lasts_s: seconds after which nobody can need it any more.
    """
    return {LOCK: str(lock), _BOOT: _boot_id(), _DEADLINE: str(int(time.time() + lasts_s))}


async def sweep_engine(engine: Engine) -> list[str]:
    """Remove what dead processes left in the engine.

    Returns:
        What was removed, in words.

    Raises:
        EngineFailed: the engine doesn't answer.
    """
    removed = []
    for kind in ("container", "image"):
        found = await engine.labelled(kind, LOCK)
        left = [each for each, its in found.items() if is_leftover(its)]
        if kind == "container":
            await engine.remove(*left)
        else:
            await engine.remove_images(*left)
        removed += [f"{engine.name} {kind} {each.removeprefix('sha256:')[:12]}" for each in left]
    return removed


def is_leftover(its: Mapping[str, str]) -> bool:
    """Whether nobody needs what has these labels.

    The lock tells on the machine that holds it; of others, and of a user whose folders are closed, the deadline does.
    """
    held = is_held(Path(its.get(LOCK, ""))) if its.get(_BOOT) == _boot_id() else None
    if held is not None:
        return not held
    deadline = its.get(_DEADLINE, "")
    return deadline.isdigit() and int(deadline) < time.time()


def _boot_id() -> str:
    with contextlib.suppress(OSError):
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    return ""
