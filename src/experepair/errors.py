"""Every error that experepair raises on purpose.

    ExpeRepairError                exit status of `fix`
    ├── UsageError                 2   something given is wrong: a flag, a file, a setting, a key
    │   └── MemoryUnavailable          the memory's store can't be opened, read or written
    ├── ProviderError              3   the model's provider refused or can't be reached
    │   └── llm.faults.Fault           one attempt at a call; ContextTooLong below it
    ├── SandboxUnavailable         4   nothing here can isolate a command
    ├── BudgetSpent                5   a cap on cost or tokens is reached
    ├── JournalError               2   a journal can't be read, is in use, or doesn't fit
    │   ├── JournalHeld                another process writes it
    │   └── ReplayMiss                 it holds no reply for a request
    └── OutputError                2   a result can't be written
        └── LeaseLost                  another process has taken the run over

An error names the value, carries the data, and says what to do next.
"""

from __future__ import annotations

from typing import ClassVar


class ExpeRepairError(Exception):
    """Base of all errors raised on purpose."""

    exit_status: ClassVar[int] = 2


class UsageError(ExpeRepairError):
    """Something that the user gave can't be used; the message says what and what to do."""


class MemoryUnavailable(UsageError):
    """The store of the memory can't be opened, read or written; its address is shown without password."""


class ProviderError(ExpeRepairError):
    """The provider of a model refused a call, or none of the attempts at it succeeded."""

    exit_status = 3


class SandboxUnavailable(ExpeRepairError):
    """No sandbox could be proved to work on this machine."""

    exit_status = 4


class BudgetSpent(ExpeRepairError):
    """The next call could exceed a cap on cost or tokens."""

    exit_status = 5


class JournalError(ExpeRepairError):
    """A journal can't be opened, read or continued."""


class JournalHeld(JournalError):
    """Another process that lives is writing the journal."""


class ReplayMiss(JournalError, LookupError):
    """The journal holds no reply for a request.

    Args:
        key: what was asked for.
        journal: file name of the journal.
        difference: how the request differs from the nearest recorded one, as text.
    """

    def __init__(self, key: str, journal: str, difference: str) -> None:
        super().__init__(
            f"no reply for {key} in {journal!r}: the request changed since it was recorded\n{difference}"
        )
        self.key, self.journal, self.difference = key, journal, difference


class OutputError(ExpeRepairError):
    """A result could not be written; what was there before is unchanged."""


class LeaseLost(OutputError):
    """Another process has taken the run over: nothing of it is written or learned here any more."""
