"""What a repair takes of a cluster."""

from __future__ import annotations

from pydantic import BaseModel, Field

SLOT = "sandbox"
"""Name of the resource of which each machine offers as many as it may run sandboxed repairs at once."""


class ClusterConfig(BaseModel, frozen=True, extra="forbid"):
    """Where the cluster is, and what each repair takes of it."""

    address: str = "auto"
    """HOST:PORT of its head; "auto" means the one that this machine belongs to."""
    cpus: float = Field(default=1.0, ge=0)
    """Processors that a repair declares; 0 places no bound."""
    slots: float = Field(default=1.0, gt=0)
    """Of the resource "sandbox"."""
    most_attempts: int = Field(default=5, ge=1)
    """Workers that may die over one repair before it counts as failed."""
    tick_s: float = Field(default=1.0, gt=0)
    """How often the leases of running repairs are looked at, in seconds."""
