"""Whether a repository's code and tests run here: everything that `fix` does before it asks a model."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

from experepair.domain.outcome import Outcome
from experepair.errors import ExpeRepairError
from experepair.folders import cache_folder
from experepair.journal.journal import Journal
from experepair.sandbox.image import ImageChoice
from experepair.sandbox.interpreter import Interpreter, find_interpreter
from experepair.sandbox.journalled import JournalledSandbox
from experepair.sandbox.normalise import normalise
from experepair.sandbox.open import open_sandbox
from experepair.sandbox.sandbox import IsolatedSandbox, Limits
from experepair.session.doctor.finding import Finding, bad, good, note
from experepair.session.environment import Environment, Ground, examine, prepare
from experepair.session.environment.preflight import Verdict
from experepair.session.opened import IN_IMAGE, image_of
from experepair.session.settings import Settings
from experepair.testing.explained import explain
from experepair.testing.framework import Framework, Recognition, is_test_file, look
from experepair.workspace.checkout import Checkout, checkout
from experepair.workspace.repository import Repository

_TEST_S = 60.0
_OUTPUT_KB = 2048
_FILES = 4
"""Test files that are tried, until one's tests are not all skipped."""


def repository(path: Path, settings: Settings) -> Iterator[Finding]:
    """The repository, its interpreter, whether tests import its tree, and one file of its tests.

    Args:
        path: as for `fix`.
        settings: with the flags that would be given to `fix`.
    """
    try:
        opened = Repository.open(path)
        commit = opened.resolve("HEAD")
    except ExpeRepairError as error:
        yield bad("repository", str(error))
        return
    found = f"{opened.scope} at {commit[:12]}"
    if opened.is_dirty():
        yield note(
            "repository", f"{found}, with uncommitted changes", "commit them, or give --include-dirty to fix"
        )
    else:
        yield good("repository", found)
    try:
        image = image_of(settings)
        interpreter = (
            IN_IMAGE if image else find_interpreter(opened.root, settings.python, rootfs=settings.rootfs)
        )
        tree = checkout(opened, commit, cache_folder() / "checkouts")
    except ExpeRepairError as error:
        yield bad("interpreter", str(error))
        return
    if image is None:
        yield _interpreter(interpreter)
    yield from asyncio.run(_run(opened, tree, interpreter, image, settings))


def _interpreter(interpreter: Interpreter) -> Finding:
    version = f"Python {interpreter.version}, " if interpreter.version else ""
    found = f"{interpreter.path} ({version}from {interpreter.found})"
    if interpreter.notes:
        return note("interpreter", found, "; ".join(interpreter.notes))
    return good("interpreter", found)


async def _run(
    opened: Repository,
    tree: Checkout,
    interpreter: Interpreter,
    image: ImageChoice | None,
    settings: Settings,
) -> list[Finding]:
    opening = partial(
        open_sandbox,
        settings.sandbox,
        mount_at=opened.root,
        image=image,
        limits=settings.limits,
        rootfs=settings.rootfs,
    )
    try:
        ground = await prepare(tree, opened, interpreter, settings, opening)
        recognition = look(tree.files(), tree.read, settings.test_command or "")
        async with opening(tree=ground.tree, interpreter=ground.interpreter) as sandbox:
            return await _in_sandbox(sandbox, tree, ground, recognition)
    except ExpeRepairError as error:
        return [bad("imports the tree", str(error))]


async def _in_sandbox(
    sandbox: IsolatedSandbox, tree: Checkout, ground: Ground, recognition: Recognition
) -> list[Finding]:
    interpreter, root = sandbox.interpreter, Path(sandbox.place)
    around = replace(ground.surroundings, python=interpreter.path, found=interpreter.found)
    with Journal.in_memory() as journal:
        clean = partial(normalise, root=str(root), interpreter=interpreter)
        journalled = JournalledSandbox(sandbox, journal, clean)
        seen = await examine(journalled, tree, root, around, recognition.framework)
        findings = [note("set-up", said) for said in ground.notes]
        if interpreter.found == "--setup":
            findings.append(
                good("interpreter", f"{interpreter.path}, which the set-up made, is the one that is used")
            )
        findings.append(_imports(seen))
        if seen.preflight.verdict is not Verdict.FAILED:
            findings.append(await _tests(journalled, tree, seen, recognition))
    return findings


def _imports(seen: Environment) -> Finding:
    preflight = seen.preflight
    if preflight.verdict is Verdict.PROVED:
        said = "; ".join(preflight.notes)
        return (
            note("imports the tree", preflight.found, said)
            if said
            else good("imports the tree", preflight.found)
        )
    if preflight.verdict is Verdict.FAILED:
        return bad("imports the tree", preflight.found, preflight.remedy)
    return note("imports the tree", f"can't be told: {preflight.found}")


async def _tests(
    sandbox: JournalledSandbox, tree: Checkout, seen: Environment, recognition: Recognition
) -> Finding:
    framework = recognition.framework
    if framework is None:
        unknown = f"; {recognition.unknown} is not known" if recognition.unknown else ""
        remedy = "say how with --test-command, with {files} where the test files go"
        return note("existing tests", f"no known way to run them{unknown}", remedy)
    how = f"{framework.name}, going by {recognition.source}"
    finding = note("existing tests", f"{how}; no test file to try was found")
    for file in _smallest(tree):
        finding, skipped = await _tried(sandbox, seen, framework, file, how)
        if not skipped:
            break
    return finding


async def _tried(
    sandbox: JournalledSandbox, seen: Environment, framework: Framework, file: str, how: str
) -> tuple[Finding, bool]:
    """What became of a test file, and whether all of its tests were skipped."""
    target = framework.suite((file,))
    command = replace(target.command, env=(*seen.variables, *target.command.env))
    limits = Limits(time_s=_TEST_S, output_kb=_OUTPUT_KB)
    run = target.parse(await sandbox.run(command, limits=limits, purpose="a test file"))
    outcomes = list(run.results.values())
    passed, failed = (
        outcomes.count(Outcome.PASSED),
        sum(one in (Outcome.FAILED, Outcome.ERROR) for one in outcomes),
    )
    skipped = outcomes.count(Outcome.SKIPPED)
    also = f", {skipped} skipped" if skipped else ""
    said = f"{how}: {passed} of {len(outcomes)} tests in {file} pass in the sandbox{also}"
    if passed and not failed:
        return good("existing tests", said), False
    why = explain(run.output)
    lines = [line for line in run.output.strip().splitlines() if line.strip()]
    last = f"the last line: {lines[-1][:300]}" if lines else "nothing was printed"
    if not outcomes or not passed:
        none = f"{how}: no test in {file} passes in the sandbox; {why or last}"
        return note("existing tests", none, *_remedies(why)), bool(skipped) and skipped == len(outcomes)
    return note("existing tests", f"{said}, {failed} fail; {why}" if why else f"{said}, {failed} fail"), False


def _remedies(why: str) -> tuple[str, ...]:
    return (
        ("install what is missing, or name the environment that has it with --python",)
        if "install" in why
        else ()
    )


def _smallest(tree: Checkout) -> list[str]:
    """Small test files, to be quick, but such as hold a test."""
    sizes = {
        file: len(content)
        for file in tree.files()
        if is_test_file(file) and b"def test" in (content := tree.read(file) or b"")
    }
    return sorted(sizes, key=lambda file: (sizes[file], file))[:_FILES]
