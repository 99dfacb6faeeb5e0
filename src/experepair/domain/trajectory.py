"""The whole record of one repair, as memory learns from it (paper, 3.3.1)."""

from __future__ import annotations

from dataclasses import dataclass

from experepair.domain.issue import Issue
from experepair.domain.roles import Agent


@dataclass(frozen=True, slots=True)
class Attempt:
    """One output of an agent, and what came of it.

    Attributes:
        agent: who made it.
        trial: round it belongs to, from 1.
        output: the script or the patch.
        feedback: execution results or the reason of a refusal.
        succeeded: a script that is valid, a patch that passes the reproduction and breaks no test.
        selected: whether it is the reproduction or the patch that was chosen in the end.
        insights: numbers of the insights that the agent says it applied.
    """

    agent: Agent
    trial: int
    output: str
    feedback: str
    succeeded: bool
    selected: bool = False
    insights: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Trajectory:
    """All attempts of one repair, in order, and how it ended."""

    run_id: str
    issue: Issue
    commit: str
    status: str
    attempts: tuple[Attempt, ...]
