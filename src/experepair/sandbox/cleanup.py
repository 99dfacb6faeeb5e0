"""Removes what killed runs of experepair left on this machine: folders, control groups, containers, images."""

from __future__ import annotations

from pathlib import Path

from experepair.errors import SandboxUnavailable
from experepair.sandbox.engine import ENGINES, EngineFailed, find_engine
from experepair.sandbox.fence import sweep_fences
from experepair.sandbox.leftovers import sweep_engine
from experepair.sandbox.run_folder import default_run_root, sweep


async def clean(run_root: Path | None = None) -> list[str]:
    """Remove it; what belongs to a run that lives stays.

    Every start of a sandbox does the same for what it uses itself.

    Args:
        run_root: where staging folders are; None means below the user's cache folder.

    Returns:
        What was removed, in words.
    """
    removed = [f"folder {path}" for path in sweep(run_root or default_run_root())]
    removed += [f"cgroup {path}" for path in sweep_fences()]
    for name in ENGINES:
        try:
            removed += await sweep_engine(await find_engine(name))
        except (SandboxUnavailable, EngineFailed):  # an engine that doesn't answer runs nothing of ours
            continue
    return removed
