"""A model that answers from a journal, as often as one likes, without a provider."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from experepair.errors import ProviderError
from experepair.journal.entries import Entry
from experepair.journal.reading import read_journal
from experepair.llm.model import Call
from experepair.llm.recording import Occurrences, Recording, request_key
from experepair.llm.request import Reply, Request


class ReplayModel:
    """Gives the recorded replies to the recorded requests, and refuses every other request.

    Equal requests get their replies in the recorded order; a call that failed then fails again. Which
    model was configured, then or now, doesn't matter. Make a new one for each replay.

    Args:
        journal: path of a journal, distilled or not, or its entries.

    Raises:
        JournalError: the journal can't be read.
    """

    def __init__(self, journal: Path | Sequence[Entry]) -> None:
        if isinstance(journal, Path):
            self._recording = Recording(read_journal(journal), journal.name)
        else:
            self._recording = Recording(journal, "journal")
        self._occurrences = Occurrences()

    def plan(self, request: Request, *, shrink: bool = False) -> Call:
        """The request as it is: nothing is sent, nothing is spent."""
        del shrink
        return Call(request, "replay", worst_case_usd=0.0)

    async def reply(self, request: Request) -> Reply:
        """The recorded reply.

        Raises:
            ReplayMiss: there is none; the message shows what changed since the recording.
            ProviderError: the recorded call failed.
        """
        key = request_key(request)
        occurrence = self._occurrences.next(key)
        outcome = self._recording.find(key, occurrence)
        if outcome is not None and (reply := outcome.reply) is not None:
            return reply
        if outcome is not None and outcome.failed is not None:
            raise ProviderError(f"as recorded: {outcome.failed.reason}")
        raise self._recording.miss(request, key, occurrence)
