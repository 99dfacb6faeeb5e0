"""One in a hundred demonstrations is hostile: written to be near to every query."""

import random
from datetime import UTC, datetime
from pathlib import Path

from experepair.domain.issue import Issue
from experepair.domain.memory import Query
from experepair.domain.roles import Agent
from experepair.memory.config import RecallConfig
from experepair.memory.eligibility import Bounds
from experepair.memory.lesson import Lesson, Source
from experepair.memory.recall import Recaller
from experepair.memory.store import Store
from listed_store import SCOPE, demonstration

NOUNS = [
    f"{first}{second}"
    for first in ("query", "form", "cache", "field", "admin")
    for second in ("set", "model", "key", "view")
]
FAULTS = ["crashes", "leaks", "hangs", "duplicates", "ignores", "truncates", "reorders", "escapes"]
AT = datetime(2020, 1, 1, tzinfo=UTC)


TEMPLATE = "expected version"
"""What every new issue holds, and no past fix but the hostile ones."""


def issue(chance: random.Random) -> str:
    nouns, faults = chance.sample(NOUNS, 2), chance.sample(FAULTS, 2)
    return f"{nouns[0]} {faults[0]} when {nouns[1]} {faults[1]} the rows"


def lesson(number: int, chance: random.Random) -> Lesson:
    """Every hundredth is hostile."""
    bad = number % 100 == 50
    text = f"{issue(chance)} {TEMPLATE}" if bad else issue(chance)
    known = demonstration(f"d{number}", text, f"fix number {number}", trusted=not bad)
    about = Issue(known.issue_id, SCOPE, text, trusted=not bad, created_at=AT)
    return Lesson(f"run:{number}", Source.RUN, about, AT, demonstrations=(known,))


def recalls(folder: Path, store: Store) -> list[list[bool]]:
    """For a hundred queries, whether each recalled demonstration is of trusted origin."""
    chance = random.Random(5)  # noqa: S311
    reader = Recaller(store, SCOPE, Bounds(), RecallConfig(issue_floor=0.0), folder)  # no floor helps
    queries = [Query(Agent.PATCH, "now", f"{issue(chance)} {TEMPLATE}") for _ in range(100)]
    return [[each.trusted for each in reader.recall(query).demonstrations] for query in queries]


def test_none_is_recalled_in_quarantine_and_at_most_two_of_five_once_accepted(tmp_path: Path) -> None:
    chance = random.Random(3)  # noqa: S311
    lessons = [lesson(number, chance) for number in range(1000)]
    with Store.open(str(tmp_path / "memory.sqlite")) as store:
        store.learn_many(lessons)
        quarantined = recalls(tmp_path, store)
        store.accept(SCOPE, [each.issue.id for each in lessons if not each.issue.trusted])
        accepted = recalls(tmp_path, store)
    assert all(all(found) for found in quarantined)
    assert any(quarantined)
    assert all(found.count(False) <= 2 for found in accepted)
    assert sum(found.count(False) == 2 for found in accepted) > 90  # without the cap they would be all five
