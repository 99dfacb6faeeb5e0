"""`experepair bench eval`: judge predictions by the hidden tests."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from experepair.cli.bench.choice import ids

if TYPE_CHECKING:
    from experepair.bench.dataset import Dataset
    from experepair.bench.evaluation.verdict import Judged
    from experepair.sandbox.open import Kind


def evaluate(
    predictions: Annotated[
        str,
        typer.Argument(
            help="File of predictions (.json, .jsonl), gold (the dataset's own patches), or empty (no patch).",
            metavar="PREDICTIONS",
        ),
    ],
    dataset: Annotated[
        str,
        typer.Argument(
            help="lite, verified, full, OWNER/NAME on the hub, or a .jsonl, .json or .parquet file.",
            metavar="DATASET",
        ),
    ],
    out: Annotated[
        Path, typer.Option(help="Folder for results, reports and logs; what it has is not judged again.")
    ] = Path("experepair-eval"),
    environments: Annotated[
        Path | None,
        typer.Option(
            help="Environments file: judge in our own sandbox. Without it the official harness judges, on images."
        ),
    ] = None,
    mirrors: Annotated[
        Path | None, typer.Option(help="Folder of repositories; without it they are cloned once.")
    ] = None,
    split: Annotated[str | None, typer.Option(help="Split of the dataset (on the hub: test).")] = None,
    instances: Annotated[
        list[str] | None, typer.Option(help="Ids, separated by commas; may be given several times.")
    ] = None,
    matching: Annotated[
        str, typer.Option("--filter", help="Regular expression that ids must match somewhere.")
    ] = "",
    limit: Annotated[int, typer.Option(min=0, help="At most so many instances; 0 means all.")] = 0,
    survey: Annotated[
        Path | None,
        typer.Option(
            help="JSON by instance id: excluded_tests that fail here whatever the patch, hash_seed, status."
        ),
    ] = None,
    jobs: Annotated[int, typer.Option("--jobs", "-j", min=1, help="Instances at once.")] = 1,
    time: Annotated[float, typer.Option(min=1, help="Seconds that an instance's tests may take.")] = 1800.0,
    sandbox: Annotated[str, typer.Option(help="What isolates the tests, as for fix.")] = "auto",
    json: Annotated[bool, typer.Option("--json", help="Print the judgements as JSON.")] = False,
) -> None:
    """Judge predictions: apply each with the hidden tests, run them without network, and say what is resolved.

    Exit status: 0 judged, whatever the verdicts; 2 usage or configuration; 4 no sandbox.
    """
    from rich.console import Console

    from experepair.bench.dataset import Selection
    from experepair.bench.evaluation.local import EvaluationConfig
    from experepair.bench.evaluation.run import Evaluation
    from experepair.bench.evaluation.run import evaluate as judged_by
    from experepair.cli.interruption import interruptible
    from experepair.domain.text import visible

    console = Console(stderr=True)

    def say(note: str) -> None:
        console.print(visible(note), markup=False, highlight=False, soft_wrap=True)

    asked = Evaluation(
        predictions,
        dataset,
        out,
        selection=Selection(instances=ids(instances or []), matching=matching, limit=limit, split=split),
        environments=environments,
        mirrors=mirrors,
        survey=survey,
        jobs=jobs,
        config=EvaluationConfig(sandbox=_kind(sandbox), time_s=time),
    )
    with interruptible():
        rows, judged = judged_by(asked, tell=say, observer=lambda one: say(_line(one)))
    for refusal in rows.refused:
        say(f"{refusal.id} refused: {refusal.reason}")
    if json:
        typer.echo("[" + ",\n".join(one.model_dump_json() for one in judged) + "]")
    else:
        _show(rows, judged)
        say(f"results and logs: {out}")


def _kind(given: str) -> Kind:
    from experepair.errors import UsageError
    from experepair.sandbox.open import Kind

    try:
        return Kind(given)
    except ValueError as error:
        raise UsageError(f"--sandbox {given!r} is none of {', '.join(Kind)}") from error


def _line(judged: Judged) -> str:
    failed = len(judged.fail_to_pass.failed), len(judged.pass_to_pass.failed)
    told = judged.why or (
        f"failing: {failed[0]} of FAIL_TO_PASS, {failed[1]} of PASS_TO_PASS" if any(failed) else ""
    )
    when = "  (judged before)" if judged.before else ""
    return f"{judged.instance_id}  {judged.verdict}  {judged.seconds:.1f} s{when}  {told}".rstrip()


def _show(dataset: Dataset, judged: Sequence[Judged]) -> None:
    from rich.console import Console
    from rich.table import Table

    from experepair.bench.evaluation.report import counts
    from experepair.bench.evaluation.verdict import Verdict
    from experepair.domain.text import visible

    table = Table("repository", "judged", *Verdict, box=None, pad_edge=False, header_style="bold")
    for repo, verdicts in counts(judged, dataset.instances):
        table.add_row(visible(repo), str(verdicts.total()), *(str(verdicts[verdict]) for verdict in Verdict))
    Console().print(table)
