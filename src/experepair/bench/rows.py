"""A row of a dataset becomes an instance and its answer, or is refused with the reason."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

from experepair.bench.instance import Answer, Instance, Refusal

REPAIRABLE = ("python",)
"""Languages that repairs can run, lower case."""

_ID = re.compile(r"\w[\w.+-]{0,199}")
_COMMIT = re.compile(r"[0-9A-Za-z_][\w./-]{0,199}")
_COLUMNS = {
    "id": ("instance_id", "id"),
    "repo": ("repo", "repository"),
    "commit": ("base_commit", "commit"),
    "statement": ("problem_statement", "statement", "issue"),
    "language": ("language", "repo_language"),
}
"""Names that a column may have; SWE-bench's own come first."""


def split_row(row: Mapping[str, Any], place: str) -> tuple[Instance, Answer] | Refusal:
    """Part what a run may see from what it may not.

    Args:
        row: as it was read.
        place: where it stands, for rows without an id.
    """
    found = {what: _first(row, names) for what, names in _COLUMNS.items()}
    repo, commit, statement = (found[what] for what in ("repo", "commit", "statement"))
    name = found["id"] or _made_id(repo, commit, statement)
    missing = [_COLUMNS[what][0] for what in ("repo", "commit", "statement") if not found[what]]
    if missing:
        return Refusal(found["id"] or place, f"{' and '.join(missing)} missing")
    if not _ID.fullmatch(name):
        return Refusal(name, "the id can't be the name of a folder")
    if not _COMMIT.fullmatch(commit) or ".." in commit:
        return Refusal(name, f"{commit!r} can't be a commit")
    if found["language"] and found["language"].lower() not in REPAIRABLE:
        return Refusal(name, f"its language is {found['language']}; {', '.join(REPAIRABLE)} can be repaired")
    try:
        instance = Instance(
            name, repo, commit, statement, _moment(row.get("created_at")), str(row.get("version") or "")
        )
        return instance, _answer(name, row)
    except ValueError as error:
        return Refusal(name, str(error))


def language_refusal(instance: Instance, files: tuple[str, ...]) -> Refusal | None:
    """Why a commit with these files can't be repaired, for rows that don't name their language."""
    if any(path.endswith(".py") for path in files):
        return None
    return Refusal(instance.id, f"{instance.repo} has no files in {', '.join(REPAIRABLE)} at its base commit")


def _first(row: Mapping[str, Any], names: tuple[str, ...]) -> str:
    return next((str(row[name]) for name in names if row.get(name) not in (None, "")), "")


def _made_id(repo: str, commit: str, statement: str) -> str:
    """An id for a row of a backlog: the same row has the same id in every run."""
    stem = re.sub(r"[^\w.-]+", "__", repo.removesuffix(".git").strip("/")).lstrip(".-_")[-80:]
    digest = sha256("\0".join((repo, commit, statement)).encode("utf-8", "surrogatepass")).hexdigest()
    return f"{stem or 'issue'}-{digest[:10]}"


def _answer(name: str, row: Mapping[str, Any]) -> Answer:
    return Answer(
        instance_id=name,
        patch=_first(row, ("patch",)),
        test_patch=_first(row, ("test_patch",)),
        fail_to_pass=_names(row, "FAIL_TO_PASS"),
        pass_to_pass=_names(row, "PASS_TO_PASS"),
        hints=_first(row, ("hints_text",)),
        row=dict(row),
    )


def _names(row: Mapping[str, Any], column: str) -> tuple[str, ...]:
    """Test names, which SWE-bench keeps as JSON in a string."""
    value = row.get(column)
    if isinstance(value, str):
        try:
            value = json.loads(value) if value else []
        except ValueError:
            raise ValueError(f"{column} is not a list of test names in JSON") from None
    if value is None:
        return ()
    if isinstance(value, Mapping | str) or not hasattr(value, "__iter__"):
        raise ValueError(f"{column} is not a list of test names")
    return tuple(str(name) for name in value)


def _moment(value: object) -> datetime | None:
    if value in (None, ""):
        return None
    if not isinstance(value, datetime):
        try:
            value = datetime.fromisoformat(str(value))
        except ValueError:
            raise ValueError(f"created_at is {str(value)[:40]!r}, which is no date") from None
    return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
