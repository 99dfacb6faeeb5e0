"""Every call to a model: within the budget, tried as the policy says, and in the journal."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from dataclasses import dataclass, replace
from enum import StrEnum

from experepair.errors import ExpeRepairError, OutputError, ProviderError
from experepair.journal.entries import Attempt, CallFailed, Decided, Intent, Replied, Tokens
from experepair.journal.journal import Journal
from experepair.llm.config import RetryPolicy
from experepair.llm.faults import ContextTooLong, Fault
from experepair.llm.ledger import Ledger, Reservation, settled
from experepair.llm.model import Call, Model, plan
from experepair.llm.recording import Occurrences, Outcome, Recording, request_key, sent_part
from experepair.llm.replay import ReplayModel
from experepair.llm.request import Part, Reply, Request
from experepair.llm.retry import retrying

__all__ = ["JournalledModel", "Mode", "ReplayModel"]


class Mode(StrEnum):
    """What happens to a request that the journal holds no reply for."""

    LIVE = "live"
    """It is sent."""
    REPLAY = "replay"
    """It is refused."""


class JournalledModel:
    """A model whose calls are journalled, paid from a ledger, and never made twice.

    A reply that the journal held when this was made is given again without a call. A model that knows
    nothing of faults, attempts or prices (a scripted one) may stand behind it.

    Args:
        model: answers single attempts.
        journal: of the run.
        ledger: of the run; give it the journal's entries by `restore` first.
        mode: whether new requests are sent.
        retry: what is done about faults.
        rng: gives the jitter of pauses.
    """

    def __init__(
        self,
        model: Model,
        journal: Journal,
        ledger: Ledger,
        mode: Mode = Mode.LIVE,
        *,
        retry: RetryPolicy | None = None,
        rng: random.Random | None = None,
    ) -> None:
        self._model, self._journal, self._ledger, self._mode = model, journal, ledger, mode
        self._retry = retry or RetryPolicy()
        self._rng = rng or random.Random()  # noqa: S311 - jitter is no secret
        self._recording = Recording(journal.entries, journal.path.name if journal.path else "journal")
        self._occurrences = Occurrences()
        self._made: Counter[str] = Counter()
        self._changes: set[str] = set()

    async def reply(self, request: Request) -> Reply:
        """The journalled reply, or a new one.

        A prompt that the provider finds too long is sent once more, shorter.

        Raises:
            ProviderError: no usable answer could be had within the policy's limits.
            BudgetSpent: the call could exceed a cap.
            ReplayMiss: in replay mode, the journal holds no reply.
        """
        key = request_key(request)
        occurrence = self._occurrences.next(key)
        outcome = self._recording.find(key, occurrence)
        if outcome is not None and (reply := outcome.reply) is not None:
            self._report_change(outcome, request)
            return reply
        if outcome is not None and outcome.failed is not None and self._recording.went_on_without(outcome):
            raise ProviderError(outcome.failed.reason)
        if self._mode is Mode.REPLAY:
            raise self._recording.miss(request, key, occurrence)
        place = _Place(key, occurrence)
        call = plan(self._model, request)
        try:
            return await self._call(place, call)
        except ContextTooLong:
            shorter = plan(self._model, request, shrink=True)
            if shorter.request == call.request:
                raise
            return await self._call(place, shorter)

    async def _call(self, place: _Place, call: Call) -> Reply:
        reservation = await self._ledger.reserve(call.worst_case_usd, call.worst_case_tokens)
        try:
            intent = self._journal.append(self._intent(place, call))
        except ExpeRepairError:
            self._ledger.settle(reservation, 0.0, 0)  # nothing is sent that isn't on the disk
            raise
        open_call = _OpenCall(intent, call, reservation, began=asyncio.get_running_loop().time())
        try:
            return await self._send(open_call)
        except OutputError:
            raise  # an answer that isn't on the disk counts with its worst case
        except ExpeRepairError as error:
            status = error.status if isinstance(error, Fault) else None
            self._journal.append(CallFailed(call=intent.call, reason=str(error), status=status))
            self._ledger.settle(open_call.reservation, 0.0, 0)
            raise
        finally:  # settled already, unless the call was cut short: then it may have cost all it could
            self._ledger.settle(open_call.reservation, call.worst_case_usd, call.worst_case_tokens)

    async def _send(self, open_call: _OpenCall) -> Reply:
        attempts = 0

        async def attempt() -> Reply:
            nonlocal attempts
            attempts += 1
            return await self._model.reply(open_call.call.request)

        async def failed(number: int, fault: Fault, wait_s: float) -> None:
            self._journal.append(
                Attempt(
                    call=open_call.intent.call,
                    number=number,
                    error=str(fault),
                    status=fault.status,
                    wait_s=wait_s,
                    charged=fault.charged,
                )
            )
            if fault.charged:  # that attempt counts as spent; the next one needs money of its own
                worst = open_call.call.worst_case_usd, open_call.call.worst_case_tokens
                self._ledger.settle(open_call.reservation, *worst)
                if wait_s:
                    open_call.reservation = await self._ledger.reserve(*worst)

        reply = await retrying(attempt, self._retry, self._rng, failed)
        latency_s = asyncio.get_running_loop().time() - open_call.began
        self._journal.append(Attempt(call=open_call.intent.call, number=attempts))
        entry = self._journal.append(_replied(open_call.intent.call, reply, latency_s))
        spent = (0.0, 0) if reply.replayed else settled(entry, open_call.intent)
        self._ledger.settle(open_call.reservation, *spent)
        return _timed(reply, latency_s)

    def _intent(self, place: _Place, call: Call) -> Intent:
        number = self._recording.calls(place.key) + self._made[place.key]
        self._made[place.key] += 1
        request = call.request
        return Intent(
            call=f"{request.role}-{place.key[:12]}-{number}",
            key=place.key,
            role=request.role,
            sample=request.sample,
            occurrence=place.occurrence,
            model=call.model,
            system=sent_part(Part("system", request.prompt.system)),
            parts=tuple(sent_part(part) for part in request.prompt.parts),
            temperature=call.temperature,
            max_output_tokens=call.max_output_tokens,
            worst_case_usd=call.worst_case_usd,
            worst_case_tokens=call.worst_case_tokens,
        )

    def _report_change(self, outcome: Outcome, request: Request) -> None:
        """Say once that replies from another model or temperature are used on."""
        try:
            now = plan(self._model, request)
        except ExpeRepairError:
            return  # the reply is there: that it couldn't be asked for now is no matter
        then = outcome.intent
        if (then.model, then.temperature) == (now.model, now.temperature):
            return
        what = (
            f"replies of {then.model} at temperature {then.temperature} are used on for {then.role}, "
            f"which is now asked from {now.model} at {now.temperature}"
        )
        if what not in self._changes and self._mode is Mode.LIVE:
            self._changes.add(what)
            self._journal.append(Decided(stage="resume", what=what))


@dataclass(frozen=True, slots=True)
class _Place:
    key: str
    occurrence: int


@dataclass(slots=True)
class _OpenCall:
    intent: Intent
    call: Call
    reservation: Reservation
    began: float


def _replied(call: str, reply: Reply, latency_s: float) -> Replied:
    usage = reply.usage
    return Replied(
        call=call,
        text=reply.text,
        usage=None
        if usage is None
        else Tokens(
            input=usage.input, output=usage.output, cached=usage.cached, cache_written=usage.cache_written
        ),
        raw_usage=dict(reply.raw_usage),
        finish=reply.finish,
        model=reply.model,
        cost_usd=reply.cost_usd,
        prices=reply.prices,
        latency_s=latency_s,
        replayed=reply.replayed,
    )


def _timed(reply: Reply, latency_s: float) -> Reply:
    return reply if reply.replayed else replace(reply, latency_s=latency_s)
