"""All that a campaign's folder says, read once: nothing that a report shows is kept anywhere else."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import ValidationError

from experepair.bench.campaign.arms import Variant
from experepair.bench.campaign.plan import line_of
from experepair.bench.campaign.state import RUNS, Campaign, Folder, Phase, State, read_outcome
from experepair.bench.campaign.submission import read_result
from experepair.bench.evaluation.local import digest_of
from experepair.bench.evaluation.many import JUDGED
from experepair.bench.evaluation.report import RESULTS, read_results
from experepair.bench.evaluation.verdict import Judged, Verdict
from experepair.bench.instance import Answer
from experepair.bench.metrics.measures import Measures, measure
from experepair.bench.metrics.scripts import read_shown
from experepair.errors import UsageError
from experepair.journal.reading import read_journal
from experepair.memory.learn.diffs import split
from experepair.session.out import JOURNAL

EVALUATION = "eval"
"""Folder beside a variant's runs in which `bench eval` leaves its judgements."""


@dataclass(frozen=True)
class Measured:
    """The repairs of one variant, or of the initial phase with one model.

    Attributes:
        name: of it.
        variant: None in the initial phase.
        repairs: those that are done, in time order.
        failed: ids of those that failed, with the reason; they are in no mean.
        missing: ids of those that are not over.
    """

    name: str
    variant: Variant | None
    repairs: tuple[Measures, ...]
    failed: Mapping[str, str] = field(default_factory=dict)
    missing: tuple[str, ...] = ()


@dataclass(frozen=True)
class Collected:
    """A campaign in numbers.

    Attributes:
        campaign: its settings.
        variants: of the inference phase.
        seeds: of the initial phase, apart.
    """

    campaign: Campaign
    variants: tuple[Measured, ...]
    seeds: tuple[Measured, ...]


def collect(root: Path, answers: Mapping[str, Answer]) -> Collected:
    """Read a campaign.

    Args:
        root: its folder.
        answers: by instance, for what is measured against the maintainers' fix; may be empty.

    Raises:
        UsageError: there is no campaign, or nothing in it.
        JournalError: a journal is damaged.
    """
    folder = Folder(root)
    campaign = folder.campaign()
    gold = {name: tuple(sorted({file.path for file in split(one.patch)})) for name, one in answers.items()}
    variants = tuple(
        _measured(
            variant.name,
            variant,
            campaign.instances,
            folder.line(Phase.INFERENCE, variant.name),
            gold,
        )
        for variant in campaign.variants
    )
    seeds = tuple(
        _measured(
            line_of(model),
            None,
            campaign.seeds,
            folder.line(Phase.INITIAL, line_of(model)),
            gold,
        )
        for model in campaign.models or ("",)
        if campaign.seeds
    )
    if not any(one.repairs or one.failed for one in (*variants, *seeds)):
        raise UsageError(f"no repair of the campaign {str(root)!r} is over yet")
    return Collected(campaign, variants, seeds)


Verdicts = Callable[[str, str], bool | None]
"""Whether an instance is resolved by a patch, "" for none; None when nobody has judged that patch."""


def _measured(
    name: str,
    variant: Variant | None,
    instances: tuple[str, ...],
    home: Path,
    gold: Mapping[str, tuple[str, ...]],
) -> Measured:
    repairs, failed, missing = [], {}, []
    verdict = verdicts(home / EVALUATION)
    for instance in instances:
        run = home / RUNS / instance
        outcome = read_outcome(run)
        if outcome is None:
            missing.append(instance)
        elif outcome.state is not State.DONE or (result := read_result(run)) is None:
            failed[instance] = outcome.why or "its result can't be read"
        else:
            repairs.append(
                measure(
                    instance,
                    read_journal(run / JOURNAL),
                    result,
                    read_shown(run),
                    resolved=verdict(instance, result.patch.diff if result.patch else ""),
                    gold_files=gold.get(instance, ()),
                )
            )
    return Measured(name, variant, tuple(repairs), failed, tuple(missing))


def verdicts(evaluation: Path) -> Verdicts:
    """What `bench eval` left in a folder: judgements of single patches, else the list of the resolved."""
    known = (evaluation / RESULTS).is_file() or (evaluation / JUDGED).is_dir()
    listed = read_results(evaluation / RESULTS) if (evaluation / RESULTS).is_file() else None

    def verdict(instance: str, patch: str) -> bool | None:
        if not known:
            return None
        if not patch.strip():
            return False
        try:
            judged = Judged.model_validate_json((evaluation / JUDGED / f"{instance}.json").read_bytes())
        except (OSError, ValidationError):
            return instance in listed if listed is not None else None
        if judged.patch_digest != digest_of(patch):
            return None
        return judged.verdict is Verdict.RESOLVED

    return verdict
