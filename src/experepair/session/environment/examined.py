"""What a repository's code runs on, and whether it can be imported there."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from experepair.domain.command import Changes, Command
from experepair.errors import UsageError
from experepair.sandbox.journalled import JournalledSandbox
from experepair.session.environment.packages import Layout, Package, layout
from experepair.session.environment.preflight import Imported, Preflight, judge
from experepair.session.environment.remedies import Surroundings
from experepair.steps.target import source
from experepair.testing.framework import Framework
from experepair.workspace.checkout import Checkout

_OLDEST_CURRENT = (3, 11)
"""From this version on prompts don't say which it is: the difference rarely matters, and journals stay portable."""
_LONGEST_IMPORT_ERROR = 1500
_EXAMINED = "\n--- examined ---\n"
_IMPORT_ERROR = "\n--- import error ---\n"


@dataclass(frozen=True, slots=True)
class Environment:
    """What was seen by running the target's interpreter in the sandbox.

    Attributes:
        python_version: as prompts say it: "3.9", or "3.11 or later".
        import_error: what importing the repository's own packages fails with; "" when it works.
        variables: of every command.
        preflight: whether tests import this tree.
        notes: what the user should know.
    """

    python_version: str
    import_error: str
    variables: tuple[tuple[str, str], ...]
    preflight: Preflight
    notes: tuple[str, ...] = ()


async def examine(
    sandbox: JournalledSandbox,
    tree: Checkout,
    root: Path,
    surroundings: Surroundings | None = None,
    framework: Framework | None = None,
) -> Environment:
    """Run the interpreter and import the repository's packages, with a sentinel planted in the private tree.

    Args:
        sandbox: over the checkout.
        tree: the checkout.
        root: where commands see it.
        surroundings: what remedies are chosen by.
        framework: what runs the existing tests.

    Raises:
        UsageError: the interpreter doesn't run.
    """
    found = layout(tree.files(), tree.read)
    variables = _import_path(found, root)
    sentinel = f"experepair-sentinel-{tree.tree_id[:16]}"
    packages, changes = _planted(found, tree, sentinel)
    modules = ("pytest",) if framework is not None and framework.name.startswith("pytest") else ()
    command = Command(
        ("{python}", "-c", source("environment"), sentinel, *(one.name for one in packages), "--", *modules),
        env=variables,
    )
    completed = await sandbox.run(command, changes, purpose="the interpreter, and importing the repository")
    first, _, rest = completed.stdout.partition("\n")
    try:
        version = tuple(int(part) for part in first.split("."))
    except ValueError:
        said = completed.stderr.strip() or f"exit status {completed.exit_code}"
        raise UsageError(
            f"the repository's interpreter does not run in the sandbox: {said}; name another one with --python"
        ) from None
    told, _, error = rest.rpartition(_EXAMINED)[2].partition(_IMPORT_ERROR)
    results = _results(told)
    surroundings = surroundings or Surroundings()
    preflight = judge(packages, _imported(results), found, surroundings, version)
    return Environment(
        "3.11 or later" if version >= _OLDEST_CURRENT else first,
        error.strip()[-_LONGEST_IMPORT_ERROR:],
        variables,
        preflight,
        (*preflight.notes, *_lacking(results, surroundings)),
    )


def _planted(found: Layout, tree: Checkout, sentinel: str) -> tuple[tuple[Package, ...], Changes]:
    """The packages that can be examined, and their module files with the sentinel as a last line."""
    changes: dict[str, bytes | None] = {}
    packages = []
    for package in found.packages:
        content = tree.read(package.file)
        if content is not None:
            packages.append(package)
            changes[package.file] = content.rstrip(b"\r\n") + f"\n# {sentinel}\n".encode()
    return tuple(packages), changes


def _results(told: str) -> dict[str, Any]:
    """What the examination printed; code that ends the interpreter when it is imported leaves nothing."""
    try:
        results = json.loads(told)
    except ValueError:
        return {}
    return results if isinstance(results, dict) else {}


def _imported(results: dict[str, Any]) -> dict[str, Imported]:
    imported = {}
    for each in results.get("packages", ()):
        error = each["error"] or {}
        imported[each["name"]] = Imported(
            seen=each["seen"],
            origin=each["origin"],
            kinds=tuple(error.get("kinds", ())),
            missing=error.get("missing", ""),
            said=error.get("said", ""),
        )
    return imported


def _lacking(results: dict[str, Any], surroundings: Surroundings) -> tuple[str, ...]:
    """Modules that run the tests and aren't there."""
    return tuple(
        f"existing tests are run by {module}, which the interpreter doesn't have: {surroundings.to_install(module)}"
        for module, there in results.get("has", {}).items()
        if not there
    )


def _import_path(found: Layout, root: Path) -> tuple[tuple[str, str], ...]:
    """The private tree comes first on the import path, so that scripts import the patched code."""
    return (("PYTHONPATH", ":".join(str(root / folder) for folder in found.folders)),)
