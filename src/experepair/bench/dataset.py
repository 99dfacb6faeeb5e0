"""Datasets by alias, hub id, file or folder, and which of their rows are wanted."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, Field

from experepair.bench.instance import Answer, Instance, Refusal
from experepair.bench.reading import Row, download, read_file, read_folder
from experepair.bench.rows import split_row
from experepair.errors import UsageError

ALIASES: Mapping[str, str] = {
    "lite": "SWE-bench/SWE-bench_Lite",
    "verified": "SWE-bench/SWE-bench_Verified",
    "full": "SWE-bench/SWE-bench",
}
"""Short names of datasets on the hub."""

_HUB_ID = re.compile(r"[\w-][\w.-]*/[\w-][\w.-]*")
_HUB_SPLIT = "test"


class Selection(BaseModel, frozen=True, extra="forbid"):
    """Which rows of a dataset are wanted."""

    instances: tuple[str, ...] = ()
    """Ids; empty means all. An id that isn't there is an error."""
    matching: str = ""
    """Regular expression, searched in the id; "" means all."""
    limit: int = Field(default=0, ge=0)
    """At most so many, the first in the order of the dataset; 0 means all."""
    split: str | None = None
    """None means "test" on the hub and in folders, and every row of a file."""


@dataclass(frozen=True)
class Dataset:
    """Rows, parted.

    Attributes:
        name: as it was given.
        instances: what runs get.
        answers: what evaluations get, by instance id; never handed to a run.
        refused: rows that can't be taken, with the reason.
    """

    name: str
    instances: tuple[Instance, ...]
    answers: Mapping[str, Answer]
    refused: tuple[Refusal, ...]


def load(spec: str, selection: Selection | None = None, *, revision: str | None = None) -> Dataset:
    """Read a dataset.

    Args:
        spec: an alias, a path of a file or folder, or OWNER/NAME on the hub.
        selection: which rows; default all.
        revision: of a dataset on the hub; None means its newest.

    Raises:
        UsageError: it can't be read, an id is missing or there twice, or nothing is left to do.
    """
    selection = selection or Selection()
    instances: dict[str, Instance] = {}
    answers: dict[str, Answer] = {}
    refused = []
    for number, row in enumerate(_rows(spec, selection.split, revision), 1):
        parted = split_row(row, f"row {number}")
        if isinstance(parted, Refusal):
            refused.append(parted)
            continue
        instance, answer = parted
        if instance.id in instances:
            raise UsageError(f"the dataset {spec!r} has the instance {instance.id!r} twice")
        instances[instance.id] = instance
        answers[instance.id] = answer
    chosen = _chosen(spec, tuple(instances.values()), refused, selection)
    kept = {instance.id for instance in chosen}
    return Dataset(
        spec,
        chosen,
        {name: answer for name, answer in answers.items() if name in kept},
        tuple(refusal for refusal in refused if _wanted(refusal.id, selection)),
    )


def in_time_order(instances: Iterable[Instance]) -> tuple[Instance, ...]:
    """By the time that the issue was written, then by id; those without a time come last."""
    return tuple(
        sorted(
            instances,
            key=lambda one: (one.created_at is None, one.created_at and one.created_at.timestamp(), one.id),
        )
    )


def _rows(spec: str, split: str | None, revision: str | None) -> Iterator[Row]:
    path = Path(spec).expanduser()
    if spec not in ALIASES and path.is_dir():
        return read_folder(path, split or _HUB_SPLIT)
    if spec not in ALIASES and path.suffix:
        rows = read_file(path)
        return rows if split is None else (row for row in rows if row.get("split", split) == split)
    name = ALIASES.get(spec.lower(), spec)
    if not _HUB_ID.fullmatch(name):
        raise UsageError(
            f"there is no dataset {spec!r}; give {', '.join(ALIASES)}, a .jsonl, .json or .parquet file, "
            "a folder of Parquet files, or OWNER/NAME on the hub"
        )
    return read_folder(download(name, split or _HUB_SPLIT, revision), split or _HUB_SPLIT)


def _chosen(
    spec: str, instances: Sequence[Instance], refused: Sequence[Refusal], selection: Selection
) -> tuple[Instance, ...]:
    known = {one.id for one in instances} | {one.id for one in refused}
    if absent := [name for name in selection.instances if name not in known]:
        raise UsageError(f"the dataset {spec!r} has no instance {', '.join(map(repr, absent[:5]))}")
    chosen = tuple(one for one in instances if _wanted(one.id, selection))
    if not chosen:
        why = f"; {len(refused)} refused, the first because {refused[0].reason}" if refused else ""
        raise UsageError(f"no instance of the dataset {spec!r} is left{why}")
    return chosen[: selection.limit or None]


def _wanted(name: str, selection: Selection) -> bool:
    try:
        matches = re.search(selection.matching, name) is not None
    except re.error as error:
        raise UsageError(f"--filter {selection.matching!r} is no regular expression: {error}") from error
    return matches and (not selection.instances or name in selection.instances)
