"""What executions stand on: the checkout with the layers that the user asked for, and the interpreter."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Protocol

from experepair.errors import UsageError
from experepair.folders import cache_folder
from experepair.sandbox.interpreter import Interpreter
from experepair.sandbox.sandbox import IsolatedSandbox
from experepair.session.environment.layers import lay_archive, lay_products, layered, only_one
from experepair.session.environment.products import EXTENSIONS, build_products, is_generated
from experepair.session.environment.remedies import Surroundings
from experepair.session.environment.setup import opened_archive, set_up
from experepair.session.settings import Settings
from experepair.workspace.checkout import Checkout
from experepair.workspace.repository import Repository

_OWN_ENVIRONMENTS = (".venv", "venv")
_NAMED = 4


class Opening(Protocol):
    """Opens a sandbox as this repair has it, over a tree."""

    def __call__(
        self, *, tree: Path, interpreter: Interpreter, network: bool = False
    ) -> AbstractAsyncContextManager[IsolatedSandbox]:
        """For an `async with` block."""
        ...


@dataclass(frozen=True, slots=True)
class Ground:
    """What executions stand on.

    Attributes:
        tree: the checkout, or a linked copy of it with layers.
        interpreter: runs the repository's code.
        layers: names what was laid, "" for the bare checkout; outcomes depend on it.
        surroundings: what remedies are chosen by.
        notes: what the user should know.
    """

    tree: Path
    interpreter: Interpreter
    layers: str
    surroundings: Surroundings
    notes: tuple[str, ...] = ()


async def prepare(
    checkout: Checkout,
    repository: Repository,
    interpreter: Interpreter,
    settings: Settings,
    opening: Opening,
    tell: Callable[[str], None] = lambda note: None,
) -> Ground:
    """Lay the checkout's build products under the tree, then run the set-up, each if it is asked for and not yet done.

    Raises:
        UsageError: there are no build products, or the set-up fails.
        SandboxUnavailable: the set-up can't be isolated.
        OutputError: a layer can't be written.
    """
    around = surroundings(checkout, repository, interpreter, settings)
    tree, layers, notes = checkout.root, "", []
    if settings.build_products:
        products = around.products()
        if not products:
            raise UsageError(
                f"--build-products: {str(repository.root)!r} holds none (untracked *.so, or generated *.py that git "
                "ignores); build the project there first, or leave the flag out"
            )
        layers = _digest(checkout.tree_id, "products", *_states(repository.root, products))
        lay = lay_products(repository.root, products)
        tree = await asyncio.to_thread(layered, tree, _folder(layers), lay)
        shown = sorted(products, key=lambda path: not path.endswith(EXTENSIONS))
        notes.append(f"build products of the checkout lie under the tree: {_some(shown)}")
    elif extensions := [path for path in around.products() if path.endswith(EXTENSIONS)]:
        notes.append(
            f"compiled parts of the checkout are not used: {_some(extensions)}; --build-products lays them under the tree"
        )
    if settings.setup:
        image = await _image(tree, interpreter, opening) if settings.image else ""
        layers = _digest(checkout.tree_id, layers, image, *_set_up_by(settings, interpreter))
        tell(f"set-up: {settings.setup}")
        tree, said = await _with_setup(
            tree, _folder(layers), interpreter, settings, opening, set(checkout.files())
        )
        notes += said
        if not settings.image:
            interpreter = _own_environment(tree, repository.root, interpreter, settings)
        around = replace(around, python=interpreter.path, found=interpreter.found)
    return Ground(tree, interpreter, layers, around, tuple(notes))


def surroundings(
    checkout: Checkout, repository: Repository, interpreter: Interpreter, settings: Settings
) -> Surroundings:
    """What remedies are chosen by, for this repository and interpreter."""
    return Surroundings(
        repository=str(repository.root),
        python=interpreter.path,
        found=interpreter.found,
        other_root=settings.rootfs is not None or settings.image is not None,
        setup=settings.setup or "",
        build_products=settings.build_products,
        products=partial(build_products, repository, checkout.files()),
        generated=partial(is_generated, repository, checkout.files()),
    )


async def _image(tree: Path, interpreter: Interpreter, opening: Opening) -> str:
    """Id of the image, whose name may stand for another one tomorrow."""
    async with opening(tree=tree, interpreter=interpreter) as sandbox:
        return sandbox.isolation.image


async def _with_setup(
    tree: Path,
    folder: Path,
    interpreter: Interpreter,
    settings: Settings,
    opening: Opening,
    tracked: set[str],
) -> tuple[Path, list[str]]:
    log = folder / "setup.log"
    archive = folder / "setup.tar.gz"
    async with only_one(folder):
        if not archive.is_file():
            async with opening(tree=tree, interpreter=interpreter, network=settings.setup_network) as sandbox:
                done = await set_up(
                    sandbox,
                    settings.setup or "",
                    network=settings.setup_network,
                    limits=settings.setup_limits,
                    log=log,
                )
            partial_archive = archive.with_suffix(".new")
            partial_archive.write_bytes(done.archive)
            partial_archive.rename(archive)
    with opened_archive(archive.read_bytes()) as opened:
        names = [member.name.removeprefix("tree/") for member in opened if member.isfile()]
    with opened_archive(archive.read_bytes()) as opened:
        home = await asyncio.to_thread(layered, tree, folder, lay_archive(opened))
    notes = [f"the set-up's output is kept in {log}"]
    if changed := sorted(tracked.intersection(names)):
        notes.append(
            f"the set-up changed files of the commit: {_some(changed)}; a patch to one replaces that change"
        )
    return home, notes


def _own_environment(tree: Path, root: Path, interpreter: Interpreter, settings: Settings) -> Interpreter:
    """The environment that the set-up made in the tree, if it made one and no other is asked for."""
    if settings.python is not None:
        return interpreter
    for name in _OWN_ENVIRONMENTS:
        if (tree / name / "pyvenv.cfg").is_file() and os.path.lexists(tree / name / "bin/python"):
            return replace(interpreter, path=f"{root}/{name}/bin/python", found="--setup", virtual=True)
    return interpreter


def _set_up_by(settings: Settings, interpreter: Interpreter) -> tuple[str, ...]:
    """All that decides what a set-up leaves; installing into the environment makes it run again."""
    installed = [
        f"{place} {place.stat().st_mtime_ns}"
        for prefix in interpreter.prefixes
        for place in sorted(Path(prefix).glob("lib*/python3*/site-packages"))
    ]
    return (
        settings.setup or "",
        str(settings.setup_network),
        str(settings.rootfs),
        str(settings.sandbox),
        interpreter.path,
        interpreter.version,
        *installed,
    )


def _states(root: Path, paths: Sequence[str]) -> list[str]:
    return [f"{path} {(root / path).stat().st_size} {(root / path).stat().st_mtime_ns}" for path in paths]


def _digest(*parts: str) -> str:
    return hashlib.sha256(json.dumps(parts).encode("utf-8", "surrogatepass")).hexdigest()[:24]


def _folder(layers: str) -> Path:
    return cache_folder().resolve() / "layers" / layers


def _some(paths: Sequence[str]) -> str:
    more = f" and {len(paths) - _NAMED} more" if len(paths) > _NAMED else ""
    return ", ".join(paths[:_NAMED]) + more
