from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

import toy
import toy_bench
from experepair.bench.campaign.arms import Arm
from experepair.bench.campaign.run import Asked, run
from experepair.bench.campaign.state import Folder, Order, Phase, State, read_outcome
from experepair.bench.campaign.work import Work
from experepair.bench.predictions import read_predictions
from experepair.errors import OutputError, ProviderError, UsageError
from experepair.journal.entries import Intent, Learned, Recalled, Replied, RunStarted
from experepair.journal.reading import read_journal
from experepair.llm.model import Model, ScriptedModel
from experepair.llm.request import Request
from experepair.memory.store import Store
from experepair.steps.report import write_all

SCOPE = "github.com/toys/toy"


@pytest.fixture
def asked(tmp_path: Path) -> Asked:
    """Three issues of one repository, in time order."""
    mirror = toy_bench.mirror(tmp_path / "mirrors")
    base = toy.git(mirror, "rev-parse", "HEAD").strip()
    rows = [
        toy_bench.row(
            base,
            instance_id=f"toys__toy-{number}",
            created_at=f"2024-05-0{number}T00:00:00Z",
            problem_statement=f"{toy.ISSUE}\nSeen {WORDS[number]}.\n",
        )
        for number in (3, 1, 2)
    ]
    dataset = toy_bench.write_rows(tmp_path / "rows.jsonl", *rows)
    settings = {"python": sys.executable, "repair": {"existing_tests": 0}}
    return Asked(str(dataset), tmp_path / "campaign", mirrors=tmp_path / "mirrors", settings=settings)


WORDS = {
    1: "while averaging the marks of a school class that nobody attends since the holidays began there",
    2: "by a colleague whose sensors sent not one measurement through all of last Tuesday's long outage",
    3: "in the nightly report about orders, on the rare days when the shop sells nothing to anyone at all",
}
"""So different that no issue is a near-duplicate of another."""


def scripted(work: Work) -> Model:
    del work
    return toy.model()


def runs(campaign: Path, line: str, phase: str = "inference") -> list[Path]:
    return sorted((campaign / phase / line / "runs").iterdir())


def test_issues_are_repaired_in_time_order_each_with_what_the_earlier_ones_taught(asked: Asked) -> None:
    progress = run(asked, replay=scripted)
    assert (progress.left, progress.failed, progress.stopped) == (0, [], "")
    folders = runs(asked.out, "full")
    assert [path.name for path in folders] == ["toys__toy-1", "toys__toy-2", "toys__toy-3"]
    entries = [read_journal(path / "journal.jsonl") for path in folders]
    assert [journal[-1].at for journal in entries] == sorted(journal[-1].at for journal in entries)
    issues = [
        {one["issue_id"] for entry in journal if isinstance(entry, Recalled) and entry.given
         for one in entry.given["demonstrations"]}
        for journal in entries
    ]  # fmt: skip
    assert issues[0] == set()
    assert issues[1] == {"toys__toy-1"}
    assert issues[2] != set()
    assert issues[2] <= {"toys__toy-1", "toys__toy-2"}  # no fix twice
    with Store.open(str(asked.out / "inference/full/memory.db")) as store:
        assert sum(store.stats(SCOPE).lessons.values()) == 3


def test_no_entry_crosses_between_arms_and_repeats_that_begin_with_one_recorded_state(
    asked: Asked, tmp_path: Path
) -> None:
    run(replace(asked, out=tmp_path / "before"), replay=scripted)
    start = tmp_path / "before/inference/full/memory.db"
    later = replace(
        asked, out=tmp_path / "after", start=str(start), arms=(Arm.FULL, Arm.NO_MEMORY, Arm.NO_INSIGHTS), repeats=2
    )  # fmt: skip
    progress = run(later, replay=scripted)
    assert progress.left == 0
    with Store.open(str(start)) as store:
        began = {str(one["body"].get("key", "")) for one in store.export() if one.get("kind") == "learned"}
    learned, identities = {}, set()
    for name in ("full", "no-insights", "full~2", "no-insights~2"):
        with Store.open(str(later.out / f"inference/{name}/memory.db")) as store:
            keys = {str(one["body"].get("key", "")) for one in store.export() if one.get("kind") == "learned"}
            identities.add(store.identity)
        own = {
            f"run:{entry.run_id}"
            for path in runs(later.out, name)
            for entry in read_journal(path / "journal.jsonl")
            if isinstance(entry, RunStarted)
        }
        assert began <= keys
        assert keys - began == own
        learned[name] = own
    assert len(identities) == 4, "what is derived from one memory could be taken for another's"
    assert len(set().union(*learned.values())) == sum(map(len, learned.values()))
    for name in ("no-memory", "no-memory~2"):
        assert not (later.out / f"inference/{name}/memory.db").exists()
        for path in runs(later.out, name):
            assert not [one for one in read_journal(path / "journal.jsonl") if isinstance(one, Learned)]


def test_seeds_are_repaired_without_recall_and_stand_apart(asked: Asked) -> None:
    progress = run(replace(asked, seeds="1", order=Order.FROZEN), replay=scripted)
    assert progress.left == 0
    [seed] = runs(asked.out, "seeds", "initial")
    assert seed.name == "toys__toy-1"
    assert not [
        one for one in read_journal(seed / "journal.jsonl") if isinstance(one, Recalled) and one.taken
    ]
    rest = runs(asked.out, "full")
    assert [path.name for path in rest] == ["toys__toy-2", "toys__toy-3"]
    for path in rest:
        entries = read_journal(path / "journal.jsonl")
        given = [one.given for one in entries if isinstance(one, Recalled) and one.given]
        assert {each["issue_id"] for one in given for each in one["demonstrations"]} == {"toys__toy-1"}
        assert not [one for one in entries if isinstance(one, Learned)]
    predictions = read_predictions(asked.out / "inference/full/submission/all_preds.jsonl")
    assert sorted(predictions) == ["toys__toy-2", "toys__toy-3"]
    assert all("if values else" in (one.model_patch or "") or "if not values" in (one.model_patch or "")
               for one in predictions.values())  # fmt: skip


def test_a_failure_is_kept_with_its_reason_stops_no_other_and_is_tried_again_on_request(asked: Asked) -> None:
    broken = True

    def failing(work: Work) -> Model:
        def answer(request: Request) -> str:
            if broken and work.instance.id == "toys__toy-2":
                raise ProviderError("the quota of the day is used up")
            return good(request)

        good = as_script(toy.model())
        return ScriptedModel(answer)

    progress = run(asked, replay=failing)
    assert [(work.instance.id, outcome.state) for work, outcome in progress.failed] == [
        ("toys__toy-2", State.FAILED)
    ]
    assert "quota of the day" in progress.failed[0][1].why
    again = run(replace(asked, resume=True), replay=failing)
    assert [work.instance.id for work, _ in again.failed] == ["toys__toy-2"], (
        "it is never passed over in silence"
    )
    broken = False
    last = run(replace(asked, resume=True, retry_failed=True), replay=failing)
    assert not last.failed
    outcome = read_outcome(Folder(asked.out).run(Phase.INFERENCE, "full", "toys__toy-2"))
    assert outcome is not None
    assert (outcome.state, outcome.status, len(outcome.failures)) == (State.DONE, "repaired", 1)


def test_one_cap_holds_for_all_repairs_together_and_a_higher_one_goes_on(asked: Asked) -> None:
    whole = run(replace(asked, out=asked.out.with_name("whole")), replay=scripted).ledger.spent_tokens
    cap = whole // 2
    progress = run(replace(asked, total_tokens=cap, at_once=3), replay=scripted)
    assert progress.stopped
    assert progress.ledger.spent_tokens <= cap
    assert progress.left > 0
    again = run(replace(asked, resume=True), replay=scripted)
    assert (again.left, again.stopped) == (0, "")
    assert twice_paid(asked.out) == []


def test_a_campaign_goes_on_only_with_what_it_began_with(asked: Asked) -> None:
    run(asked, replay=scripted)
    with pytest.raises(UsageError, match="holds a campaign"):
        run(asked, replay=scripted)
    with pytest.raises(UsageError, match="other arms"):
        run(replace(asked, resume=True, arms=(Arm.NO_MEMORY,)), replay=scripted)
    with pytest.raises(UsageError, match="no campaign"):
        run(replace(asked, resume=True, out=asked.out / "elsewhere"), replay=scripted)
    again = run(replace(asked, resume=True), replay=refusing)
    assert (again.left, again.before) == (0, 3), "what is done is not done again"


def refusing(work: Work) -> Model:
    raise AssertionError(f"{work.instance.id} is repaired again")


def as_script(model: ScriptedModel) -> Callable[[Request], str]:
    script = model._script
    assert callable(script)
    return script


def twice_paid(campaign: Path) -> list[tuple[str, int, int]]:
    found = []
    for path in campaign.glob("*/*/runs/*/journal.jsonl"):
        entries = read_journal(path)
        intents = {entry.call: entry for entry in entries if isinstance(entry, Intent)}
        paid = [intents[entry.call] for entry in entries if isinstance(entry, Replied)]
        places = [(one.key, one.sample, one.occurrence) for one in paid]
        found += [place for place in set(places) if places.count(place) > 1]
    return found


def test_an_error_that_ends_a_campaign_is_told_in_one_line_and_it_goes_on_with_another_address(
    asked: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(folder: Path, files: Files) -> None:
        raise OutputError(f"can't write the results into {str(folder)!r}: no space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("experepair.bench.campaign.state.write_all", raising_after_the_first(full))
        with pytest.raises(OutputError, match="no space left"):
            run(replace(asked, order=Order.FROZEN, at_once=3), replay=scripted)
    moved = replace(
        asked, order=Order.FROZEN, resume=True, settings={**asked.settings, "base_url": "http://127.0.0.1:1/v1"}
    )  # fmt: skip
    assert run(moved, replay=scripted).left == 0
    assert twice_paid(asked.out) == []


Files = dict[str, str | None]


def raising_after_the_first(failing: Callable[[Path, Files], None]) -> Callable[[Path, Files], None]:
    """Lets the settings of the campaign be written, and nothing after."""
    calls = 0

    def write(folder: Path, files: Files) -> None:
        nonlocal calls
        calls += 1
        if calls > 1:
            failing(folder, files)
        write_all(folder, files)

    return write
