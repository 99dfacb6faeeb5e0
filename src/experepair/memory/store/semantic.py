"""The rules of the insights (paper, 3.3.1): who enters, who changes, who leaves. Pure.

What is present is a function of the lessons that count, in the order in which they were applied: learning applies the
newest one to what is there, and reverting a lesson applies all others again, so that nothing of it is left.

An operation names the text that its summarizer saw. When another lesson changed that text in between, an EDIT enters
as an insight of its own beside it, a REMOVE is dropped; when the insight is gone, an EDIT enters as a new one, unless a
user made memory forget it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from hashlib import sha256

from experepair.domain.memory import OperationKind
from experepair.domain.roles import Agent


@dataclass(frozen=True, slots=True)
class Slot:
    """A present insight.

    Attributes:
        id: names it.
        agent: whose it is.
        added: event of the operation that added it; the order of all numbers.
        revision: event of the operation that wrote the text.
        writer: the same by its name in all stores.
        used: event that last added, edited or applied it.
        text: the lesson; "" once it is erased.
    """

    id: str
    agent: Agent
    added: int
    revision: int
    writer: str
    used: int
    text: str


@dataclass(frozen=True, slots=True)
class Wish:
    """An operation as it was asked for.

    Attributes:
        event: that holds it.
        uid: of that event.
        agent: whose insights it is about.
        kind: what is asked for.
        text: the new lesson; "" for a REMOVE, and once it is erased.
        target: the insight that is edited or removed; None for an ADD.
        seen: uid of the event that wrote the text that the summarizer saw; "" when that is unknown.
        cap: most insights of an agent when it was asked for.
        refused: why it can't be applied whatever is present; "" when it can.
    """

    event: int
    uid: str
    agent: Agent
    kind: OperationKind
    text: str
    target: str | None
    seen: str
    cap: int
    refused: str = ""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of the wishes of one lesson, in words with ids.

    Attributes:
        answers: to each wish in order, and whether it was applied.
        evicted: who left because there were too many.
    """

    answers: tuple[tuple[str, bool], ...] = ()
    evicted: tuple[str, ...] = ()

    @property
    def applied(self) -> tuple[str, ...]:
        """All that changed."""
        return (*(words for words, done in self.answers if done), *self.evicted)

    @property
    def dropped(self) -> tuple[str, ...]:
        """What could not be applied, each with the reason."""
        return tuple(words for words, done in self.answers if not done)


class Insights:
    """All present insights of a repository, while lessons are applied to them."""

    def __init__(self, slots: Iterable[Slot] = (), forgotten: Iterable[str] = ()) -> None:
        self._slots = {slot.id: slot for slot in slots}
        self._forgotten = set(forgotten)

    def present(self) -> tuple[Slot, ...]:
        """In the order of their numbers; without those whose text is erased."""
        return tuple(sorted((s for s in self._slots.values() if s.text), key=lambda slot: slot.added))

    def forget(self, id: str) -> None:
        """A user wants it gone, and no EDIT of it to bring it back."""
        self._slots.pop(id, None)
        self._forgotten.add(id)

    def apply(self, at: int, named: Iterable[str], wishes: Iterable[Wish]) -> Outcome:
        """Apply a lesson: what it used, then what it asks for, then the cap.

        Args:
            at: event that applies it.
            named: insights that the agents said they applied.
            wishes: in the order in which they were asked for.
        """
        for id in named:
            if slot := self._slots.get(id):
                self._slots[id] = replace(slot, used=at)
        touched: set[str] = set()
        answers: list[tuple[str, bool]] = []
        caps: dict[Agent, int] = {}
        for wish in wishes:
            caps[wish.agent] = wish.cap
            answers.append(self._one(at, wish, touched))
        evicted = [words for agent, cap in caps.items() for words in self._evict(agent, cap)]
        return Outcome(tuple(answers), tuple(evicted))

    def _one(self, at: int, wish: Wish, touched: set[str]) -> tuple[str, bool]:
        if wish.refused:
            return wish.refused, False
        name = f"{wish.kind} {wish.target}" if wish.target else str(wish.kind)
        if wish.target is None:
            return self._add(at, wish, name)
        if wish.target in touched:
            return f"{name}: there was an operation on it already", False
        touched.add(wish.target)
        slot = self._slots.get(wish.target)
        if slot is not None and slot.agent is not wish.agent:
            return f"{name}: it belongs to the {slot.agent} agent", False
        if wish.target in self._forgotten:
            return f"{name}: a user had it forgotten", False
        if wish.kind is OperationKind.REMOVE:
            return self._remove(slot, wish, name)
        if slot is None:
            return self._add(at, wish, f"{name}: it had left; added")
        if slot.writer != wish.seen:
            return self._add(at, wish, f"{name}: it had changed since it was read; added beside it")
        if twin := self._twin(wish, beside=slot.id):
            return f"{name}: the text is there already, as {twin}", False
        self._slots[slot.id] = replace(slot, text=wish.text, revision=wish.event, writer=wish.uid, used=at)
        return name, True

    def _remove(self, slot: Slot | None, wish: Wish, name: str) -> tuple[str, bool]:
        if slot is None:
            return f"{name}: it had left already", False
        if slot.writer != wish.seen:
            return f"{name}: it had changed since it was read, and stays", False
        del self._slots[slot.id]
        return name, True

    def _add(self, at: int, wish: Wish, name: str) -> tuple[str, bool]:
        if twin := self._twin(wish):
            return f"{name}: the text is there already, as {twin}", False
        id = insight_id(wish.uid)
        self._slots[id] = Slot(id, wish.agent, wish.event, wish.event, wish.uid, at, wish.text)
        return f"{name} as {id}", True

    def _twin(self, wish: Wish, beside: str = "") -> str | None:
        wanted = _plain(wish.text)
        same = (
            s.id
            for s in self._slots.values()
            if s.agent is wish.agent and s.id != beside and s.text and _plain(s.text) == wanted
        )
        return next(same, None)

    def _evict(self, agent: Agent, cap: int) -> list[str]:
        mine = sorted(
            (s for s in self._slots.values() if s.agent is agent), key=lambda slot: (slot.used, slot.added)
        )
        leaving = mine[: max(len(mine) - cap, 0)]
        for slot in leaving:
            del self._slots[slot.id]
        return [f"{slot.id} left: the least recently used of more than {cap}" for slot in leaving]


def insight_id(uid: str) -> str:
    """The id of an insight that an operation adds; the same in every store that holds the operation."""
    return f"i{sha256(uid.encode()).hexdigest()[:12]}"


def _plain(text: str) -> str:
    return " ".join(text.casefold().split()).rstrip(".!")
