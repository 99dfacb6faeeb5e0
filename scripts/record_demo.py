"""Record the demo's journals: repair its bugs with a real model, then keep replies and hashes only.

    python scripts/record_demo.py --base-url http://127.0.0.1:8765/v1 [--model openai:mailbox] [--reuse]

The second bug is repaired twice, with the memory of the first and without any. Any model that `experepair fix` takes
will do; src/experepair/demo/README.md says who answered last time.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from experepair.demo.bugs import DATES, PLACEHOLDERS, Bug, judge
from experepair.demo.package import Package, prepare
from experepair.errors import ReplayMiss
from experepair.journal.distilled import distil, write_journal
from experepair.journal.reading import read_journal
from experepair.llm.config import ModelConfig
from experepair.llm.model import Model
from experepair.llm.provider import ProviderModel
from experepair.llm.replay import ReplayModel
from experepair.llm.request import Reply, Request
from experepair.session.repair import repair

_PATIENCE_S = 7200.0
"""How long an answer may take; whoever sits at a mailbox reads and thinks."""


class Reusing:
    """Answers as recorded where the request is unchanged, else asks."""

    def __init__(self, recorded: Path, live: Model) -> None:
        self._recorded = ReplayModel(recorded) if recorded.is_file() else None
        self._live = live

    async def reply(self, request: Request) -> Reply:
        """The recorded reply, or a new one."""
        if self._recorded is not None:
            try:
                return await self._recorded.reply(request)
            except ReplayMiss:
                sys.stdout.write(f"asked: {request.role}, sample {request.sample}\n")
                sys.stdout.flush()
        return await self._live.reply(request)


def main() -> int:
    """Repair, show how each ended, and write the journals if all are repairs."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", default="openai:mailbox")
    parser.add_argument("--base-url")
    parser.add_argument("--reuse", action="store_true", help="ask only what the journals don't answer")
    parser.add_argument("--out", type=Path, default=Path(tempfile.mkdtemp(prefix="experepair-demo-")))
    given = parser.parse_args()
    package, memory = prepare(), str(given.out / "memory.db")
    live = ProviderModel(ModelConfig(name=given.model, base_url=given.base_url), call_s=_PATIENCE_S)
    for bug, journal, url in (
        (DATES, DATES.journal, memory),
        (PLACEHOLDERS, PLACEHOLDERS.journal_without_memory, "none"),
        (PLACEHOLDERS, PLACEHOLDERS.journal, memory),
    ):
        model = Reusing(journal, live) if given.reuse else live
        if not _record(bug, journal, package, model, url, given.out / journal.parent.name / journal.stem):
            return 1
    return 0


def _record(bug: Bug, journal: Path, package: Package, model: Model, memory: str, out: Path) -> bool:
    result = repair(
        package.repository,
        str(bug.issue),
        out=out,
        replay=model,
        memory=memory,
        python=sys.executable,
        retry={"attempt_s": _PATIENCE_S, "deadline_s": _PATIENCE_S},
    )
    sys.stdout.write(f"{bug.name}, memory {memory}: {result.status}: {out}\n")
    if result.patch is None or result.exit_status:
        return False
    sys.stdout.write("\n".join(judge(package, bug, result.patch.diff)) + "\n")
    write_journal(journal, distil(read_journal(out / "journal.jsonl")))
    return True


if __name__ == "__main__":
    sys.exit(main())
