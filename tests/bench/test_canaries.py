"""Nothing sealed reaches a model, a sandbox, or anything that a run leaves behind."""

from __future__ import annotations

import os
import sys
import zlib
from pathlib import Path

import pytest

import toy
import toy_bench
from experepair.bench.dataset import load
from experepair.bench.mirrors import Mirrors
from experepair.domain.command import NO_CHANGES, Changes, Command, Completed
from experepair.sandbox.bubblewrap import BubblewrapSandbox
from experepair.sandbox.sandbox import Limits
from experepair.session.repair import repair
from experepair.steps.result import Status

CANARY = "canary-in-the-sealed-part"
SEALED = {
    "patch": f"{toy_bench.PATCH}+# {CANARY}-patch\n",
    "test_patch": f"{toy_bench.TEST_PATCH}+# {CANARY}-test-patch\n",
    "FAIL_TO_PASS": [f"{CANARY}-fail-to-pass"],
    "PASS_TO_PASS": [f"{CANARY}-pass-to-pass"],
    "hints_text": f"{CANARY}-hints",
    "environment_setup_commit": f"{CANARY}-set-up",
    "a_column_of_tomorrow": f"{CANARY}-tomorrow",
}


def holding(folder: Path, word: str) -> list[Path]:
    """Files that hold a word in their name or content, git's own objects unpacked."""
    found = []
    for parent, folders, names in os.walk(folder):
        for name in (*folders, *names):
            path = Path(parent, name)
            content = path.read_bytes() if path.is_file() and not path.is_symlink() else b""
            if ".git/objects" in str(path) and not name.endswith((".pack", ".idx", ".rev")):
                content = zlib.decompress(content) if content else b""
            if word in name or word.encode() in content:
                found.append(path)
    return found


def test_canaries_in_every_sealed_column_and_in_later_commits_reach_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mirror = toy_bench.mirror(tmp_path / "mirrors")
    base = toy.git(mirror, "rev-parse", "HEAD").strip()
    (mirror / "toy" / "stats.py").write_text(f"# {CANARY}-later\n")
    toy.git(mirror, "commit", "--quiet", "--all", f"--message={CANARY}-later fixes mean of an empty list")
    toy.git(mirror, "tag", f"{CANARY}-tag")
    rows = toy_bench.write_rows(tmp_path / "rows.jsonl", toy_bench.row(base, **SEALED))
    [instance] = load(str(rows)).instances

    ran: list[tuple[Command, Changes]] = []
    run = BubblewrapSandbox.run

    async def seen(
        self: BubblewrapSandbox,
        command: Command,
        changes: Changes = NO_CHANGES,
        *,
        limits: Limits | None = None,
    ) -> Completed:
        ran.append((command, changes))
        return await run(self, command, changes, limits=limits)

    monkeypatch.setattr(BubblewrapSandbox, "run", seen)
    model = toy.model()
    opened = Mirrors(tmp_path / "clones", tmp_path / "mirrors", "").open(instance)
    result = repair(
        opened.root,
        instance.problem_statement,
        commit=instance.base_commit,
        include_dirty=False,
        out=tmp_path / "out",
        replay=model,
        python=sys.executable,
    )
    assert result.status is Status.REPAIRED
    assert model.asked, "no request was looked at"
    assert ran, "no execution was looked at"
    for request in model.asked:
        assert CANARY not in repr(request)
    for execution in ran:
        assert CANARY not in repr(execution)
    trees = [path.parent for path in (tmp_path / "cache").rglob(".git")]
    assert trees, "no tree was looked at"
    for place in (*trees, tmp_path / "out"):
        assert holding(place, CANARY) == []
    assert holding(mirror, CANARY), "the search finds canaries where they are"
