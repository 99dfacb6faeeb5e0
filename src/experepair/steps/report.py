"""The results of a repair on disk: the story for people, the facts for machines, the patch and the test to keep."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from experepair.domain.text import visible
from experepair.errors import OutputError
from experepair.localize.explain import confidence, explain
from experepair.steps.checks import ScriptCheck
from experepair.steps.kit import Kit
from experepair.steps.progress import Progress
from experepair.steps.result import EvidenceInfo, Result

if TYPE_CHECKING:
    from jinja2 import Template

RESULT, PATCH, TEST, REPORT = "result.json", "patch.diff", "reproduce_test.py", "report.md"
"""Names of the files in the folder of a run, beside its journal."""


def publish(result: Result, progress: Progress, kit: Kit) -> None:
    """Write all results into the folder of the run; none of them is ever there by half.

    Raises:
        OutputError: one can't be written; what was there before is unchanged.
    """
    if kit.out is None:
        return
    files = {
        RESULT: result.model_dump_json(indent=2) + "\n",
        REPORT: report(result),
        PATCH: result.patch.diff if result.patch else None,
        TEST: kept_test(result, progress),
    }
    write_all(kit.out, files)


def report(result: Result) -> str:
    """The story of a repair as Markdown; what came from issue, code and models can't hide in it."""
    return visible(_template().render(result=result))


def kept_test(result: Result, progress: Progress) -> str | None:
    """The reproduction as a test file that runs alone and under pytest; None when there is none to keep."""
    reproduction = progress.reproduction
    if reproduction is None or not isinstance(reproduction.check, ScriptCheck):
        return None
    head = f"# Reproduces: {visible(result.issue.title)}\n"
    if "from __future__" not in reproduction.source:  # which must come first
        head += (
            "import sys\n\nsys.path[:0] = ['', 'src', 'lib']  # run it from the root of the repository\n\n"
        )
    return head + reproduction.check.script.source


def write_all(folder: Path, files: Mapping[str, str | None]) -> None:
    """Put files into a folder, each whole or not at all; None removes one that an earlier run left.

    Raises:
        OutputError: one can't be written; the file that was there before is unchanged.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            if text is None:
                (folder / name).unlink(missing_ok=True)
            else:
                _replace(folder / name, text.encode("utf-8", "surrogateescape"))
    except OSError as error:
        raise OutputError(
            f"can't write the results into {str(folder)!r}: {error.strerror or error}"
        ) from error


def _replace(path: Path, content: bytes) -> None:
    fd, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(fd, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).chmod(0o644)
        Path(temporary).replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(temporary).unlink()
        raise


@cache
def _template() -> Template:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("experepair.steps", "."),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # noqa: S701 - Markdown; `fence` and `cell` escape what it needs
    )
    environment.filters.update(fence=_fence, cell=_cell, why=_why, confidence=confidence)
    return environment.get_template("report.md.j2")


def _fence(text: str, language: str = "") -> str:
    from experepair.prompts.loader import code

    return code(text, language)


def _why(evidence: Sequence[EvidenceInfo]) -> str:
    return "; ".join(f"{explain(one.kind, one.detail)} ({one.weight:.2f})" for one in evidence)


def _cell(text: str) -> str:
    """Text for a cell of a table or one line: no line ends, no column marks, no HTML."""
    flat = " ".join(str(text).split())
    return flat.replace("&", "&amp;").replace("<", "&lt;").replace("|", "\\|")
