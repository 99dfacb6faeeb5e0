"""`experepair bench recall` with settings of its own: how often recalled fixes touch what gold patches change.

    python benchmarks/recall.py DATASET --mirrors DIR [--work DIR] [--repo OWNER/NAME] [--set NAME=VALUE …]
        [--foreign 100] [--paper]

What is measured is in src/experepair/bench/metrics/recalling.py.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from tempfile import TemporaryDirectory

from experepair.bench.dataset import load
from experepair.bench.metrics.recalling import Recalling, evaluate
from experepair.bench.mirrors import Mirrors
from experepair.bench.report.write import as_markdown
from experepair.folders import cache_folder
from experepair.memory.config import RecallConfig


def main() -> None:
    """Evaluate and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("dataset")
    parser.add_argument("--mirrors", type=Path, required=True)
    parser.add_argument("--work", type=Path, help="keeps stores and indexes for the next time")
    parser.add_argument("--repo", default="")
    parser.add_argument("--set", nargs="*", default=[], help="settings of RecallConfig")
    parser.add_argument("--foreign", type=int, default=100, help="issues of other repositories")
    parser.add_argument("--paper", action="store_true", help="the paper's retriever on our pool too: slow")
    options = parser.parse_args()
    config = RecallConfig.model_validate(dict(each.split("=", 1) for each in options.set))
    mirrors = Mirrors(cache_folder() / "clones", options.mirrors)
    dataset = load(options.dataset)
    with TemporaryDirectory() as temporary:
        work = options.work or Path(temporary)
        asked = Recalling(mirrors, work, config, options.foreign, options.paper, print)
        results = evaluate(mirrors.held(dataset.instances, print), dataset.answers, asked, options.repo)
    print(as_markdown(results.table()))


if __name__ == "__main__":
    main()
