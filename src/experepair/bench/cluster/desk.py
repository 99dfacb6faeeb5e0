"""The one place of a cluster that all repairs ask: the cap on all of them together, and who is how far."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from experepair.errors import BudgetSpent
from experepair.llm.ledger import Ledger, Reservation


@dataclass(frozen=True, slots=True)
class News:
    """What there is to tell since it was asked for the last time.

    Attributes:
        entries: of journals, each with the attempt that wrote it.
        spent_usd: by all repairs, in US dollars.
        spent_tokens: the same in tokens.
        unpriced_calls: calls whose cost is unknown.
    """

    entries: tuple[tuple[str, Any], ...]
    spent_usd: float
    spent_tokens: int
    unpriced_calls: int


class Desk:
    """Keeps the ledger of a campaign; runs as an actor on the machine of the campaign.

    Args:
        max_cost_usd: cap on all repairs in US dollars; None means none.
        max_tokens: the same in tokens.
        spent_usd: before.
        spent_tokens: before.
    """

    def __init__(
        self, max_cost_usd: float | None, max_tokens: int | None, spent_usd: float, spent_tokens: int
    ) -> None:
        self._ledger = Ledger(max_cost_usd, max_tokens)
        self._ledger.spent_usd, self._ledger.spent_tokens = spent_usd, spent_tokens
        self._open: dict[str, dict[int, Reservation]] = {}
        self._number = 0
        self._entries: list[tuple[str, Any]] = []

    async def reserve(self, attempt: str, usd: float | None, tokens: int) -> int | str:
        """Set the worst case of a call aside.

        Returns:
            the reservation's number, or why there is none.
        """
        try:
            reservation = await self._ledger.reserve(usd, tokens)
        except BudgetSpent as error:
            return str(error)
        self._number += 1
        self._open.setdefault(attempt, {})[self._number] = reservation
        return self._number

    async def settle(self, attempt: str, number: int, usd: float | None, tokens: int) -> None:
        """Replace a reservation by what the call took."""
        if reservation := self._open.get(attempt, {}).pop(number, None):
            self._ledger.settle(reservation, usd, tokens)

    async def abandon(self, attempt: str) -> None:
        """Count all that a lost worker had in flight with its worst case, as its journal does."""
        for reservation in self._open.pop(attempt, {}).values():
            self._ledger.settle(reservation, reservation.usd, reservation.tokens)

    async def tell(self, attempt: str, entry: Any) -> None:
        """Note an entry of a journal."""
        self._entries.append((attempt, entry))

    async def news(self) -> News:
        """What is new; it is told once."""
        told, self._entries = self._entries, []
        ledger = self._ledger
        return News(tuple(told), ledger.spent_usd, ledger.spent_tokens, ledger.unpriced_calls)


class RemoteLedger(Ledger):
    """The ledger of the campaign, as a repair on another machine sees it.

    Args:
        desk: handle of the actor.
        attempt: of the repair.
    """

    def __init__(self, desk: Any, attempt: str) -> None:
        super().__init__()
        self._desk, self._attempt = desk, attempt
        self._numbers: dict[Reservation, int] = {}

    async def reserve(self, usd: float | None, tokens: int) -> Reservation:
        """See `Ledger.reserve`."""
        answer: int | str = await self._desk.reserve.remote(self._attempt, usd, tokens)
        if isinstance(answer, str):
            raise BudgetSpent(answer)
        reservation = Reservation(usd, tokens)
        self._numbers[reservation] = answer
        return reservation

    def settle(self, reservation: Reservation, usd: float | None, tokens: int) -> None:
        """See `Ledger.settle`."""
        number = self._numbers.pop(reservation, None)
        if number is not None:
            self._desk.settle.remote(self._attempt, number, usd, tokens)
