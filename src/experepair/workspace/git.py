"""The git command line, run so that neither the user's settings nor a hostile repository can steer it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from experepair.errors import UsageError

_SETTINGS = (
    ("core.hooksPath", "/dev/null"),
    ("core.fsmonitor", "false"),
    ("core.untrackedCache", "false"),
    ("core.attributesFile", "/dev/null"),
    ("core.excludesFile", "/dev/null"),
    ("core.pager", "cat"),
    ("gc.auto", "0"),
    ("log.showSignature", "false"),
    ("advice.detachedHead", "false"),
)
_INHERITED = ("PATH", "HOME", "TMPDIR")


@dataclass(frozen=True, slots=True)
class Ran:
    """How a git command ended."""

    exit_code: int
    stdout: bytes
    stderr: str


@dataclass(frozen=True, slots=True)
class Git:
    """git in one folder: no hooks, no user or system configuration, no prompts, no network, messages in English.

    Attributes:
        cwd: where it runs.
        settings: configuration that wins over the repository's own, by key.
        env: variables beside the fixed ones (GIT_INDEX_FILE and the like).
    """

    cwd: Path
    settings: tuple[tuple[str, str], ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)

    def attempt(self, *args: str, stdin: bytes = b"") -> Ran:
        """Run to completion; a non-zero exit is a result.

        Raises:
            UsageError: git is not installed, or the folder can't be entered.
        """
        try:
            done = subprocess.run(
                ["git", *args], cwd=self.cwd, env=self._environment(), input=stdin, capture_output=True
            )
        except (FileNotFoundError, NotADirectoryError, PermissionError) as error:
            if error.filename == "git":
                raise UsageError(
                    "git is not installed or not on PATH; install it (apt install git)"
                ) from error
            raise UsageError(f"{str(self.cwd)!r} can't be entered: {error.strerror}") from error
        return Ran(done.returncode, done.stdout, done.stderr.decode(errors="replace").strip())

    def run(self, *args: str, stdin: bytes = b"") -> bytes:
        """What the command printed.

        Raises:
            UsageError: it failed; the message is git's own.
        """
        ran = self.attempt(*args, stdin=stdin)
        if ran.exit_code:
            raise UsageError(f"git {args[0]} failed in {str(self.cwd)!r}: {ran.stderr or ran.exit_code}")
        return ran.stdout

    def line(self, *args: str) -> str:
        """What the command printed, as text without the final newline.

        Raises:
            UsageError: it failed.
        """
        return os.fsdecode(self.run(*args)).removesuffix("\n")

    def with_env(self, **env: str) -> Git:
        """The same with more variables."""
        return replace(self, env={**self.env, **env})

    def with_scratch(self, folder: Path, objects: Path) -> Git:
        """The same, writing its index and new objects to `folder` while it reads those in `objects` too."""
        (folder / "objects").mkdir(exist_ok=True)
        name = str(objects)
        if ":" in name or name.startswith('"'):
            name = '"' + name.replace("\\", r"\\").replace('"', r"\"") + '"'
        return self.with_env(
            GIT_INDEX_FILE=str(folder / "index"),
            GIT_OBJECT_DIRECTORY=str(folder / "objects"),
            GIT_ALTERNATE_OBJECT_DIRECTORIES=name,
        )

    def without_filters(self) -> Git:
        """The same, with every filter driver that the repository configures switched off.

        `git status` and `git add` run clean filters, which are commands of the repository's choice.
        """
        found = self.attempt("config", "--null", "--name-only", "--get-regexp", r"^filter\..*\.")
        drivers = {name.rpartition(".")[0] for name in os.fsdecode(found.stdout).split("\0") if name}
        off = tuple(
            (f"{driver}.{key}", "false" if key == "required" else "")
            for driver in sorted(drivers)
            for key in ("clean", "smudge", "process", "required")
        )
        return replace(self, settings=(*self.settings, *off))

    def _environment(self) -> dict[str, str]:
        settings = (*_SETTINGS, *self.settings)
        env = {name: os.environ[name] for name in _INHERITED if name in os.environ}
        env |= {
            "LC_ALL": "C",
            "XDG_CONFIG_HOME": "/dev/null",
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": str(Path(__file__).with_name("gitconfig")),
            "GIT_ATTR_NOSYSTEM": "1",
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_ALLOW_PROTOCOL": "",
            "GIT_NO_LAZY_FETCH": "1",
            "GIT_NO_REPLACE_OBJECTS": "1",
            "GIT_OPTIONAL_LOCKS": "0",
            "GIT_LITERAL_PATHSPECS": "1",
            "GIT_CONFIG_COUNT": str(len(settings)),
        }
        for number, (key, value) in enumerate(settings):
            env[f"GIT_CONFIG_KEY_{number}"] = key
            env[f"GIT_CONFIG_VALUE_{number}"] = value
        return env | dict(self.env)
