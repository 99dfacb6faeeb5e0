"""`experepair fix`: repair one issue."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from experepair.cli.options import repair_settings, takes

if TYPE_CHECKING:
    from rich.console import Console

    from experepair.steps.result import Result

_COLOURS = {"+": "green", "-": "red", "@": "cyan"}


@takes(repair_settings, "settings")
def fix(
    repo: Annotated[Path, typer.Argument(help="Folder of a git repository.", metavar="REPO")],
    issue: Annotated[
        str,
        typer.Option("--issue", "-i", help="The issue: a file, - for standard input, or the text itself."),
    ],
    issue_author: Annotated[
        str | None,
        typer.Option(
            help="Who wrote the issue; then it is trusted only when trusted_authors of the settings has the name."
        ),
    ] = None,
    untrusted: Annotated[
        bool,
        typer.Option("--untrusted", help="Recall nothing of what is learned here until it is accepted."),
    ] = False,
    commit: Annotated[str, typer.Option(help="Commit to repair.")] = "HEAD",
    include_dirty: Annotated[
        bool,
        typer.Option("--include-dirty", help="Repair the work tree as it is, uncommitted changes included."),
    ] = False,
    failing_test: Annotated[
        str | None,
        typer.Option(
            help="Id of an existing test that fails because of the issue: it becomes the reproduction."
        ),
    ] = None,
    memory: Annotated[
        str | None,
        typer.Option(
            metavar="URL|none",
            help="What is recalled and learned: a file, sqlite:///PATH, postgresql://…, or none "
            "(default: a file in the user's data folder).",
        ),
    ] = None,
    no_recall: Annotated[
        bool, typer.Option("--no-recall", help="Recall nothing, in prompts and in the ranking; learn.")
    ] = False,
    no_learn: Annotated[bool, typer.Option("--no-learn", help="Recall, but learn nothing.")] = False,
    without: Annotated[
        list[str] | None,
        typer.Option(help="demonstrations or insights: leave these out of prompts; may be given twice."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder for the results (default: experepair-out/ISSUE, numbered).")
    ] = None,
    resume: Annotated[
        bool,
        typer.Option(
            "--resume", help="Go on with the run in --out; nothing that was answered is paid again."
        ),
    ] = False,
    apply: Annotated[
        bool, typer.Option("--apply", help="Apply the patch to the work tree when the issue is repaired.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
    *,
    settings: dict[str, Any],
) -> None:
    """Repair one issue of a repository: a patch, a test that fails before and passes after, and the reasons.

    Exit status: 0 repaired; 1 finished without a proved patch; 2 usage or configuration; 3 the model's provider
    failed; 4 no sandbox; 5 budget spent; 130 interrupted.
    """
    from rich.console import Console

    from experepair.cli.display import display
    from experepair.cli.interruption import interruptible
    from experepair.session.repair import repair

    settings["no_recall"] = no_recall or None
    settings["no_learn"] = no_learn or None
    settings["recall"] |= _without(without or [])
    console = Console(stderr=True)
    with interruptible(), display(console) as shown:
        result = repair(
            repo,
            issue,
            issue_author=issue_author,
            commit=commit,
            include_dirty=include_dirty,
            failing_test=failing_test,
            out=out,
            resume=resume,
            apply=apply,
            memory=memory,
            untrusted=untrusted,
            observer=shown,
            tell=lambda note: console.print(note, markup=False, highlight=False, soft_wrap=True),
            **settings,
        )
    if json:
        typer.echo(result.model_dump_json(indent=2))
    else:
        conclude(result, Console())
    if apply and not result.not_applied and result.exit_status == 0:
        console.print("the patch is applied to the work tree", markup=False)
    if result.not_applied:
        console.print(f"the patch was not applied: {result.not_applied}", markup=False, style="red")
        raise typer.Exit(2)
    raise typer.Exit(result.exit_status)


def conclude(result: Result, console: Console) -> None:
    """Say how it ended, and where the results are."""
    from rich.text import Text

    from experepair.domain.text import visible
    from experepair.steps.report import PATCH

    colour = "green" if result.exit_status == 0 else "yellow"
    console.print(
        Text.assemble((result.status, f"bold {colour}"), f"  {visible(result.error or result.issue.title)}")
    )
    if result.out:
        patch = Path(result.out) / PATCH
        if result.patch and patch.is_file():
            diff = visible(patch.read_text("utf-8", "replace"))
            for line in diff.splitlines():
                console.print(Text(line, _COLOURS.get(line[:1], "")), soft_wrap=True)
        for note in result.memory.similar if result.memory else ():
            console.print(Text(f"this issue is {visible(note)}"))
        for flag in result.patch.flags if result.patch else ():
            console.print(Text(f"look twice: {visible(flag)}", style="yellow"))
        console.print(
            f"the whole story: {result.out}/report.md", markup=False, highlight=False, soft_wrap=True
        )


def _without(given: list[str]) -> dict[str, bool]:
    from experepair.errors import UsageError

    known = ("demonstrations", "insights")
    if wrong := [name for name in given if name not in known]:
        raise UsageError(f"--without {wrong[0]!r} is neither demonstrations nor insights")
    return dict.fromkeys(given, False)
