"""An engine on Ray: places repairs, and gives those of dead and of silent workers to others."""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any

from experepair.bench.campaign.state import Outcome
from experepair.bench.campaign.work import Bench, Work, failed
from experepair.bench.cluster.config import SLOT, ClusterConfig
from experepair.bench.cluster.desk import Desk
from experepair.bench.cluster.worker import Gone, Shared, attempt
from experepair.errors import UsageError
from experepair.journal.journal import lease_folder
from experepair.journal.lease import Watch, newest_token
from experepair.session.out import JOURNAL

_AUTH = "RAY_AUTH_MODE"


@dataclass
class _Attempt:
    """One worker's try at a repair.

    Attributes:
        name: of it, among all.
        ref: Ray's handle.
        before: the highest number of the journal's holders when it began.
    """

    name: str
    ref: Any
    before: int


class RayEngine:
    """Runs each repair as one task of a Ray cluster.

    Whether a worker lives is told by the lease of its journal, not by Ray alone: a machine that hangs isn't dead, and a worker
    that was stopped is never missed by Ray. A silent one's repair is begun elsewhere; whoever lost the lease can't do any harm.

    Args:
        bench: of this machine; what of it can be sent goes to the workers.
        at_once: repairs that are given to Ray at a time.
        config: what a repair takes.

    Raises:
        UsageError: there is no such cluster, it isn't authenticated, or memory is in a file.
    """

    def __init__(self, bench: Bench, at_once: int, config: ClusterConfig) -> None:
        if not bench.store:
            raise UsageError(
                "many machines need a server for memory: give --store postgresql://USER:PASSWORD@HOST/NAME"
            )
        self._bench, self._config = bench, config
        self._room = asyncio.Semaphore(at_once)
        self._lease = bench.lease.model_copy(update={"take_over": True})
        self._shared = Shared(
            bench.mirrors.folder, bench.environments, self._lease, bench.store, bench.replay
        )
        self._works: dict[str, Work] = {}
        self._ray = _connected(config)
        ledger = bench.ledger
        self._desk = (
            self._ray.remote(Desk)
            .options(num_cpus=0, scheduling_strategy=self._here())
            .remote(ledger.max_cost_usd, ledger.max_tokens, ledger.spent_usd, ledger.spent_tokens)
        )
        self._task = self._ray.remote(attempt).options(
            num_cpus=config.cpus, resources={SLOT: config.slots}, max_retries=0
        )

    async def repair(self, work: Work) -> Outcome | None:
        """Wait for room, then repair; a lost worker's repair goes on elsewhere from its journal."""
        work = replace(work, home=work.home.absolute(), out=work.out.absolute())
        work.home.mkdir(parents=True, exist_ok=True)
        async with self._room:
            running: dict[asyncio.Future[Any], _Attempt] = {}
            try:
                return await self._attempts(work, running)
            finally:
                for future, left in running.items():
                    future.cancel()
                    with suppress(Exception):  # its machine may be gone
                        self._ray.cancel(left.ref, force=True)

    async def _attempts(self, work: Work, running: dict[asyncio.Future[Any], _Attempt]) -> Outcome | None:
        folder = lease_folder(work.out / JOURNAL)
        watch = Watch(folder, self._lease.length_s)
        why = ""
        for number in range(1, self._config.most_attempts + 1):
            self._begin(work, number, folder, running)
            while running and not _is_silent(watch, folder, [*running.values()][-1]):
                done, _ = await asyncio.wait(
                    running, timeout=self._config.tick_s, return_when=asyncio.FIRST_COMPLETED
                )
                await self._follow()
                for future in done:
                    ended = running.pop(future)
                    outcome, why = await self._ended(future, ended, why)
                    if not isinstance(outcome, Gone):
                        return outcome
                    if outcome is Gone.HELD and not running:
                        await asyncio.sleep(self._lease.length_s)
        while running:  # the last ones may still do it
            done, _ = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
            for future in done:
                outcome, why = await self._ended(future, running.pop(future), why)
                if not isinstance(outcome, Gone):
                    return outcome
        return failed(
            work, f"{self._config.most_attempts} workers were lost over it: {why or 'no reason is known'}"
        )

    def _begin(
        self, work: Work, number: int, folder: Path, running: dict[asyncio.Future[Any], _Attempt]
    ) -> None:
        name = f"{work.out}#{number}"
        self._works[name] = work
        before = newest_token(folder)
        begun = _Attempt(name, self._task.remote(work, self._shared, name, self._desk), before)
        running[asyncio.wrap_future(begun.ref.future())] = begun

    async def _ended(
        self, future: asyncio.Future[Any], ended: _Attempt, why: str
    ) -> tuple[Outcome | Gone | None, str]:
        try:
            outcome: Outcome | Gone | None = future.result()
        except self._ray.exceptions.RayTaskError as error:  # the campaign can't go on: it says why
            raise error.cause if isinstance(error.cause, Exception) else error from error
        except self._ray.exceptions.RayError as error:
            outcome, why = Gone.LOST, str(error).strip().splitlines()[0]
            self._bench.tell(f"a worker at {self._works[ended.name].instance.id} was lost: {why}")
        if isinstance(outcome, Gone):
            await self._desk.abandon.remote(ended.name)
        return outcome, why

    async def _follow(self) -> None:
        """Bring the table of this machine up to date."""
        news = await self._desk.news.remote()
        ledger = self._bench.ledger
        ledger.spent_usd, ledger.spent_tokens = news.spent_usd, news.spent_tokens
        ledger.unpriced_calls = news.unpriced_calls
        for name, entry in news.entries:
            self._bench.observer(self._works[name], entry)

    def _here(self) -> Any:
        strategies = import_module("ray.util.scheduling_strategies")
        node = self._ray.get_runtime_context().get_node_id()
        return strategies.NodeAffinitySchedulingStrategy(node_id=node, soft=False)


def _is_silent(watch: Watch, folder: Path, newest: _Attempt) -> bool:
    """Whether the newest attempt has taken the journal, and shows no sign of life."""
    token = newest_token(folder)
    try:
        return token > newest.before and watch.silent(token)
    except OSError:  # the shared folder can't be reached just now
        return False


def _connected(config: ClusterConfig) -> Any:
    mode = os.environ.setdefault(_AUTH, "token")
    if mode != "token":
        raise UsageError(
            f"{_AUTH} is {mode!r}: without a token anybody who reaches the cluster runs code; unset it"
        )
    try:
        ray = import_module("ray")
    except ImportError as error:
        raise UsageError("the engine 'ray' needs Ray: install experepair[ray]") from error
    try:
        ray.init(address=config.address, log_to_driver=False, ignore_reinit_error=True)
    except (ConnectionError, RuntimeError, ValueError) as error:
        raise UsageError(f"there is no Ray cluster at {config.address!r} to join: {error}") from error
    if ray.cluster_resources().get(SLOT, 0) < config.slots:
        raise UsageError(
            f"no machine of the cluster offers {config.slots:g} of the resource {SLOT!r}; start each with "
            f"ray start … --resources '{{\"{SLOT}\": N}}'"
        )
    return ray
