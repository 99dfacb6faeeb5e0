"""`experepair fix`: repair one issue."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from experepair.steps.result import Result

_COLOURS = {"+": "green", "-": "red", "@": "cyan"}


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
    model: Annotated[
        str | None,
        typer.Option(
            "--model", "-m", help="PROVIDER:NAME for all roles, or manual (prompts and replies as files)."
        ),
    ] = None,
    model_reproduce: Annotated[str | None, typer.Option(help="Model that writes the reproduction.")] = None,
    model_judge: Annotated[str | None, typer.Option(help="Model that judges the reproduction.")] = None,
    model_localize: Annotated[str | None, typer.Option(help="Model that chooses files and places.")] = None,
    model_patch: Annotated[str | None, typer.Option(help="Model that writes patches.")] = None,
    model_refine: Annotated[str | None, typer.Option(help="Model that refines patches.")] = None,
    model_validate: Annotated[str | None, typer.Option(help="Model that writes validation tests.")] = None,
    model_review: Annotated[str | None, typer.Option(help="Model that chooses the patch.")] = None,
    model_summarize: Annotated[str | None, typer.Option(help="Model that draws insights.")] = None,
    temperature: Annotated[
        list[str] | None,
        typer.Option(help="ROLE=T or T: temperature of one role, or of all; may be given several times."),
    ] = None,
    base_url: Annotated[
        str | None, typer.Option(help="URL of an API compatible with the provider's.")
    ] = None,
    sampling: Annotated[
        str | None,
        typer.Option(
            help="parallel (quickest), or first-then-rest (finds the prompt in the provider's cache)."
        ),
    ] = None,
    price: Annotated[
        str | None,
        typer.Option(help="IN/OUT: US dollars per million tokens, for a model without a known price."),
    ] = None,
    max_cost: Annotated[
        float | None, typer.Option(help="Stop before more than this many US dollars are spent.")
    ] = None,
    max_tokens: Annotated[
        int | None, typer.Option(help="Stop before more than this many tokens are used.")
    ] = None,
    sandbox: Annotated[
        str | None, typer.Option(help="auto, bubblewrap, docker, podman, or none (no isolation at all).")
    ] = None,
    python: Annotated[str | None, typer.Option(help="Interpreter that runs the repository's code.")] = None,
    image: Annotated[
        str | None,
        typer.Option(
            help="Image of docker or podman that holds the repository's environment; commands run in it."
        ),
    ] = None,
    image_workdir: Annotated[
        str | None, typer.Option(help="Where the repository is in --image (default: found by looking).")
    ] = None,
    rootfs: Annotated[
        Path | None, typer.Option(help="Root file system to run in, for example one made by debootstrap.")
    ] = None,
    setup: Annotated[
        str | None,
        typer.Option(
            help="Command that makes the checkout ready (builds it, makes an environment); run once a commit."
        ),
    ] = None,
    setup_network: Annotated[
        bool | None,
        typer.Option("--setup-network", help="Let the set-up, and nothing else, reach the network."),
    ] = None,
    build_products: Annotated[
        bool | None,
        typer.Option(
            "--build-products",
            help="Lay untracked build products of the checkout (*.so, _version.py) under the private tree.",
        ),
    ] = None,
    preflight: Annotated[
        bool | None,
        typer.Option(
            "--preflight/--no-preflight", help="Refuse to begin when tests wouldn't import the private tree."
        ),
    ] = None,
    test_command: Annotated[
        str | None, typer.Option(help="How existing tests are run, with {files} for the test files.")
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
    retriever: Annotated[
        str | None, typer.Option(help="What finds demonstrations: bm25, paper, embedding or hybrid.")
    ] = None,
    top_k: Annotated[
        int | None, typer.Option(help="Demonstrations in a prompt, each from another issue (default 5).")
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
) -> None:
    """Repair one issue of a repository: a patch, a test that fails before and passes after, and the reasons.

    Exit status: 0 repaired; 1 finished without a proved patch; 2 usage or configuration; 3 the model's provider
    failed; 4 no sandbox; 5 budget spent; 130 interrupted.
    """
    from rich.console import Console

    from experepair.cli.display import display
    from experepair.cli.interruption import interruptible
    from experepair.domain.roles import Role
    from experepair.session.repair import repair

    by_role = {
        Role.REPRODUCE: model_reproduce,
        Role.JUDGE: model_judge,
        Role.LOCALIZE: model_localize,
        Role.PATCH: model_patch,
        Role.REFINE: model_refine,
        Role.VALIDATE: model_validate,
        Role.REVIEW: model_review,
        Role.SUMMARIZE: model_summarize,
    }
    settings: dict[str, Any] = {
        "model": model,
        "models": {role: name for role, name in by_role.items() if name},
        "temperatures": _temperatures(temperature or []),
        "base_url": base_url,
        "sampling": sampling,
        "price": price,
        "max_cost": max_cost,
        "max_tokens": max_tokens,
        "sandbox": sandbox,
        "python": python,
        "rootfs": rootfs,
        "image": image,
        "image_workdir": image_workdir,
        "setup": setup,
        "setup_network": setup_network,
        "build_products": build_products,
        "preflight": preflight,
        "test_command": test_command,
        "no_recall": no_recall or None,
        "no_learn": no_learn or None,
        "recall": _recall(without or [], retriever, top_k),
    }
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


def _recall(without: list[str], retriever: str | None, top_k: int | None) -> dict[str, Any]:
    from experepair.errors import UsageError

    known = ("demonstrations", "insights")
    if wrong := [name for name in without if name not in known]:
        raise UsageError(f"--without {wrong[0]!r} is neither demonstrations nor insights")
    given: dict[str, Any] = {"retriever": retriever, "top_k": top_k}
    return {name: value for name, value in given.items() if value is not None} | dict.fromkeys(without, False)


def _temperatures(given: list[str]) -> dict[Any, float]:
    from experepair.domain.roles import Role
    from experepair.errors import UsageError

    temperatures: dict[Role, float] = {}
    for text in given:
        name, _, value = text.rpartition("=")
        try:
            roles = [Role(name)] if name else list(Role)
            temperatures.update(dict.fromkeys(roles, float(value)))
        except ValueError as error:
            raise UsageError(
                f"--temperature {text!r} is neither T nor ROLE=T; roles are {', '.join(Role)}"
            ) from error
    return temperatures
