"""What every repair needs of this machine: git, a sandbox, a cache, a memory."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence

from experepair.errors import ExpeRepairError, UsageError
from experepair.folders import cache_folder
from experepair.sandbox.engine import ENGINES
from experepair.sandbox.open import Kind
from experepair.sandbox.probe import BackendReport
from experepair.session.doctor.finding import Finding, State, bad, good, note
from experepair.session.memory import NONE, open_store
from experepair.session.settings import Settings

_LEAST_FREE_MB = 500


def git() -> Finding:
    """Whether git runs."""
    try:
        said = subprocess.run(["git", "--version"], capture_output=True, check=True, text=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return bad("git", "missing", "install git: apt-get install git")
    return good("git", said.strip().removeprefix("git version "))


def sandboxes(reports: Sequence[BackendReport], kind: Kind, *, image: bool) -> tuple[list[Finding], bool]:
    """What each backend of the sandbox proved, and whether one that a repair would take works.

    Args:
        reports: of all backends.
        kind: as for `fix --sandbox`.
        image: whether an image is given.
    """
    wanted = _wanted(kind, image=image)
    works = kind is Kind.NONE or any(report.works for report in reports if report.backend in wanted)
    findings = [_backend(report, missed=not works and report.backend in wanted) for report in reports]
    if kind is Kind.NONE:
        chosen = "chosen by the flag: commands run with your own rights, in a copied tree"
        findings.insert(0, note("sandbox: none", chosen, "leave --sandbox none out where another one works"))
    return findings, works


def _wanted(kind: Kind, *, image: bool) -> tuple[str, ...]:
    """Backends that a repair would take."""
    if kind is Kind.AUTO:
        return ENGINES if image else (str(Kind.BUBBLEWRAP),)
    return (str(kind),)


def _backend(report: BackendReport, *, missed: bool) -> Finding:
    what = f"sandbox: {report.backend}"
    if not report.works or report.isolation is None:
        state = State.BAD if missed else State.NOTE
        return Finding(what=what, state=state, found=report.reason, remedy=report.remedy)
    kept = ", ".join(proof.promise for proof in report.proofs if proof.kept)
    weaker = "; ".join(report.isolation.notes)
    found = f"{report.isolation.tree}; memory by {report.isolation.memory}; proved by running: {kept}"
    state = State.NOTE if report.remedy else State.GOOD
    found = f"{found} ({weaker})" if weaker else found
    return Finding(what=what, state=state, found=found, remedy=report.remedy)


def cache() -> Finding:
    """Whether checkouts can be kept."""
    folder = cache_folder()
    elsewhere = "set XDG_CACHE_HOME to a folder that can be written"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        free = shutil.disk_usage(folder).free // 2**20
    except OSError as error:
        return bad("cache", f"{folder}: {error.strerror}", elsewhere)
    if not os.access(folder, os.W_OK):
        return bad("cache", f"{folder} is read-only", elsewhere)
    if free < _LEAST_FREE_MB:
        return bad("cache", f"{folder}: {free} MiB free", "make room")
    return good("cache", f"{folder}, {free} MiB free; may be deleted at any time")


def memory(settings: Settings) -> Finding:
    """Whether the store opens."""
    if settings.memory == NONE:
        return note(
            "memory",
            "switched off: nothing is recalled or learned",
            "give --memory, or leave the setting out",
        )
    try:
        with open_store(settings, make=False) as store:
            return good("memory", f"{store.url} opens")
    except UsageError as error:
        return good("memory", f"{error}; so far nothing is remembered")
    except ExpeRepairError as error:
        return bad("memory", str(error), "give another one with --memory, or --memory none")
