"""The doctor: all checks, in the order in which a repair needs them."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import experepair
from experepair.errors import ExpeRepairError
from experepair.sandbox.cleanup import clean as clean_up
from experepair.sandbox.image import ImageChoice
from experepair.sandbox.open import Kind
from experepair.sandbox.probe import probe
from experepair.session.doctor import machine
from experepair.session.doctor.finding import Diagnosis, Finding, bad, good
from experepair.session.doctor.model import models
from experepair.session.doctor.repository import repository
from experepair.session.settings import Settings, load


def diagnose(
    repo: Path | None = None, model: str | None = None, *, clean: bool = False, **flags: Any
) -> Diagnosis:
    """Check everything that a repair needs, each thing by trying it.

    Args:
        repo: a repository that shall be repaired; None leaves out what depends on one.
        model: as for `fix --model`; None means that of the settings.
        clean: first remove what killed runs left on this machine.
        flags: more fields of `Settings`, as they would be given to `fix`.
    """
    version = ".".join(str(part) for part in sys.version_info[:3])
    findings = [good("experepair", f"{experepair.__version__}, Python {version}")]
    if clean:
        findings.append(_cleaned())
    settings, refused = _settings(repo, {**flags, "model": model})
    findings.append(machine.git())
    image = (
        ImageChoice(settings.image, settings.image_workdir, settings.python)
        if settings and settings.image
        else None
    )
    kind = settings.sandbox if settings else Kind.AUTO
    found, working = machine.sandboxes(probe(image), kind, image=image is not None)
    findings.extend(found)
    findings.append(machine.cache())
    if settings is None:
        findings.append(bad("settings", refused))
        return Diagnosis(findings=tuple(findings), no_sandbox=not working)
    findings.append(machine.memory(settings))
    findings.extend(models(settings, asked_for=model is not None))
    if repo is not None and working:
        findings.extend(repository(repo, settings))
    return Diagnosis(findings=tuple(findings), no_sandbox=not working)


def _settings(repo: Path | None, flags: dict[str, Any]) -> tuple[Settings | None, str]:
    try:
        return load(repo, flags), ""
    except ExpeRepairError as error:
        return None, str(error)


def _cleaned() -> Finding:
    removed = asyncio.run(clean_up())
    return good("cleaned", "; ".join(removed) if removed else "nothing was left behind")
