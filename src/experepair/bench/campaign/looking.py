"""After the repairs: what their reproduction scripts show (ESR, RSR), with answers that were sealed until then."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from experepair.bench.campaign.state import State, read_outcome
from experepair.bench.campaign.work import Bench, Work, job_of
from experepair.bench.instance import Answer
from experepair.bench.metrics.measures import last_script
from experepair.bench.metrics.scripts import SHOWN, read_shown, show
from experepair.errors import ExpeRepairError, OutputError
from experepair.journal.reading import read_journal
from experepair.session.out import JOURNAL
from experepair.steps.report import write_all


async def look(works: Sequence[Work], answers: Mapping[str, Answer], bench: Bench, at_once: int) -> None:
    """Run the last script of each finished repair with and without the maintainers' fix; what is known isn't run again.

    Raises:
        OutputError: what was seen can't be written.
    """
    room = asyncio.Semaphore(max(1, at_once))

    async def one(work: Work) -> None:
        async with room:
            try:
                await _look(work, answers[work.instance.id].patch, bench)
            except OutputError:
                raise
            except ExpeRepairError as error:
                bench.tell(f"what the script of {work.instance.id} shows could not be seen: {error}")

    async with asyncio.TaskGroup() as group:
        for work in works:
            group.create_task(one(work))


async def _look(work: Work, gold: str, bench: Bench) -> None:
    outcome = read_outcome(work.out)
    if outcome is None or outcome.state is not State.DONE:
        return
    script = last_script(await asyncio.to_thread(read_journal, work.out / JOURNAL))
    known = read_shown(work.out)
    if script is None or (known is not None and known.is_of(script)):
        return
    settings = bench.settings(work)
    job = await asyncio.to_thread(job_of, work, bench, settings)
    shown = await show(script, gold, job, settings, lambda note: None)
    write_all(work.out, {SHOWN: shown.model_dump_json(indent=2) + "\n"})
