"""Runs tests of Django itself by its own runner."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from experepair.domain.command import Command
from experepair.testing.run import HASH_SEED, Target, module_name
from experepair.testing.runners.unittest import dotted, read_one, read_run

RUNNER = "tests/runtests.py"
_OPTIONS = ("--verbosity=2", "--settings=test_sqlite", "--parallel=1")


@dataclass(frozen=True, slots=True)
class Django:
    """`tests/runtests.py` with SQLite, in one process."""

    name: str = "django"

    def suite(self, files: Sequence[str]) -> Target:
        """All tests of some files."""
        return Target(_command([_label(module_name(file)) for file in files]), read_run)

    def single(self, node_id: str) -> Target:
        """One test, as `app.module.Class.test`, `test (app.module.Class)` or `tests/app/module.py::Class::test`."""
        label = _label(dotted(node_id))
        return Target(_command([label]), partial(read_one, label))


def _command(labels: Sequence[str]) -> Command:
    return Command(("{python}", RUNNER, *_OPTIONS, *labels), env=HASH_SEED)


def _label(name: str) -> str:
    return name.removeprefix("tests.")
