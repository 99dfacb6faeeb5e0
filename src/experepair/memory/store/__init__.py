"""The store of record: what was learned, by whom, and what became of it.

`Store` loads SQLAlchemy, so it is looked up on first use; the values that it answers with don't.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from experepair.memory.store.records import (
    Change,
    Changed,
    Filter,
    Held,
    Imported,
    InsightRecord,
    LogEntry,
    Page,
    State,
    Stats,
    Stored,
    Usage,
    Verdict,
)

if TYPE_CHECKING:
    from experepair.memory.store.store import Store

__all__ = [
    "Change",
    "Changed",
    "Filter",
    "Held",
    "Imported",
    "InsightRecord",
    "LogEntry",
    "Page",
    "State",
    "Stats",
    "Store",
    "Stored",
    "Usage",
    "Verdict",
]


def __getattr__(name: str) -> object:
    if name == "Store":
        from experepair.memory.store.store import Store

        return Store
    raise AttributeError(name)
