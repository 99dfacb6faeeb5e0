"""How memory recalls and learns."""

from __future__ import annotations

from enum import StrEnum

from pydantic import BaseModel, Field


class RetrieverKind(StrEnum):
    """What orders demonstrations by their likeness to a query."""

    BM25 = "bm25"
    PAPER = "paper"
    EMBEDDING = "embedding"
    HYBRID = "hybrid"


class RecallConfig(BaseModel, frozen=True, extra="forbid"):
    """What is recalled, and how it is found; the figures behind the numbers are in docs/recall.md."""

    retriever: RetrieverKind = RetrieverKind.BM25
    """What orders demonstrations."""
    demonstrations: bool = True
    """Whether demonstrations are recalled, and past repairs for localization with them."""
    insights: bool = True
    """Whether insights are recalled."""
    mined: bool = True
    """Whether mined fixes are among the demonstrations."""
    top_k: int = Field(default=5, ge=0)
    """Demonstrations in a prompt, each from a different issue; 0 means none."""
    most_untrusted: int = Field(default=2, ge=0)
    """Of those, at most this many from sources that were not trusted, also once they are accepted; 0 bars them."""
    title_weight: float = Field(default=0.5, ge=0)
    """What a term of the issue's title counts on top of its place in the text; 0 makes the title plain text."""
    diff_weight: float = Field(default=0.3, ge=0, le=1)
    """What a term in changed lines or in a script counts beside one in the issue; 0 leaves them out of the index."""
    affinity_weight: float = Field(default=0.4, ge=0)
    """What changing the most suspected file counts beside the best likeness of texts (1); 0 ignores files."""
    affinity_files: int = Field(default=20, ge=0)
    """Suspected files that count, the n-th by 1/sqrt(n)."""
    issue_floor: float = Field(default=0.95, ge=0)
    """Least likeness of issues (share of the query's weight that a demonstration holds, by rarity of its terms) times
    the square root of the number of terms: of a long issue no other text holds much. 0 takes any."""
    failure_floor: float = Field(default=0.6, ge=0)
    """The same for failed outputs and their feedback; lower, since errors of one kind differ in their particulars."""
    touching_floor: float = Field(default=0.35, ge=0)
    """The same, instead of either, for demonstrations that touch suspected files; 0 takes any of them."""
    failure_weight: float = Field(default=1.0, ge=0)
    """What the best likeness of failures counts beside the best likeness of issues (1); 0 ignores failures."""
    past_repairs: int = Field(default=10, ge=0)
    """Past repairs that localization is given; 0 means none."""
    near_duplicate: float = Field(default=0.5, gt=0, le=1)
    """From this share of common word triples on, two issues are near-duplicates."""
    audited: int = Field(default=10, ge=0)
    """Entries that came near and were left out, by name in the audit; the rest is counted."""
    lock_wait_s: float = Field(default=30.0, ge=0)
    """How long another process that is writing the index is waited for, in seconds; 0 doesn't wait."""
    cosine_floor: float = Field(default=0.3, ge=0, le=1)
    """Least cosine for `embedding`; models differ, so it is to be set for the one that is used. 0 takes any above 0."""
    rank_constant: int = Field(default=10, ge=0)
    """For `hybrid`: how little the first ranks stand out; the n-th counts 1/(constant + n)."""
    embedding_chars: int = Field(default=8000, ge=1)
    """Of each text that are embedded."""
    embedding_model: str = ""
    """PROVIDER:NAME of the model behind `embedding` and `hybrid`, as in openai:text-embedding-3-small."""
    embedding_base_url: str | None = None
    """Where that model is served with OpenAI's API; None means the provider's own address."""


class LearnConfig(BaseModel, frozen=True, extra="forbid"):
    """What is learned at the end of a repair."""

    most_insights: int = Field(default=15, ge=0)
    """Insights an agent and repository keeps; the least recently used leaves first (paper: 15). 0 keeps none."""
    most_operations: int = Field(default=4, ge=0)
    """Operations on insights an agent and repair (paper: 4); 0 leaves the summary out."""
    insight_chars: int = Field(default=600, ge=50)
    """Characters of an insight; a longer one is dropped."""
    trajectory_tokens: int = Field(default=16000, ge=1000)
    """Tokens of the repair's record that the summarizing model is shown; long outputs are cut in the middle."""
    lock_wait_s: float = Field(default=60.0, ge=0)
    """How long another process that writes to the store is waited for, in seconds; 0 doesn't wait."""
