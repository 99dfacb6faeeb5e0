"""Predictions become files: applied as SWE-bench's harness does, by git and then, less strictly, by patch."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from experepair.domain.command import Changes
from experepair.domain.edit import Unparsed
from experepair.workspace import paths
from experepair.workspace.checkout import Checkout
from experepair.workspace.diff import changes_of_patch

_NAMED = re.compile(r"^(?:---|\+\+\+) (?:[ab]/)?([^\t\n]+)", re.MULTILINE)
_FUZZ = "--fuzz=5"
_S = 60.0
_ODD_MODE = re.compile(r"^(?:new file mode|new mode) 1[26]0000$", re.MULTILINE)


def applied(checkout: Checkout, patch: str) -> Changes | Unparsed:
    """What a prediction does to the checkout; the reason when neither git nor patch can apply it."""
    strict = changes_of_patch(checkout, patch)
    if not isinstance(strict, Unparsed):
        return strict
    return _fuzzily(checkout, patch) or strict


def _fuzzily(checkout: Checkout, patch: str) -> Changes | None:
    """The same by `patch`, in a folder that holds copies of the named files and nothing else."""
    named = set(_NAMED.findall(patch)) - {"/dev/null"}
    if shutil.which("patch") is None or _ODD_MODE.search(patch) or any(map(paths.refusal, named)):
        return None
    with tempfile.TemporaryDirectory(prefix="experepair-") as name:
        folder = Path(name)
        for path in named:
            if (content := checkout.read(path)) is not None:
                (folder / path).parent.mkdir(parents=True, exist_ok=True)
                (folder / path).write_bytes(content)
        command = ("patch", "--batch", _FUZZ, "-p1", "--no-backup-if-mismatch", "--force", "--quiet")
        try:
            done = subprocess.run(
                command,
                cwd=folder,
                input=f"{patch.rstrip()}\n".encode("utf-8", "surrogateescape"),
                capture_output=True,
                timeout=_S,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return None
        if done.returncode:
            return None
        changes: dict[str, bytes | None] = {}
        for path in sorted(named):
            file = folder / path
            after = file.read_bytes() if file.is_file() and not file.is_symlink() else None
            if after != (before := checkout.read(path)):
                if checkout.read.obstacle(path) or (after is None and before is None):
                    return None
                changes[path] = after
        return changes or None
