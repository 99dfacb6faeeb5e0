"""The calls of a journal, found again by what was asked."""

from __future__ import annotations

import difflib
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import sha256

from experepair.domain.roles import Role
from experepair.errors import ReplayMiss
from experepair.journal.entries import CallFailed, Entry, Intent, Replied, SentPart
from experepair.llm.request import Part, Reply, Request, Usage

ANGLE = "angle"
"""Name of the part that tells samples apart; no key depends on it, so any model can replay."""
_DIFF_LINES = 80
"""How much of a difference a ReplayMiss shows."""


def request_key(request: Request) -> str:
    """Digest of a request: equal for equal role, system, parts and sample, whatever the model."""
    user = "\n\n".join(part.text for part in _keyed(request))
    return _digest(json.dumps([request.role, request.prompt.system, user, request.sample]))


def sent_part(part: Part) -> SentPart:
    """A part as the journal keeps it."""
    return SentPart(name=part.name, text=part.text, sha256=_digest(part.text))


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a recorded call ended; all None when it was never answered."""

    intent: Intent
    replied: Replied | None = None
    failed: CallFailed | None = None

    @property
    def reply(self) -> Reply | None:
        """The reply, marked as replayed."""
        answer = self.replied
        if answer is None:
            return None
        return Reply(
            answer.text,
            usage=Usage(**answer.usage.model_dump()) if answer.usage else None,
            model=answer.model,
            cost_usd=answer.cost_usd,
            latency_s=answer.latency_s,
            replayed=True,
            finish=answer.finish,
            prices=answer.prices,
            raw_usage=answer.raw_usage,
        )


_AFTER: Mapping[str, frozenset[str]] = {
    Role.PATCH: frozenset({Role.REFINE, Role.VALIDATE, Role.REVIEW}),
    Role.REFINE: frozenset({Role.REVIEW}),
    Role.VALIDATE: frozenset({Role.REVIEW}),
}
"""Roles that are asked only when all samples of an earlier one are there, or are known to be missing."""


class Recording:
    """Index over the model calls of a journal.

    Args:
        entries: of the journal.
        name: of the journal, for messages.
    """

    def __init__(self, entries: Iterable[Entry], name: str) -> None:
        self.name = name
        self._by_key: dict[tuple[str, int], Outcome] = {}
        self._intents: list[Intent] = []
        self._calls: Counter[str] = Counter()
        self._asked_when_failed: dict[str, int] = {}
        asked: dict[str, Intent] = {}
        for entry in entries:
            if isinstance(entry, Intent):
                asked[entry.call] = entry
                self._intents.append(entry)
                self._calls[entry.key] += 1
                self._keep(Outcome(entry))
            elif isinstance(entry, Replied) and entry.call in asked:
                self._keep(Outcome(asked[entry.call], replied=entry))
            elif isinstance(entry, CallFailed) and entry.call in asked:
                self._asked_when_failed[entry.call] = len(self._intents)
                self._keep(Outcome(asked[entry.call], failed=entry))

    def went_on_without(self, outcome: Outcome) -> bool:
        """Whether the run went on after this failure: calls that came later rest on the answer being missing."""
        intent = outcome.intent
        if outcome.failed is None:
            return False
        later = self._intents[self._asked_when_failed[intent.call] :]
        return any(
            one.role in _AFTER.get(intent.role, frozenset())
            or (
                intent.role in _AFTER
                and (one.role, one.sample) == (intent.role, intent.sample)
                and one.key != intent.key
            )
            for one in later
        )

    def calls(self, key: str) -> int:
        """How many calls were made for a key, failed and unanswered ones included."""
        return self._calls[key]

    def find(self, key: str, occurrence: int) -> Outcome | None:
        """The newest outcome of the n-th request with this key; an answer is never given up for a failure."""
        return self._by_key.get((key, occurrence))

    def miss(self, request: Request, key: str, occurrence: int) -> ReplayMiss:
        """Why there is no reply: what differs from the nearest recorded request."""
        what = f"{request.role} (sample {request.sample})"
        recorded = sum((key, number) in self._by_key for number in range(occurrence + 1))
        if recorded:
            return ReplayMiss(what, self.name, f"it was recorded {recorded} times and asked once more")
        same = [one for one in self._intents if (one.role, one.sample) == (request.role, request.sample)]
        if not same:
            roles = ", ".join(sorted({intent.role for intent in self._intents})) or "none"
            return ReplayMiss(what, self.name, f"no request of this role and sample; recorded roles: {roles}")
        return ReplayMiss(what, self.name, _difference(request, same))

    def _keep(self, outcome: Outcome) -> None:
        place = (outcome.intent.key, outcome.intent.occurrence)
        before = self._by_key.get(place)
        if before is None or before.replied is None:
            self._by_key[place] = outcome


class Occurrences:
    """Numbers equal requests from 0, in the order in which they are made."""

    def __init__(self) -> None:
        self._seen: defaultdict[str, int] = defaultdict(int)

    def next(self, key: str) -> int:
        """How many equal requests came before this one."""
        occurrence = self._seen[key]
        self._seen[key] += 1
        return occurrence


def _keyed(request: Request) -> list[Part]:
    return [part for part in request.prompt.parts if part.text and part.name != ANGLE]


def _digest(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _difference(request: Request, recorded: list[Intent]) -> str:
    asked = [sent_part(part) for part in (Part("system", request.prompt.system), *_keyed(request))]
    nearest = max(recorded, key=lambda intent: _likeness(asked, _parts(intent)))
    kept = _parts(nearest)
    if any(part.text is None for part in kept):
        return _differing_parts(asked, kept)
    lines = difflib.unified_diff(
        _text(kept), _text(asked), f"recorded {nearest.call}", "asked now", n=2, lineterm=""
    )
    shown = list(lines)
    more = len(shown) - _DIFF_LINES
    return "\n".join(shown[:_DIFF_LINES] + ([f"… and {more} more lines"] if more > 0 else []))


def _parts(intent: Intent) -> list[SentPart]:
    system = intent.system.model_copy(update={"name": "system"})
    return [system, *(part for part in intent.parts if part.name != ANGLE and part.text != "")]


def _likeness(asked: list[SentPart], kept: list[SentPart]) -> tuple[int, float]:
    same = len({part.sha256 for part in asked} & {part.sha256 for part in kept})
    if any(part.text is None for part in kept):
        return same, 0.0
    return same, difflib.SequenceMatcher(None, _text(kept), _text(asked), autojunk=False).quick_ratio()


def _differing_parts(asked: list[SentPart], kept: list[SentPart]) -> str:
    digests = {part.sha256 for part in kept}
    changed = [part.name for part in asked if part.sha256 not in digests]
    now = {part.sha256 for part in asked}
    missing = [part.name for part in kept if part.sha256 not in now and part.name not in changed]
    told = [f"changed: {', '.join(changed)}"] if changed else []
    told += [f"missing: {', '.join(missing)}"] if missing else []
    return "parts that differ from the nearest recorded request: " + ("; ".join(told) or "their order")


def _text(parts: list[SentPart]) -> list[str]:
    return [line for part in parts for line in (f"[{part.name}]", *(part.text or "").split("\n"))]
