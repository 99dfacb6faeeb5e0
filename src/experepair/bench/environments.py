"""What the code of each repository and version runs in: read from an environments file."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from experepair.bench.instance import Instance
from experepair.errors import UsageError

_IMAGE = "swebench/sweb.eval.x86_64.{id}:latest"
_IMAGE_PYTHON = "/opt/miniconda3/envs/testbed/bin/python"


class Environment(BaseModel, frozen=True, extra="forbid"):
    """Where the code of an instance runs. Of image, rootfs and nothing (this machine's programs) one holds."""

    image: str = ""
    """Container image, for docker or podman."""
    rootfs: Path | None = None
    """Root file system for bubblewrap, such as debootstrap makes."""
    python: str | None = None
    """Interpreter, as a path inside the image or root; None means the usual one there."""
    root: Path = Path("/testbed")
    """Where commands see the repository."""
    setup: str = ""
    """Shell commands that prepare the tree before tests run in it, without network."""
    test_command: str = ""
    """Runs the hidden tests, with {tests} where their files go; "" means what SWE-bench says for the version."""
    parser: str = ""
    """Repository whose parser reads the log of the tests; "" means the instance's own."""
    variables: dict[str, str] = {}
    """Environment variables of every command."""

    def settings(self) -> dict[str, Any]:
        """The same as settings of a repair; what isn't set is left out."""
        given = {
            "image": self.image,
            "image_workdir": str(self.root) if self.image else "",
            "rootfs": self.rootfs,
            "python": self.python,
            "setup": self.setup,
        }
        return {name: value for name, value in given.items() if value}


class Environments:
    """Environments by instance id, repository@version, repository, or "*" for the rest.

    Entries add up: what "*" says holds unless the repository's entry says otherwise, and so on up to the instance's.

    Args:
        entries: fields of `Environment` by key; "{id}" and "{version}" stand for the instance's own.
        base: folder that relative paths of root file systems start at.
    """

    def __init__(self, entries: Mapping[str, Mapping[str, Any]], base: Path) -> None:
        self._entries = entries
        self._base = base

    @classmethod
    def read(cls, path: Path) -> Environments:
        """Read a file in TOML or JSON.

        Raises:
            UsageError: it can't be read, or an entry isn't an environment.
        """
        try:
            text = path.read_text(encoding="utf-8")
            entries = json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
        except (OSError, ValueError) as error:
            raise UsageError(f"can't read the environments in {str(path)!r}: {error}") from error
        if not isinstance(entries, dict):
            raise UsageError(f"{str(path)!r} must hold a table by instance, repository@version or repository")
        for key, entry in entries.items():
            _checked(entry, f"{key!r} in {str(path)!r}")
        return cls(entries, path.resolve().parent)

    @classmethod
    def images(cls) -> Environments:
        """SWE-bench's own images, one an instance."""
        return cls({"*": {"image": _IMAGE, "python": _IMAGE_PYTHON}}, Path())

    def of(self, instance: Instance) -> Environment:
        """The environment of an instance.

        Raises:
            UsageError: no entry is for it.
        """
        keys = ("*", instance.repo, f"{instance.repo}@{instance.version}", instance.id)
        found = [self._entries[key] for key in keys if key in self._entries]
        if not found:
            raise UsageError(
                f"no environment for {instance.id}: the environments file has none for {keys[3]!r}, {keys[2]!r}, "
                f"{keys[1]!r} or '*'"
            )
        fields: dict[str, Any] = {}
        for entry in found:
            variables = {**fields.get("variables", {}), **entry.get("variables", {})}
            fields |= {**entry, "variables": variables}
        environment = _checked(_filled(fields, instance), f"the environment of {instance.id}")
        if environment.rootfs is None:
            return environment
        return environment.model_copy(update={"rootfs": self._base / environment.rootfs.expanduser()})


def image_of(instance: Instance) -> str:
    """Name of SWE-bench's image of an instance."""
    return str(_filled({"image": _IMAGE}, instance)["image"])


def _filled(fields: Mapping[str, Any], instance: Instance) -> dict[str, Any]:
    """Fields with the instance's own values; registries allow no double underscore, so SWE-bench writes _1776_."""
    filled = {}
    for name, value in fields.items():
        if isinstance(value, str):
            own_id = instance.id.replace("__", "_1776_").lower() if name == "image" else instance.id
            value = value.replace("{id}", own_id).replace("{version}", instance.version)
        filled[name] = value
    return filled


def _checked(fields: Any, where: str) -> Environment:
    try:
        environment = Environment.model_validate(fields)
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(map(str, first["loc"])) or "it"
        raise UsageError(f"{where}: {name}: {first['msg']}") from error
    if environment.image and environment.rootfs is not None:
        raise UsageError(f"{where}: give an image or a rootfs, not both")
    return environment
