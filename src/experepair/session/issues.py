"""The issue as the user gives it: a file, standard input, or the text itself."""

from __future__ import annotations

import sys
from collections.abc import Collection
from hashlib import sha256
from pathlib import Path

from experepair.domain.issue import Issue
from experepair.errors import UsageError

_LARGEST = 1_000_000


def read_issue(given: str, repository: str, author: str | None = None, *, trusted: bool = True) -> Issue:
    """Read an issue; its id tells issues apart that are in files of one name.

    Args:
        given: path of a file, "-" for standard input, or the text.
        repository: scope of memory.
        author: who wrote it, if known.
        trusted: whether what is learned from it may be recalled without being accepted first.

    Raises:
        UsageError: there is no such file, or it is empty, binary, or larger than 1 MB.
    """
    content, name, where = _content(given)
    if len(content) > _LARGEST:
        raise UsageError(
            f"{where} has {len(content):,} bytes, more than {_LARGEST:,}; give the issue itself and cut its attachments"
        )
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(
            f"{where} is not text in UTF-8 (byte {error.start}); give the issue as text"
        ) from error
    if "\0" in text:
        raise UsageError(f"{where} is binary, not text; give the issue as text")
    if not text.strip():
        raise UsageError(f"{where} is empty; write down what happens and what should happen")
    digest = sha256(content).hexdigest()
    issue_id = f"{name}-{digest[:8]}" if name else digest[:12]
    return Issue(issue_id, repository, text.strip() + "\n", author, trusted)


def is_trusted(author: str | None, trusted_authors: Collection[str]) -> bool:
    """Whether an issue is: one that the user hands over without an author is as his own, an author must be listed."""
    return author is None or author.strip().casefold() in {
        known.strip().casefold() for known in trusted_authors
    }


def _content(given: str) -> tuple[bytes, str, str]:
    """The bytes, a name for the issue if there is one, and where it comes from in words."""
    if given == "-":
        return sys.stdin.buffer.read(_LARGEST + 1), "", "the issue on standard input"
    path = Path(given)
    try:
        if path.is_file():
            with path.open("rb") as file:
                return file.read(_LARGEST + 1), path.stem, f"the issue {given!r}"
        missing = not any(space in given.strip() for space in " \n\t") and ("/" in given or path.suffix != "")
    except (OSError, ValueError) as error:
        if isinstance(error, PermissionError):
            raise UsageError(f"can't read the issue {given!r}: {error.strerror}") from error
        missing = False  # a long text is no path
    if missing or path.is_dir():
        raise UsageError(
            f"there is no file {given!r} with an issue; give a file, - for standard input, or the text"
        )
    return given.encode("utf-8", "surrogateescape"), "", "the issue"
