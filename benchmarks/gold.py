"""Gold patches resolve and empty ones don't: the local evaluator beside a survey made by another tool.

    python benchmarks/gold.py DATASET --environments FILE --mirrors DIR --survey FILE --out DIR [--jobs N] [--report]

The survey says of each instance whether its gold patch resolves here and its untouched code doesn't (status RUNNABLE…), and
which tests must be left out. What --out has already is not run again, so the command can be stopped and resumed; with
--report nothing is run, and what is there is printed.
"""

from __future__ import annotations

import argparse
from collections import Counter, defaultdict
from collections.abc import Mapping
from pathlib import Path

from pydantic import ValidationError

from experepair.bench.dataset import Selection, load
from experepair.bench.evaluation.known import Known, read_known
from experepair.bench.evaluation.many import JUDGED
from experepair.bench.evaluation.run import EMPTY, GOLD, Evaluation, evaluate
from experepair.bench.evaluation.verdict import Judged, Verdict
from experepair.bench.instance import Instance

EXPECTED = {GOLD: Verdict.RESOLVED, EMPTY: Verdict.UNRESOLVED}
"""What the survey says of an instance that can be run."""


def main() -> None:
    """Judge what isn't judged yet, and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("dataset")
    for name in ("environments", "mirrors", "survey", "out"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--jobs", type=int, default=1, help="instances at once")
    parser.add_argument("--filter", default="", help="regular expression for ids")
    parser.add_argument("--report", action="store_true", help="run nothing, print what is there")
    options = parser.parse_args()
    known = read_known(options.survey)
    dataset = load(options.dataset, Selection(matching=options.filter))
    instances = [one for one in dataset.instances if one.id in known and known[one.id].runnable]
    if not options.report:
        for predictions in EXPECTED:
            run(options, predictions, instances)
    judged = {predictions: read(options.out / predictions / JUDGED) for predictions in EXPECTED}
    table(instances, judged)
    others = [one for one in dataset.instances if one.id in known and not known[one.id].runnable]
    listing(instances, judged, others, known)


def run(options: argparse.Namespace, predictions: str, instances: list[Instance]) -> None:
    """Judge one kind of patch for all instances."""
    evaluate(
        Evaluation(
            predictions,
            options.dataset,
            options.out / predictions,
            selection=Selection(instances=tuple(one.id for one in instances)),
            environments=options.environments,
            mirrors=options.mirrors,
            survey=options.survey,
            jobs=options.jobs,
        ),
        tell=print,
        observer=lambda one: print(
            predictions, one.instance_id, one.verdict, one.seconds, one.why, flush=True
        ),
    )


def read(folder: Path) -> dict[str, Judged]:
    """What was judged, by instance."""
    found = {}
    for path in folder.glob("*.json"):
        try:
            found[path.stem] = Judged.model_validate_json(path.read_bytes())
        except ValidationError:
            print(f"{path} is no judgement")
    return found


def table(instances: list[Instance], judged: dict[str, dict[str, Judged]]) -> None:
    """Counts by repository."""
    rows: dict[str, Counter[str]] = defaultdict(Counter)
    for one in instances:
        for repo in (one.repo, "all"):
            rows[repo]["runnable"] += 1
            for predictions, expected in EXPECTED.items():
                if (said := judged[predictions].get(one.id)) is not None:
                    rows[repo][f"{predictions} judged"] += 1
                    rows[repo][f"{predictions} agrees"] += said.verdict is expected
    columns = ["runnable", *(f"{kind} {what}" for kind in EXPECTED for what in ("judged", "agrees"))]
    print(f"\n{'repository':22}" + "".join(f"{column:>14}" for column in columns))
    for repo, counts in sorted(rows.items(), key=lambda row: (row[0] == "all", row[0])):
        print(f"{repo:22}" + "".join(f"{counts[column]:14}" for column in columns))


def listing(
    instances: list[Instance],
    judged: dict[str, dict[str, Judged]],
    others: list[Instance],
    known: Mapping[str, Known],
) -> None:
    """Each instance with both verdicts beside the survey's; then what the survey says can't be run."""
    print(f"\n{'instance':34}{'survey':>16}{'gold':>12}{'empty':>12}{'seconds':>10}")
    for one in sorted(instances, key=lambda each: each.id):
        said = [judged[predictions].get(one.id) for predictions in EXPECTED]
        shown = "".join(f"{each.verdict if each else '-':>12}" for each in said)
        seconds = f"{said[0].seconds:10.1f}" if said[0] else f"{'-':>10}"
        print(f"{one.id:34}{known[one.id].status:>16}{shown}{seconds}")
        for each, expected in zip(said, EXPECTED.values(), strict=True):
            if each and each.verdict is not expected:
                print(
                    f"    DISAGREES: {each.why or each.fail_to_pass.failed[:3] + each.pass_to_pass.failed[:3]}"
                )
    for one in others:
        print(f"{one.id:34}{known[one.id].status:>16}  {known[one.id].why}")


if __name__ == "__main__":
    main()
