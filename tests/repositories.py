"""Git repositories for tests, made by git itself."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path


def git(folder: Path, *args: str, stdin: bytes = b"") -> str:
    """Run git as a user whom nothing else has configured, always at the same time of day."""
    env = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}
    for role in ("AUTHOR", "COMMITTER"):
        env |= {f"GIT_{role}_NAME": "A", f"GIT_{role}_EMAIL": "a@example.org"}
        env |= {f"GIT_{role}_DATE": "2024-01-02T03:04:05+00:00"}
    command = ["git", "-c", "protocol.file.allow=always", *args]
    done = subprocess.run(command, cwd=folder, env=env, input=stdin, check=True, capture_output=True)
    return os.fsdecode(done.stdout).strip()


def make_repository(folder: Path, files: Mapping[str, str | bytes]) -> Path:
    """A repository with one commit that holds these files."""
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "init", "--quiet", "--initial-branch=main")
    for path, content in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content.encode() if isinstance(content, str) else content)
    git(folder, "add", "--all", "--force")
    git(folder, "commit", "--quiet", "--allow-empty", "--message=first")
    return folder
