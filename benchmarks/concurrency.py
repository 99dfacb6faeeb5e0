"""Wall time of a repair whose model takes 2 s a call, beside the same calls made one after another.

    PYTHONPATH=tests python benchmarks/concurrency.py

The repository is small, the first reproduction is valid and all four patches pass. The bound is 1.15 times six
calls: reproduce and judge, patch, refine and validate at once, review, and one to spare.
"""

from __future__ import annotations

import os
import tempfile
import time
from itertools import count
from pathlib import Path

import toy
from experepair.domain.roles import Role
from experepair.llm.stub import Answer, Asked, StubProvider
from experepair.session.repair import repair
from experepair.steps.result import Status

CALL_S = 2.0
DEPTH = 6
BOUND = 1.15


def main() -> None:
    """Repair the toy once for warming up, once measured."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ.update(XDG_CACHE_HOME=f"{folder}/cache", OPENAI_API_KEY="none")
        repository = toy.repository(Path(folder, "repo"))
        measure(repository, Path(folder, "warm"), 0.0)
        wall, calls = measure(repository, Path(folder, "out"), CALL_S)
    sequential = calls * CALL_S
    bound = BOUND * DEPTH * CALL_S
    print(f"calls of the repair                 {calls:8d}")
    print(f"one after another (floor)           {sequential:8.2f} s   ratio 1.00")
    print(f"experepair, until the report        {wall:8.2f} s   ratio {wall / sequential:.2f}")
    print(
        f"bound: {BOUND} x {DEPTH} calls x {CALL_S:.0f} s          {bound:8.2f} s   {'kept' if wall <= bound else 'BROKEN'}"
    )


def measure(repository: Path, out: Path, delay_s: float) -> tuple[float, int]:
    """Wall time until the report is written, and the number of calls."""
    variants = count()

    def answer(asked: Asked) -> Answer:
        text = toy.reply_to(asked.text)
        if toy.role_of(asked.text) is Role.PATCH:  # four different patches that all pass
            number = next(variants)
            text = toy.patch(
                f"    # variant {number}\n    return total(values) / len(values) if values else 0.0"
            )
        return Answer(text, delay_s=delay_s)

    with StubProvider(answer) as stub:
        started = time.monotonic()
        result = repair(repository, toy.ISSUE, out=out, model="openai:stub", base_url=f"{stub.url}/v1")
        wall = time.monotonic() - started
        assert result.status is Status.REPAIRED, result
        return wall, len(stub.asked)


if __name__ == "__main__":
    main()
