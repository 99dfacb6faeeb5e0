"""SWE-bench rows as the localization benchmarks need them: issues, mirrors, and what the gold patches changed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Row:
    """One issue of the dataset, and where its repository is.

    Attributes:
        id: instance id.
        repository: folder of the mirror.
        commit: the base commit.
        issue: the problem statement, nothing else.
        patch: the gold patch.
        test_patch: the patch of the hidden tests.
        tests: names of the tests that must fail before and pass after.
    """

    id: str
    repository: Path
    commit: str
    issue: str
    patch: str
    test_patch: str
    tests: tuple[str, ...]


def read_rows(dataset: Path, mirrors: Path, repository: str = "", ids: str = "") -> Iterator[Row]:
    """Rows whose repositories are mirrored.

    Args:
        dataset: JSON lines with the columns of SWE-bench.
        mirrors: holds OWNER+NAME/repo; for the copies of SWE-bench swe-bench+OWNER__NAME/repo.
        repository: only this OWNER/NAME; "" means all.
        ids: only instances whose ids hold this; "" means all.
    """
    with dataset.open() as lines:
        for line in lines:
            row = json.loads(line)
            owner, name = row["repo"].split("/")
            places = (mirrors / f"{owner}+{name}" / "repo", mirrors / f"swe-bench+{owner}__{name}" / "repo")
            mirror = next((place for place in places if place.is_dir()), None)
            if mirror is None or repository not in ("", row["repo"]) or ids not in row["instance_id"]:
                continue
            tests = row["FAIL_TO_PASS"]
            yield Row(
                row["instance_id"],
                mirror,
                row["base_commit"],
                row["problem_statement"],
                row["patch"],
                row["test_patch"],
                tuple(json.loads(tests) if isinstance(tests, str) else tests),
            )
