"""Runs tests of a project that uses Django by its `manage.py test`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from experepair.domain.command import Command
from experepair.testing.run import HASH_SEED, Target, module_name
from experepair.testing.runners.unittest import dotted, read_one, read_run

SCRIPT = "manage.py"


@dataclass(frozen=True, slots=True)
class Manage:
    """`manage.py test`, in one process.

    Attributes:
        folder: where manage.py lies, "" for the top; labels are relative to it.
        env: variables that the project's configuration sets.
    """

    folder: str = ""
    env: tuple[tuple[str, str], ...] = ()
    name: str = "manage.py test"

    def suite(self, files: Sequence[str]) -> Target:
        """All tests of some files."""
        return Target(self._command([self._label(module_name(file)) for file in files]), read_run)

    def single(self, node_id: str) -> Target:
        """One test, as `app.tests.Class.test`, `test (app.tests.Class)` or `app/tests.py::Class::test`."""
        label = self._label(dotted(node_id))
        return Target(self._command([label]), partial(read_one, label))

    def _label(self, name: str) -> str:
        return name.removeprefix(self.folder.replace("/", ".") + ".") if self.folder else name

    def _command(self, labels: Sequence[str]) -> Command:
        argv = ("{python}", SCRIPT, "test", "--verbosity=2", "--noinput", *labels)
        return Command(argv, env=(*self.env, *HASH_SEED), cwd=self.folder or ".")
