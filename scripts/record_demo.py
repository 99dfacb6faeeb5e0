"""Record the demo's journal: repair its bug with a real model, then keep replies and hashes only.

    python scripts/record_demo.py --base-url http://127.0.0.1:8765/v1 [--model openai:mailbox]

Any model that `experepair fix` takes will do; src/experepair/demo/README.md says who answered last time.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from experepair.demo import bug
from experepair.journal.distilled import distil, write_journal
from experepair.journal.reading import read_journal
from experepair.session.repair import repair


def main() -> int:
    """Repair, show how it ended, and write the journal if it is a repair."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", default="openai:mailbox")
    parser.add_argument("--base-url")
    parser.add_argument("--out", type=Path, default=Path(tempfile.mkdtemp(prefix="experepair-demo-"), "run"))
    given = parser.parse_args()
    demo = bug.prepare()
    result = repair(
        demo.repository,
        str(bug.resource(bug.ISSUE)),
        out=given.out,
        model=given.model,
        base_url=given.base_url,
        python=sys.executable,
        retry={"attempt_s": 7200.0, "deadline_s": 7200.0},
    )
    sys.stdout.write(f"{result.status}: {given.out}\n")
    if result.patch is None or result.exit_status:
        return 1
    sys.stdout.write("\n".join(bug.judge(demo, result.patch.diff)) + "\n")
    write_journal(
        bug.resource(bug.ISSUE).with_name(bug.JOURNAL), distil(read_journal(given.out / "journal.jsonl"))
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
