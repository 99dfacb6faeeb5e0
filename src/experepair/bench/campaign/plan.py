"""Which repairs there are, and which have to wait for which."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from experepair.bench.campaign.arms import Variant, slug
from experepair.bench.campaign.state import Campaign, Folder, Order, Phase
from experepair.bench.campaign.work import Work
from experepair.bench.dataset import in_time_order
from experepair.bench.instance import Instance
from experepair.errors import UsageError

Chain = tuple[Work, ...]
"""Repairs that go one after another; chains are independent of each other."""


def choose_seeds(
    given: str, instances: Sequence[Instance]
) -> tuple[tuple[Instance, ...], tuple[Instance, ...]]:
    """Part the seed issues from the rest, both in time order.

    Args:
        given: a number (the first so many of each repository), a file of ids, or ids separated by commas; "" means none.
        instances: of the dataset.

    Raises:
        UsageError: an id isn't there.
    """
    ordered = in_time_order(instances)
    if not given:
        return (), ordered
    wanted: set[str] = set()
    if given.isdecimal():
        for chain in by_repository(ordered).values():
            wanted |= {one.id for one in chain[: int(given)]}
    else:
        path = Path(given)
        try:
            text = path.read_text(encoding="utf-8") if path.is_file() else given
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"can't read the seeds in {given!r}: {error}") from error
        wanted = set(re.split(r"[\s,]+", text.strip()))
        if absent := wanted - {one.id for one in ordered}:
            raise UsageError(
                f"no seed {sorted(absent)[0]!r} in the dataset; give a number, a file of ids, or ids"
            )
    return (
        tuple(one for one in ordered if one.id in wanted),
        tuple(one for one in ordered if one.id not in wanted),
    )


def by_repository(instances: Sequence[Instance]) -> dict[str, list[Instance]]:
    """Instances by the scope of their memory, in their order."""
    found: dict[str, list[Instance]] = defaultdict(list)
    for one in instances:
        found[one.scope].append(one)
    return dict(found)


def initial(campaign: Campaign, folder: Folder, instances: Mapping[str, Instance]) -> Iterator[Chain]:
    """The initial phase: once a model, with static prompts; a repository's seeds in time order."""
    seeds = [instances[name] for name in campaign.seeds]
    for model in campaign.models or ("",):
        name = line_of(model)
        settings = _with(campaign.settings, {"no_recall": True}, model)
        for chain in by_repository(seeds).values():
            yield _chain(Phase.INITIAL, name, chain, folder, settings, campaign.profile)


def inference(campaign: Campaign, folder: Folder, instances: Mapping[str, Instance]) -> Iterator[Chain]:
    """The inference phase of all variants: online a chain a repository, frozen each repair by itself."""
    wanted = [instances[name] for name in campaign.instances]
    frozen = {"no_learn": True} if campaign.order is Order.FROZEN else {}
    for variant in campaign.variants:
        settings = _with(campaign.settings, {**variant.arm.settings(), **frozen}, variant.model)
        for repository in by_repository(wanted).values():
            chain = _chain(Phase.INFERENCE, variant.name, repository, folder, settings, campaign.profile)
            if campaign.order is Order.ONLINE:
                yield chain
            else:
                yield from ((work,) for work in chain)


def line_of(model: str) -> str:
    """Name of the line of a model in the initial phase."""
    return slug(model) if model else "seeds"


def line_of_variant(variant: Variant) -> str:
    """Name of the line whose memory a variant begins with."""
    return line_of(variant.model)


def _chain(
    phase: Phase,
    line: str,
    instances: Sequence[Instance],
    folder: Folder,
    settings: Mapping[str, Any],
    profile: str,
) -> Chain:
    home = folder.line(phase, line)
    return tuple(
        Work(one, phase, line, home, folder.run(phase, line, one.id), settings, profile) for one in instances
    )


def _with(settings: Mapping[str, Any], more: Mapping[str, Any], model: str) -> dict[str, Any]:
    """Settings with others laid over them, tables field by field."""
    merged = dict(settings)
    for name, value in {**more, **({"model": model} if model else {})}.items():
        under = merged.get(name)
        merged[name] = {**under, **value} if isinstance(under, dict) and isinstance(value, dict) else value
    return merged
