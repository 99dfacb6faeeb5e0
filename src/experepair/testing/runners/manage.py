"""Runs tests of a project that uses Django by its `manage.py test`, which takes and prints what unittest does."""

from __future__ import annotations

from experepair.testing.runners.unittest import Unittest

SCRIPT = "manage.py"


def manage(folder: str = "", env: tuple[tuple[str, str], ...] = ()) -> Unittest:
    """`manage.py test`, in one process.

    Args:
        folder: where manage.py lies, "" for the top; labels are relative to it.
        env: variables that the project's configuration sets.
    """
    return Unittest(folder, env, "manage.py test", (SCRIPT, "test", "--verbosity=2", "--noinput"))
