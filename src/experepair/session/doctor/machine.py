"""What every repair needs of this machine: git, a sandbox, a cache, a memory."""

from __future__ import annotations

import os
import shutil
import subprocess

from experepair.errors import ExpeRepairError, UsageError
from experepair.folders import cache_folder
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


def backend(report: BackendReport) -> Finding:
    """What a backend of the sandbox proved."""
    what = f"sandbox: {report.backend}"
    if report.works and report.isolation is not None:
        kept = ", ".join(proof.promise for proof in report.proofs if proof.kept)
        weaker = "; ".join(report.isolation.notes)
        found = f"{report.isolation.tree}; memory by {report.isolation.memory}; proved by running: {kept}"
        return good(what, f"{found} ({weaker})" if weaker else found)
    state = State.BAD if report.remedy and report.backend == "bubblewrap" else State.NOTE
    return Finding(what=what, state=state, found=report.reason, remedy=report.remedy)


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
