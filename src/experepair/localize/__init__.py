"""Where the fault may be, found without a model: index, signals, ranking.

    source = GitSource.of_checkout(root)
    ranking = rank(issue.text, source, history=History(source))
    shown = spans(function.span for file in ranking.files for function in file.functions)

Nothing here imports a grammar before the first file is read.
"""

from experepair.localize.config import FunctionWeights, RankingConfig, Weights
from experepair.localize.executed import Observed
from experepair.localize.history import History
from experepair.localize.rank import Ranker, rank
from experepair.localize.skeleton import skeleton
from experepair.localize.source import Entry, GitSource, Source
from experepair.localize.spans import render, spans
from experepair.localize.text import tokens_of

__all__ = [
    "Entry",
    "FunctionWeights",
    "GitSource",
    "History",
    "Observed",
    "Ranker",
    "RankingConfig",
    "Source",
    "Weights",
    "rank",
    "render",
    "skeleton",
    "spans",
    "tokens_of",
]
