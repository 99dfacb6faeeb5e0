"""The whole record of one repair, as memory learns from it (paper, 3.3.1)."""

from __future__ import annotations

from dataclasses import dataclass

from experepair.domain.issue import Issue
from experepair.domain.memory import Use
from experepair.domain.roles import Agent


@dataclass(frozen=True, slots=True)
class Trial:
    """One output of an agent, and what came of it.

    Attributes:
        agent: who made it.
        number: trial or round it belongs to, from 1.
        name: names the output within the repair ("S1", "P1.3", "R2", "V1").
        output: the script or the patch.
        feedback: execution results, or the reason of a refusal.
        succeeded: a script that is valid, a patch that was seen to pass the reproduction and to break no test.
        applied: numbers of the insights that the agent says it applied.
    """

    agent: Agent
    number: int
    name: str
    output: str
    feedback: str
    succeeded: bool
    applied: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Trajectory:
    """All trials of one repair, in order, and how it ended.

    Attributes:
        run_id: learning is keyed by it.
        issue: what was repaired.
        commit: on which commit.
        status: of the result.
        trials: of both agents, in the order of their ends.
        chosen: names of the reproduction and the patch that were chosen in the end.
        uses: what was recalled from memory, each once.
        models: that answered, "provider:name".
        patch: the final one, as a diff; "" when there is none.
        fence: number of the process that tells it, among those that held the run; 0 when nobody counts them.
    """

    run_id: str
    issue: Issue
    commit: str
    status: str
    trials: tuple[Trial, ...]
    chosen: tuple[str, ...] = ()
    uses: tuple[Use, ...] = ()
    models: tuple[str, ...] = ()
    patch: str = ""
    fence: int = 0
