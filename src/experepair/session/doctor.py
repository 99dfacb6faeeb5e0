"""What this machine lacks for a repair, and how to get it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path

from pydantic import BaseModel

import experepair
from experepair.errors import ExpeRepairError, SandboxUnavailable
from experepair.folders import cache_folder
from experepair.llm.roles import check_affordable
from experepair.sandbox.interpreter import Interpreter, find_interpreter
from experepair.sandbox.probe import BackendReport, probe
from experepair.session.settings import Settings, load
from experepair.testing.framework import recognise
from experepair.workspace.checkout import Checkout, checkout
from experepair.workspace.repository import Repository

_LEAST_FREE_MB = 500


class State(StrEnum):
    """How a check came out."""

    GOOD = "good"
    NOTE = "note"
    """A repair works, but less well, or something has to be given by a flag."""
    BAD = "bad"
    """No repair works until this is mended."""


class Finding(BaseModel, frozen=True):
    """One line of the table."""

    what: str
    state: State
    found: str
    remedy: str = ""


class Diagnosis(BaseModel, frozen=True):
    """All findings."""

    findings: tuple[Finding, ...]
    no_sandbox: bool

    @property
    def exit_status(self) -> int:
        """0 when a repair can work, 4 without a sandbox, 2 when something else is bad."""
        if self.no_sandbox:
            return SandboxUnavailable.exit_status
        bad = any(finding.state is State.BAD for finding in self.findings)
        return ExpeRepairError.exit_status if bad else 0


def diagnose(repo: Path | None = None, model: str | None = None) -> Diagnosis:
    """Check everything that a repair needs, each thing by trying it.

    Args:
        repo: a repository that shall be repaired; None leaves out what depends on one.
        model: as for `fix --model`; None means that of the settings.
    """
    findings = [
        Finding(what="experepair", state=State.GOOD, found=f"{experepair.__version__}, Python {_version()}")
    ]
    findings.append(_git())
    backends = probe()
    findings.extend(_backend(report) for report in backends)
    no_sandbox = not any(report.works for report in backends)
    findings.append(_cache())
    settings = None
    try:
        settings = load(repo, {"model": model})
    except ExpeRepairError as error:
        findings.append(Finding(what="settings", state=State.BAD, found=str(error)))
    if settings is not None:
        findings.append(_model(settings, asked_for=model is not None))
        if repo is not None:
            findings.extend(_repository(repo, settings))
    return Diagnosis(findings=tuple(findings), no_sandbox=no_sandbox)


def _git() -> Finding:
    try:
        said = subprocess.run(["git", "--version"], capture_output=True, check=True, text=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return Finding(
            what="git", state=State.BAD, found="missing", remedy="install git: apt-get install git"
        )
    return Finding(what="git", state=State.GOOD, found=said.strip().removeprefix("git version "))


def _backend(report: BackendReport) -> Finding:
    what = f"sandbox: {report.backend}"
    if report.works and report.isolation is not None:
        kept = ", ".join(proof.promise for proof in report.proofs)
        return Finding(
            what=what, state=State.GOOD, found=f"{report.isolation.tree}; proved by running: {kept}"
        )
    state = State.BAD if report.remedy else State.NOTE
    return Finding(what=what, state=state, found=report.reason, remedy=report.remedy)


def _cache() -> Finding:
    folder = cache_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        free = shutil.disk_usage(folder).free // 2**20
    except OSError as error:
        remedy = "set XDG_CACHE_HOME to a folder that can be written"
        return Finding(what="cache", state=State.BAD, found=f"{folder}: {error.strerror}", remedy=remedy)
    if not os.access(folder, os.W_OK):
        remedy = "set XDG_CACHE_HOME to a folder that can be written"
        return Finding(what="cache", state=State.BAD, found=f"{folder} is read-only", remedy=remedy)
    if free < _LEAST_FREE_MB:
        return Finding(what="cache", state=State.BAD, found=f"{folder}: {free} MiB free", remedy="make room")
    return Finding(
        what="cache", state=State.GOOD, found=f"{folder}, {free} MiB free; may be deleted at any time"
    )


def _model(settings: Settings, *, asked_for: bool) -> Finding:
    try:
        warnings = check_affordable(settings.models_config())
    except ExpeRepairError as error:
        return Finding(what="model", state=State.BAD if asked_for else State.NOTE, found=str(error))
    name = settings.model or ", ".join(sorted(set(settings.models.values())))
    if warnings:
        return Finding(what="model", state=State.NOTE, found=f"{name}: {'; '.join(warnings)}")
    return Finding(what="model", state=State.GOOD, found=f"{name} can be used, and what it costs is known")


def _repository(path: Path, settings: Settings) -> Iterator[Finding]:
    try:
        repository = Repository.open(path)
        commit = repository.resolve("HEAD")
    except ExpeRepairError as error:
        yield Finding(what="repository", state=State.BAD, found=str(error))
        return
    dirty = repository.is_dirty()
    yield Finding(
        what="repository",
        state=State.NOTE if dirty else State.GOOD,
        found=f"{repository.scope} at {commit[:12]}" + (", with uncommitted changes" if dirty else ""),
        remedy="commit them, or give --include-dirty" if dirty else "",
    )
    try:
        interpreter = find_interpreter(repository.root, settings.python, rootfs=settings.rootfs)
        notes = "; ".join(interpreter.notes)
        found = f"{interpreter.path} (from {interpreter.found})"
        yield Finding(
            what="interpreter", state=State.NOTE if notes else State.GOOD, found=found, remedy=notes
        )
        tree = checkout(repository, commit, cache_folder() / "checkouts")
    except ExpeRepairError as error:
        yield Finding(what="interpreter", state=State.BAD, found=str(error))
        return
    yield from _existing_tests(tree, settings, interpreter)


def _existing_tests(tree: Checkout, settings: Settings, interpreter: Interpreter) -> Iterator[Finding]:
    framework = recognise(tree.files(), tree.read, settings.test_command or "")
    if framework is None:
        remedy = "say how with --test-command, with {files} where the test files go"
        yield Finding(
            what="existing tests", state=State.NOTE, found="no known way to run them", remedy=remedy
        )
    elif framework.name == "pytest" and settings.rootfs is None and not _imports(interpreter.path, "pytest"):
        remedy = "install pytest there, or give --python (EXPEREPAIR_PYTHON) for an interpreter that has it"
        found = f"run by pytest, which {interpreter.path} doesn't have"
        yield Finding(what="existing tests", state=State.NOTE, found=found, remedy=remedy)
    else:
        yield Finding(what="existing tests", state=State.GOOD, found=f"run by {framework.name}")


def _imports(python: str, module: str) -> bool:
    return (
        subprocess.run([python, "-I", "-c", f"import {module}"], capture_output=True, check=False).returncode
        == 0
    )


def _version() -> str:
    return ".".join(str(part) for part in sys.version_info[:3])
