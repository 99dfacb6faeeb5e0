"""What others published on SWE-bench Lite: Tables 1 and 2 and Figure 3 of the paper. None of it was measured here."""

from __future__ import annotations

from typing import NamedTuple


class Published(NamedTuple):
    """A row of Table 1."""

    method: str
    model: str
    resolved: float
    """In percent."""
    usd: float
    """Average cost of an instance."""


TABLE_1 = (
    Published("SWE-Agent", "GPT-4o", 18.3, 2.53),
    Published("SWE-Agent", "Claude 3.5 Sonnet V2", 23.0, 1.62),
    Published("Moatless Tools", "GPT-4o", 24.7, 0.14),
    Published("Agentless-1.5", "GPT-4o", 27.3, 0.70),
    Published("AutoCodeRover-v2", "GPT-4o", 30.7, 0.65),
    Published("Moatless Tools", "Claude 3.5 Sonnet V2", 38.3, 0.17),
    Published("Agentless-1.5", "Claude 3.5 Sonnet V2", 40.7, 1.12),
    Published("OpenHands", "CodeAct v2.1", 41.7, 2.14),
    Published("PatchPilot", "Claude 3.5 Sonnet V2", 45.3, 0.97),
    Published("DARS", "Claude 3.5 Sonnet V2", 47.0, 12.24),
    Published("ExpeRepair (paper)", "Claude 3.5 Sonnet V2", 47.7, 2.07),
)

TABLE_2 = {
    "full": (47.7, 82.7, 79.3),
    "no-memory": (41.3, 63.0, 58.7),
    "no-demonstrations": (43.7, 68.7, 65.3),
    "no-insights": (46.0, 78.3, 73.0),
}
"""Resolved, ESR and RSR in percent, by our names of the arms."""

FIGURE_3 = {"o1-mini": 41.7, "DeepSeek-R1": 45.0, "Claude 3.5": 47.7, "Claude 3.7": 49.3}
"""Resolved in percent by model."""
