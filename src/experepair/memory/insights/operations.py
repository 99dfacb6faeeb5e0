"""Operations on insights, read out of a summarizer's reply one by one (paper, Figure 8)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from experepair.domain.memory import Insight, Operation, OperationKind
from experepair.domain.roles import Agent
from experepair.domain.text import visible

_FENCED = re.compile(r"```(?:json|jsonl|jsonlines)[ \t]*\n(.*?)(?:```|\Z)", re.DOTALL | re.IGNORECASE)
_AGENTS = {
    "test": Agent.TEST, "tester": Agent.TEST, "tester_exps": Agent.TEST,
    "patch": Agent.PATCH, "coder": Agent.PATCH, "coder_exps": Agent.PATCH,
}  # fmt: skip
"""How a reply may call them: as this prompt does, or as the paper's."""
_LONGEST_REPLY = 60_000
_MOST_OBJECTS = 100
"""Objects of a reply that are looked at; a summary holds eight."""
_SHOWN = 120
"""Characters of a dropped operation that its reason repeats."""


@dataclass(frozen=True, slots=True)
class Read:
    """What a reply says.

    Attributes:
        operations: that can be applied, by agent, in order.
        dropped: the others, each in a line with the reason.
    """

    operations: Mapping[Agent, tuple[Operation, ...]] = field(default_factory=dict)
    dropped: tuple[str, ...] = ()


def read_operations(
    reply: str, present: Mapping[Agent, Sequence[Insight]], *, most: int, longest: int
) -> Read:
    """The operations of a reply; what is malformed is dropped by itself, the rest stays.

    Args:
        reply: of the summarizer; hostile.
        present: the insights that it saw, by agent.
        most: operations an agent; those after them are dropped.
        longest: characters of an insight.
    """
    reader = _Reader(present, most, longest)
    blocks = _FENCED.findall(reply[:_LONGEST_REPLY])
    for found in _objects(blocks[-1] if blocks else reply[:_LONGEST_REPLY]):
        if isinstance(found, dict) and "operation" not in found and _groups(found):
            for name, group in found.items():
                for each in group if isinstance(group, list) else ():
                    reader.take(each, _AGENTS.get(name.lower()))
        else:
            reader.take(found)
    return Read(
        {agent: tuple(taken) for agent, taken in reader.taken.items() if taken}, tuple(reader.dropped)
    )


class _Unusable(ValueError):
    """An operation can't be applied; says why."""


class _Reader:
    """Sorts what a reply holds into operations and reasons."""

    def __init__(self, present: Mapping[Agent, Sequence[Insight]], most: int, longest: int) -> None:
        self._present = {agent: {one.number: one for one in present.get(agent, ())} for agent in Agent}
        self._most, self._longest = most, longest
        self.taken: dict[Agent, list[Operation]] = {agent: [] for agent in Agent}
        self.dropped: list[str] = []

    def take(self, found: Any, agent: Agent | None = None) -> None:
        """An operation, or the reason why it is none."""
        try:
            owner, operation = self._operation(found, agent)
        except _Unusable as reason:
            text = found.text if isinstance(found, _Broken) else _as_text(found)
            flat = visible(" ".join(text.split()))
            self.dropped.append(f"{reason}: {flat[:_SHOWN]}{'…' if len(flat) > _SHOWN else ''}")
        else:
            self.taken[owner].append(operation)

    def _operation(self, found: Any, agent: Agent | None) -> tuple[Agent, Operation]:
        if not isinstance(found, dict):
            raise _Unusable("it is no JSON object")
        owner = _AGENTS.get(str(found.get("agent", "")).lower(), agent)
        if owner is None:
            raise _Unusable('it names no agent, "test" or "patch"')
        try:
            kind = OperationKind(str(found.get("operation")).upper())
        except ValueError:
            raise _Unusable("its operation is none of ADD, EDIT, REMOVE") from None
        if len(self.taken[owner]) >= self._most:
            raise _Unusable(f"the {owner} agent has {self._most} operations already")
        insight = None if kind is OperationKind.ADD else self._named(found.get("number"), owner)
        text = "" if kind is OperationKind.REMOVE else self._text(found, owner, insight)
        return owner, Operation(kind, text, insight)

    def _named(self, number: object, owner: Agent) -> Insight:
        insight = self._present[owner].get(_number(number))
        if insight is None:
            raise _Unusable(f"the {owner} agent has no insight {str(number)[:20]!r}")
        if any(each.insight == insight for each in self.taken[owner]):
            raise _Unusable(f"there is an operation on insight {insight.number} already")
        return insight

    def _text(self, found: Mapping[str, Any], owner: Agent, insight: Insight | None) -> str:
        given = found.get("insight", found.get("experience"))
        text = visible(" ".join(given.split())) if isinstance(given, str) else ""
        if not text:
            raise _Unusable("it has no text")
        if len(text) > self._longest:
            raise _Unusable(f"its text has {len(text)} characters, more than {self._longest}")
        if insight is not None and insight.text == text:
            raise _Unusable("it changes nothing")
        said = [
            *(one.text for one in self._present[owner].values()),
            *(one.text for one in self.taken[owner]),
        ]
        if text in said:
            raise _Unusable("another one says the same already")
        return text


@dataclass(frozen=True, slots=True)
class _Broken:
    """What begins like an operation and is no JSON."""

    text: str


def _objects(text: str) -> Iterator[dict[str, Any] | _Broken]:
    """The JSON objects in a text, whatever stands between them; a broken one doesn't hide those after or in it."""
    decoder, place = json.JSONDecoder(), 0
    for _ in range(_MOST_OBJECTS):
        place = text.find("{", place)
        if place < 0:
            return
        try:
            found, place = decoder.raw_decode(text, place)
        except (ValueError, RecursionError):
            line = text.find("\n", place) % (len(text) + 1)
            inner = text.find("{", place + 1, line)
            end = inner if inner >= 0 else line
            if '"operation"' in (broken := text[place:end]):
                yield _Broken(broken)
            place = end
        else:
            yield found


def _as_text(found: object) -> str:
    try:
        return json.dumps(found, ensure_ascii=False)
    except RecursionError:
        return "deeply nested"


def _groups(found: Mapping[str, Any]) -> bool:
    return any(isinstance(value, list) for value in found.values())


def _number(given: object) -> int:
    """The number, 0 (which no insight has) when it is none."""
    if isinstance(given, int):
        return given
    text = given.strip() if isinstance(given, str) else ""
    return int(text) if re.fullmatch(r"[0-9]{1,4}", text) else 0
