"""What a run has spent and may still spend, over all roles and parallel calls."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, field

from experepair.errors import BudgetSpent, UsageError
from experepair.journal.entries import Attempt, CallFailed, Entry, Intent, Replied


@dataclass(eq=False, slots=True)
class Reservation:
    """The worst case of a call that is about to be made."""

    usd: float | None
    tokens: int
    open: bool = field(default=True)
    above: Reservation | None = field(default=None)
    """The same in the ledger of many runs."""


class Ledger:
    """Keeps the calls of a run within caps: each reserves its worst case, then settles what it took.

    A call waits while only the reservations of others stand in its way. So a cap is exceeded only when a
    provider counts more than the worst case, and then at most by the calls in flight.

    Args:
        max_cost_usd: cap in US dollars; None means no cap.
        max_tokens: cap on prompt and generated tokens together; None means no cap.
        above: of many runs together; each call has to fit into both.
    """

    def __init__(
        self, max_cost_usd: float | None = None, max_tokens: int | None = None, above: Ledger | None = None
    ) -> None:
        self.max_cost_usd, self.max_tokens = max_cost_usd, max_tokens
        self._above = above
        self.refused_above = False
        """Whether a call was refused for the cap of many runs together."""
        self.spent_usd = 0.0
        self.spent_tokens = 0
        self.unpriced_calls = 0
        """Calls whose cost is unknown; `spent_usd` leaves them out."""
        self._open: set[Reservation] = set()
        self._waiting: list[asyncio.Future[None]] = []

    @property
    def reserved_usd(self) -> float:
        """Worst cases of the calls in flight, in US dollars."""
        return sum(reservation.usd or 0.0 for reservation in self._open)

    @property
    def reserved_tokens(self) -> int:
        """Worst cases of the calls in flight, in tokens."""
        return sum(reservation.tokens for reservation in self._open)

    def restore(self, entries: Iterable[Entry]) -> None:
        """Count what a journal says was spent; a call without an answer counts with its worst case.

        The ledger above is left as it is: whoever shares it among runs restores it from all of them at once.
        """
        pending: dict[str, Intent] = {}
        for entry in entries:
            if isinstance(entry, Intent):
                pending[entry.call] = entry
            elif isinstance(entry, Attempt) and entry.charged and (intent := pending.get(entry.call)):
                self._count(intent.worst_case_usd, intent.worst_case_tokens)
            elif isinstance(entry, Replied) and (intent := pending.pop(entry.call, None)):
                if not entry.replayed:
                    self._count(*settled(entry, intent))
            elif isinstance(entry, CallFailed):
                pending.pop(entry.call, None)
        for intent in pending.values():
            self._count(intent.worst_case_usd, intent.worst_case_tokens)

    async def reserve(self, usd: float | None, tokens: int) -> Reservation:
        """Set the worst case of a call aside, waiting for calls in flight if need be.

        Args:
            usd: US dollars; None when the price is unknown.
            tokens: prompt and answer together.

        Raises:
            BudgetSpent: it could exceed a cap even with no other call in flight.
            UsageError: the price is unknown, and there is a cap on cost but none on tokens.
        """
        if usd is None and self.max_cost_usd is not None and self.max_tokens is None:
            raise UsageError(
                f"the cost can't be kept below {self.max_cost_usd:g} USD: the price of a model is unknown; "
                "give it with --price IN/OUT, or cap tokens with --max-tokens"
            )
        above = None
        if self._above is not None:
            try:
                above = await self._above.reserve(usd, tokens)
            except BudgetSpent:
                self.refused_above = True
                raise
        try:
            reservation = await self._reserve(usd, tokens)
        except BaseException:
            if self._above is not None and above is not None:
                self._above.settle(above, 0.0, 0)
            raise
        reservation.above = above
        return reservation

    async def _reserve(self, usd: float | None, tokens: int) -> Reservation:
        while True:
            self._refuse_if_hopeless(usd or 0.0, tokens)
            if self._fits(
                self.spent_usd + self.reserved_usd + (usd or 0.0), self.max_cost_usd
            ) and self._fits(self.spent_tokens + self.reserved_tokens + tokens, self.max_tokens):
                reservation = Reservation(usd, tokens)
                self._open.add(reservation)
                return reservation
            released = asyncio.get_running_loop().create_future()
            self._waiting.append(released)
            await released

    def settle(self, reservation: Reservation, usd: float | None, tokens: int) -> None:
        """Replace a reservation by what the call took (nothing: 0 and 0). A second time does nothing."""
        if not reservation.open:
            return
        reservation.open = False
        self._open.discard(reservation)
        self._count(usd, tokens)
        if self._above is not None and reservation.above is not None:
            self._above.settle(reservation.above, usd, tokens)
        for waiting in self._waiting:
            if not waiting.done():
                waiting.set_result(None)
        self._waiting.clear()

    def _count(self, usd: float | None, tokens: int) -> None:
        self.spent_tokens += tokens
        if usd is None:
            self.unpriced_calls += 1
        else:
            self.spent_usd += usd

    @staticmethod
    def _fits(amount: float, cap: float | None) -> bool:
        return cap is None or amount <= cap

    def _refuse_if_hopeless(self, usd: float, tokens: int) -> None:
        if not self._fits(self.spent_usd + usd, self.max_cost_usd):
            raise BudgetSpent(
                f"the cap of {self.max_cost_usd:g} USD is reached: {self.spent_usd:.4f} spent, "
                f"{self.reserved_usd:.4f} reserved by calls in flight, and the next call could cost {usd:.4f}; "
                "raise --max-cost, or lower the model's max_output_tokens"
            )
        if not self._fits(self.spent_tokens + tokens, self.max_tokens):
            raise BudgetSpent(
                f"the cap of {self.max_tokens:,} tokens is reached: {self.spent_tokens:,} spent, "
                f"{self.reserved_tokens:,} reserved by calls in flight, and the next call could take {tokens:,}; "
                "raise --max-tokens, or lower the model's max_output_tokens"
            )


def settled(reply: Replied, intent: Intent) -> tuple[float | None, int]:
    """What an answered call took: its worst case where the provider doesn't say."""
    usd = intent.worst_case_usd if reply.cost_usd is None else reply.cost_usd
    usage = reply.usage
    return usd, intent.worst_case_tokens if usage is None else usage.input + usage.output
