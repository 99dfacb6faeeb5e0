"""How a repair proceeds: the caps of the paper's A.1, and what is sent and waited for."""

from __future__ import annotations

from pydantic import BaseModel, Field

from experepair.localize.explain import SURE


class RepairConfig(BaseModel, frozen=True, extra="forbid"):
    """Caps and sizes of one repair."""

    trials: int = Field(default=3, ge=1)
    """Reproduction scripts written before giving up (paper: 3)."""
    rounds: int = Field(default=3, ge=1)
    """Rounds of patch generation (paper: 3)."""
    samples: int = Field(default=4, ge=1)
    """Patches sampled in each round (paper: 4)."""
    validation_tests: int = Field(default=3, ge=0)
    """Validation tests; 0 leaves them out (paper: 3)."""
    refinements: int = Field(default=4, ge=0)
    """Refined patches, spread over the distinct passing candidates; 0 leaves refinement out (paper: 4)."""
    most_edits: int = Field(default=3, ge=1)
    """Modifications that a patch is asked for at most; more are applied all the same (paper: 3)."""
    tree_listing: bool = False
    """Whether the patch agent chooses files from a listing of all source files (paper), instead of from our ranking."""
    ranked_files: int = Field(default=12, ge=1)
    """Files of the ranking that the patch agent chooses from."""
    sure_files: int = Field(default=6, ge=1)
    """The same when the ranking is sure (`sure_margin`)."""
    sure_margin: float = SURE
    """Margin between the first and the second file from which a ranking counts as sure; the first six files then held the
    fault on every development instance."""
    chosen_files: int = Field(default=4, ge=1)
    """Files that the patch agent may choose."""
    outline_tokens: int = Field(default=1500, ge=100)
    """Tokens of the outline of the first files when files are chosen; the later ones get less (`outlined`)."""
    detail_tokens: int = Field(default=6000, ge=100)
    """Tokens of one file when places are chosen; a shorter file is shown whole."""
    whole_tokens: int = Field(default=4000, ge=0)
    """When the chosen files together are shorter than this, they are shown whole and no places are asked for."""
    span_tokens: int = Field(default=16000, ge=500)
    """Tokens of code that the patch agent works on."""
    trace_time_s: float = Field(default=60.0, ge=0)
    """Wall time of the run in which the calls of the reproduction are noted, in seconds; 0 leaves it out."""
    executed_functions: int = Field(default=8, ge=0)
    """Functions that the reproduction executes and the ranking puts first, shown beside the agent's choice; 0 means none."""
    executed_share: float = Field(default=0.6, ge=0, le=1)
    """Share of the first one's score that such a function has at least; what is only executed, as set-up is, has less."""
    executed_tokens: int = Field(default=4000, ge=0)
    """Tokens of these functions at most."""
    memory_tokens: int = Field(default=12000, ge=0)
    """Tokens of insights and demonstrations in one prompt at most; 0 leaves memory out of prompts."""
    demonstration_tokens: int = Field(default=4000, ge=0)
    """Tokens of one demonstration; a longer one is cut in the middle, but never in the changed lines of a diff."""
    output_chars: int = Field(default=6000, ge=500)
    """Characters of one execution's output in a prompt: head and tail."""
    existing_tests: int = Field(default=6, ge=0)
    """Files of existing tests run before and after each candidate; 0 leaves them out."""
    existing_tests_time_s: float = Field(default=300.0, gt=0)
    """Wall time for existing tests on one candidate, in seconds; what isn't finished counts as unknown."""

    def outlined(self, number: int) -> int:
        """Tokens of the outline of the file at a place of the ranking, from 0."""
        return self.outline_tokens if number < 3 else self.outline_tokens // (2 if number < 6 else 5)
