"""Adds up the memory of a process and all below it, where no control group can be made."""

from __future__ import annotations

import asyncio
import contextlib
import os
from pathlib import Path

_TURN_S = 0.2
_CLOSE_TURN_S = 0.05
"""Between two looks, when more than half of the limit is in use."""
_PAGE = os.sysconf("SC_PAGE_SIZE")


async def memory_exceeded(pid: int, limit_mb: int) -> str:
    """Return, with a reason in words, once the processes below `pid` use more than `limit_mb` together."""
    limit = limit_mb << 20
    while True:
        processes = descendants(pid)
        used = sum(map(resident, processes))
        if used > limit:  # pages that processes share were counted for each
            used = sum(map(proportional, processes))
        if used > limit:
            return f"the memory of the whole sandbox went over {limit_mb} MiB"
        await asyncio.sleep(_CLOSE_TURN_S if used > limit // 2 else _TURN_S)


def descendants(pid: int) -> list[int]:
    """The process and all below it; orphans stay below, where a pid namespace's first process takes them in."""
    found = [pid]
    for each in found:
        with contextlib.suppress(OSError):
            for task in Path(f"/proc/{each}/task").iterdir():
                with contextlib.suppress(OSError):
                    found += map(int, (task / "children").read_text(encoding="ascii").split())
    return found


def resident(pid: int) -> int:
    """Bytes of memory in use by one process; 0 when it is gone."""
    with contextlib.suppress(OSError, IndexError):
        return int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1]) * _PAGE
    return 0


def proportional(pid: int) -> int:
    """The same, with shared pages divided among those that share them, where the kernel tells."""
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) << 10
    return resident(pid)
