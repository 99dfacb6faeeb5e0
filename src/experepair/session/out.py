"""The folder of a run: where its journal and its results are."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path

from experepair.errors import OutputError, UsageError
from experepair.journal.entries import Intent
from experepair.journal.journal import Journal, lease_folder
from experepair.journal.lease import LeaseConfig

JOURNAL = "journal.jsonl"
_MOST_RUNS = 1000
_KEPT_OUT = {".gitignore": "*\n", "conftest.py": 'collect_ignore_glob = ["*"]\n'}
"""Keeps git and the user's own pytest out of the results."""
DEFAULT = Path("experepair-out")
"""Parent of the folders that experepair names itself, below the working directory."""


def choose_out(given: Path | None, issue_id: str, *, resume: bool) -> Path:
    """The folder of a run.

    Args:
        given: by the user; None means a numbered one below `DEFAULT`.
        issue_id: names it.
        resume: the folder of the newest run of this issue is wanted, not a new one.

    Raises:
        UsageError: there is nothing to resume, or another run is there already.
    """
    if given is not None:
        held = (given / JOURNAL).exists()
        if held and not resume:
            raise UsageError(
                f"{str(given)!r} holds a run already; --resume goes on with it, or give another --out"
            )
        if resume and not held:
            raise UsageError(f"there is no journal in {str(given)!r} to resume; leave --resume out to begin")
        return given
    stem = (
        "".join(mark if mark.isalnum() or mark in "._-" else "-" for mark in issue_id)[:80].strip(".")
        or "issue"
    )
    taken = [number for number in range(1, _MOST_RUNS) if (DEFAULT / _numbered(stem, number)).exists()]
    if not resume:
        return DEFAULT / _numbered(stem, max(taken, default=0) + 1)
    if not taken:
        raise UsageError(
            f"there is no run of {issue_id!r} below {str(DEFAULT)!r} to resume; say which with --out"
        )
    return DEFAULT / _numbered(stem, max(taken))


def _numbered(stem: str, number: int) -> str:
    return stem if number == 1 else f"{stem}-{number}"


def open_journal(out: Path, lease: LeaseConfig, *, resume: bool) -> Journal:
    """The journal of a run, made or taken up; git and pytest ignore the folders that experepair named itself.

    Raises:
        OutputError: the folder can't be made or written.
        JournalError: another process holds the journal, or it is damaged.
    """
    try:
        out.mkdir(parents=True, exist_ok=True)
        if out.parent == DEFAULT:
            for name, text in _KEPT_OUT.items():
                if not (DEFAULT / name).exists():
                    (DEFAULT / name).write_text(text)
    except OSError as error:
        raise OutputError(
            f"can't make the folder {str(out)!r} for the results: {error.strerror or error}"
        ) from error
    path = out / JOURNAL
    return Journal.resume(path, lease) if resume else Journal.create(path, lease)


@contextlib.contextmanager
def forgotten_unless_begun(journal: Journal, out: Path, *, resume: bool) -> Iterator[None]:
    """A run that is refused before any model is asked leaves nothing: other flags can be given for the same folder."""
    try:
        yield
    except UsageError:
        if not resume and not any(isinstance(entry, Intent) for entry in journal.entries):
            (out / JOURNAL).unlink(missing_ok=True)
            journal.close()
            shutil.rmtree(lease_folder(out / JOURNAL), ignore_errors=True)
            with contextlib.suppress(OSError):  # it holds something else
                out.rmdir()
        raise
