"""What a repository's code runs on, and whether it can be imported there."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from experepair.domain.command import Command
from experepair.errors import UsageError
from experepair.sandbox.journalled import JournalledSandbox
from experepair.steps.target import source
from experepair.workspace.checkout import Checkout

_OLDEST_CURRENT = (3, 11)
"""From this version on prompts don't say which it is: the difference rarely matters, and journals stay portable."""
_SOURCE_FOLDERS = ("src", "lib")
_NOT_PACKAGES = re.compile(r"tests?$|testing$|docs?$|examples?$|benchmarks?$|scripts?$|tools?$|bin$")
_PACKAGES = 3
_LONGEST_IMPORT_ERROR = 1500
_IMPORT_ERROR = "\n--- import error ---\n"


@dataclass(frozen=True, slots=True)
class Environment:
    """What was seen by running the target's interpreter in the sandbox.

    Attributes:
        python_version: as prompts say it: "3.9", or "3.11 or later".
        import_error: what importing the repository's own packages fails with; "" when it works.
        variables: of every command.
    """

    python_version: str
    import_error: str
    variables: tuple[tuple[str, str], ...]

    @property
    def notes(self) -> tuple[str, ...]:
        """What the user should know."""
        last = self.import_error.splitlines()[-1:] if self.import_error else []
        return tuple(f"importing the repository's own package fails in the sandbox: {line}" for line in last)


async def examine(sandbox: JournalledSandbox, tree: Checkout, root: Path) -> Environment:
    """Run the interpreter and import the repository's packages.

    Args:
        sandbox: over the checkout.
        tree: the checkout.
        root: where commands see it.

    Raises:
        UsageError: the interpreter doesn't run.
    """
    variables = _import_path(tree, root)
    command = Command(("{python}", "-c", source("environment"), *_packages(tree)), env=variables)
    completed = await sandbox.run(command, purpose="the interpreter, and importing the repository")
    first, _, rest = completed.stdout.partition("\n")
    try:
        version = tuple(int(part) for part in first.split("."))
    except ValueError:
        said = completed.stderr.strip() or f"exit status {completed.exit_code}"
        raise UsageError(
            f"the repository's interpreter does not run in the sandbox: {said}; name another one with --python"
        ) from None
    shown = "3.11 or later" if version >= _OLDEST_CURRENT else first
    error = rest.rpartition(_IMPORT_ERROR)[2] if _IMPORT_ERROR in rest else ""
    return Environment(shown, error.strip()[-_LONGEST_IMPORT_ERROR:], variables)


def _packages(tree: Checkout) -> tuple[str, ...]:
    """Top-level packages of the repository, without its tests, documentation and examples."""
    found: dict[str, None] = {}
    for path in tree.files():
        parts = path.split("/")
        inner = parts[1:] if parts[0] in _SOURCE_FOLDERS else parts
        if len(inner) == 2 and inner[1] == "__init__.py" and not _NOT_PACKAGES.match(inner[0]):
            found[inner[0]] = None
    return tuple(found)[:_PACKAGES]


def _import_path(tree: Checkout, root: Path) -> tuple[tuple[str, str], ...]:
    """The private tree comes first on the import path, so that scripts import the patched code."""
    folders = [root]
    folders.extend(
        root / name for name in _SOURCE_FOLDERS if any(f.startswith(f"{name}/") for f in tree.files())
    )
    return (("PYTHONPATH", ":".join(str(folder) for folder in folders)),)
