"""Options that several commands share: what a repair is told, whichever command makes it."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

Options = Callable[..., dict[str, Any]]
"""A function whose parameters are options, and whose value is what they say together."""


def takes(options: Options, parameter: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the options of a function, and hand it what they say as one parameter.

    Args:
        options: whose parameters become options of the command; those that the command has itself stay its own.
        parameter: of the command.
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        own = dict(inspect.signature(command, eval_str=True).parameters)
        del own[parameter]
        shared = {
            name: one
            for name, one in inspect.signature(options, eval_str=True).parameters.items()
            if name not in own
        }

        @functools.wraps(command)
        def together(**given: Any) -> None:
            told = options(**{name: given.pop(name) for name in shared})
            command(**given, **{parameter: told})

        parameters = [
            one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in (*own.values(), *shared.values())
        ]
        del together.__wrapped__  # its signature is another one
        together.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        together.__annotations__ = {one.name: one.annotation for one in parameters}
        return together

    return decorate


def repair_settings(
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
    profile: Annotated[
        str,
        typer.Option(
            help="default, or paper: all of the paper's appendix and nothing more; flags go over it."
        ),
    ] = "default",
    retriever: Annotated[
        str | None, typer.Option(help="What finds demonstrations: bm25, paper, embedding or hybrid.")
    ] = None,
    top_k: Annotated[
        int | None, typer.Option(help="Demonstrations in a prompt, each from another issue (default 5).")
    ] = None,
) -> dict[str, Any]:
    """Fields of the settings of a repair; "profile" beside them."""
    from experepair.domain.roles import Role

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
    recall = {"retriever": retriever, "top_k": top_k}
    return {
        "profile": profile,
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
        "recall": {name: value for name, value in recall.items() if value is not None},
    }


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
