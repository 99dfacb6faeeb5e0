"""The log of a repository as git tells it, the same whatever the user and the repository have configured."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from experepair.localize.languages import suffixes
from experepair.workspace.git import Git

_RECORD = re.compile(rb"^\x00([0-9a-f]{40,64})\n", re.MULTILINE)
_FORMAT = "%x00%H%n%P%n%ct%n%an <%ae>%n%s%n%n%b%x00"


@dataclass(frozen=True, slots=True)
class Logged:
    """A commit in the log.

    Attributes:
        id: in hexadecimal.
        parents: the same of those that it follows; none for a root and for the end of a shallow clone.
        at: when it was committed, in seconds since 1970.
        author: name and address.
        message: its subject in one line, a blank one, then its body.
        difference: to its first parent, in the form that was asked for, in the encodings of the files.
    """

    id: str
    parents: tuple[str, ...]
    at: int
    author: str
    message: str
    difference: bytes

    @property
    def subject(self) -> str:
        """First line of the message, at most 200 characters."""
        return self.message.partition("\n")[0][:200]


def read_log(git: Git, commits: Sequence[str], *how: str) -> Iterator[Logged]:
    """Those of some commits that touch files in our languages, with what they did to these.

    Args:
        git: in the repository.
        commits: their full ids.
        how: arguments of `git log` that say what the difference looks like, and of which commits.
    """
    if not commits:
        return
    arguments = (
        *("log", "--stdin", "--no-walk=unsorted", *how, "--no-color", "--no-ext-diff", "--no-textconv"),
        *("--src-prefix=a/", "--dst-prefix=b/", f"--format={_FORMAT}"),
        *("--", *(f"*{suffix}" for suffix in suffixes())),
    )
    output = _reader(git).run(*arguments, stdin="".join(f"{commit}\n" for commit in commits).encode())
    starts = list(_RECORD.finditer(output))
    for number, start in enumerate(starts):
        end = starts[number + 1].start() if number + 1 < len(starts) else len(output)
        head, _, difference = output[start.end() : end].partition(b"\x00")
        parents, at, author, message = head.decode("utf-8", "replace").split("\n", 3)
        yield Logged(
            start[1].decode(), tuple(parents.split()), int(at or 0), author, message, difference.strip(b"\n")
        )


def _reader(git: Git) -> Git:
    return Git(
        git.cwd,
        (
            *git.settings,
            ("core.attributesFile", str(Path(__file__).with_name("gitattributes"))),
            ("core.quotePath", "false"),
            ("diff.renameLimit", "200"),
        ),
        {**git.env, "GIT_LITERAL_PATHSPECS": "0"},
    )
