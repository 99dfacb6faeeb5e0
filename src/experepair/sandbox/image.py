"""A container image that holds a repository's environment: what is in it, and the image with our checkout in it."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from experepair.errors import SandboxUnavailable, UsageError
from experepair.sandbox.engine import Engine, EngineFailed, options, variants
from experepair.sandbox.interpreter import Interpreter
from experepair.sandbox.layout import USER_ID

HOME = "/run/experepair/home"
"""Home of the command in a container: no image has anything there."""

_OTHER_ID = 1
"""Owner of .git, who isn't the user of the command."""
_PREPARE_S = 600.0
"""How long the checkout may take to be laid over, in seconds."""

_EXAMINE = r"""
wanted=$1 fallback=$2 python=$3 start=$4
place=$wanted
if [ -z "$place" ]; then
    for each in "$start" /testbed; do
        [ "$each" != / ] || continue
        for sign in .git pyproject.toml setup.py setup.cfg; do
            if [ -z "$place" ] && [ -e "$each/$sign" ]; then place=$each; fi
        done
    done
fi
place=${place:-$fallback}
over=$place
while [ ! -e "$over" ]; do over=${over%/*}; over=${over:-/}; done
reachable=yes
(cd "$over") 2>/dev/null || reachable=no
found=
for each in "$python" "${python:+$python/bin/python}" "${python:+$(command -v "$python")}"; do
    case $each in /*) if [ -z "$found" ] && [ -f "$each" ] && [ -x "$each" ]; then found=$each; fi ;; esac
done
if [ -z "$python" ]; then
    for each in /opt/miniconda3/envs/testbed/bin/python "${VIRTUAL_ENV:+$VIRTUAL_ENV/bin/python}" \
        "$place/.venv/bin/python" "$(command -v python3)" "$(command -v python)"; do
        if [ -z "$found" ] && [ -n "$each" ] && [ -x "$each" ]; then found=$each; fi
    done
fi
[ -n "$found" ] && "$found" -c "" >/dev/null 2>&1 || reachable=no
for tool in tar timeout; do
    command -v $tool >/dev/null && echo "$tool=yes"
done
echo "place=$place"
echo "python=$found"
echo "reachable=$reachable"
"""

_PREPARE = r"""
set -e
place=$1 owner=$2 other=$3
if [ -e "$place/.git" ] && command -v git >/dev/null; then
    git -c safe.directory='*' -c core.fsmonitor=false -c core.hooksPath=/dev/null -C "$place" ls-files -z >/tracked
    (cd "$place" && xargs -0 rm -f -- </tracked)
    rm /tracked
fi
mkdir -p "$place"
rm -rf "$place/.git"
tar -xpf - -C "$place"
chown -R -h "$owner:$owner" "$place"
if [ -e "$place/.git" ]; then chown -R -h "$other:$other" "$place/.git"; fi
chown "$other:$other" "$place"
chmod 1777 "$place"
grep -q "^[^:]*:[^:]*:$owner:" /etc/passwd || echo "user:x:$owner:$owner:user:$4:/bin/sh" >>/etc/passwd
"""
"""Files that the image's repository tracks go, build products stay. The folder itself is not the command's, and
sticky, so that the command can't replace .git."""


@dataclass(frozen=True, slots=True)
class ImageChoice:
    """The image as the user named it.

    Attributes:
        name: of the image, which the engine must have.
        workdir: where the tree is in it; None looks at the image's own working directory and at /testbed.
        python: interpreter inside; None looks for a conda environment "testbed", a virtual one, and on PATH.
    """

    name: str
    workdir: str | None = None
    python: str | None = None


@dataclass(frozen=True, slots=True)
class Image:
    """An image as it was examined by running it.

    Attributes:
        id: of the user's image.
        place: where the tree is.
        interpreter: what runs the repository's code.
        env: variables that the image sets.
        user: that commands run as: root only where the image is closed to others.
        timeout: whether it has that program.
    """

    id: str
    place: str
    interpreter: Interpreter
    env: Mapping[str, str]
    user: int
    timeout: bool

    @property
    def notes(self) -> tuple[str, ...]:
        """Where it makes the sandbox weaker."""
        if self.user:
            return ()
        return (
            "commands run as root of the container, without privileges: its interpreter or tree is closed to others",
        )


async def examine_image(
    engine: Engine, choice: ImageChoice, mount_at: Path, labels: Mapping[str, str]
) -> tuple[Engine, Image]:
    """Look into the image, and find the way of running the engine that works.

    Args:
        engine: the engine, which has the image.
        choice: what the user said.
        mount_at: where the tree goes if the image has no place for it.
        labels: of the containers that are run.

    Raises:
        UsageError: the image isn't there, or lacks what is needed.
        SandboxUnavailable: the engine runs no container.
    """
    _check(choice)
    try:
        described = await engine.image(choice.name)
    except EngineFailed as error:
        raise UsageError(
            f"{engine.name} has no image {choice.name!r}; get it: {engine.name} pull {choice.name} ({error})"
        ) from error
    config = described.get("Config") or {}
    fallback = str(mount_at) if _is_free(mount_at) else "/testbed"
    start = config.get("WorkingDir") or "/"
    words = (choice.workdir or "", fallback, choice.python or "", start)
    failures = []
    for each in variants(engine):
        try:
            facts = await _examined(each, str(described["Id"]), USER_ID, words, labels)
            user = USER_ID
            if facts.get("reachable") != "yes":
                as_root = await _examined(each, str(described["Id"]), 0, words, labels)
                if as_root.get("reachable") == "yes":
                    facts, user = as_root, 0
        except EngineFailed as error:
            failures.append(str(error))
            continue
        return each, _image(described, facts, user, choice)
    raise SandboxUnavailable(f"{engine.name} runs no container of {choice.name!r}:\n" + "\n".join(failures))


async def with_checkout(
    engine: Engine, image: Image, tree: Path, name: str, labels: Mapping[str, str]
) -> str:
    """Make an image that has the checkout at its place; the engine's own layers make the private copies.

    Args:
        engine: as `examine_image` returned it.
        image: from there, too.
        tree: the checkout.
        name: of the container that is made for it.
        labels: of container and image.

    Returns:
        Its id. It lasts until it is removed.

    Raises:
        SandboxUnavailable: the engine refuses.
    """
    capabilities = [word for each in ("CHOWN", "DAC_OVERRIDE", "FOWNER") for word in ("--cap-add", each)]
    argv = [
        *engine.words, "run", "--interactive", "--name", name, "--user", "0:0", *options(labels, capabilities),
        "--entrypoint", "sh", image.id, "-c", _PREPARE, "sh", image.place, str(image.user), str(_OTHER_ID), HOME,
    ]  # fmt: skip
    try:
        await _piped(["tar", "--numeric-owner", "-C", str(tree), "-cf", "-", "."], argv)
        return (await engine.ask("commit", name, timeout_s=_PREPARE_S)).split()[-1]
    except EngineFailed as error:
        raise SandboxUnavailable(f"the checkout can't be put into the image: {error}") from error
    finally:
        await engine.remove(name)


async def _piped(source: list[str], target: list[str]) -> None:
    """Run two processes, the output of the first into the second."""
    reading, writing = os.pipe()
    try:
        first = await asyncio.create_subprocess_exec(*source, stdin=-3, stdout=writing, stderr=-3)
        os.close(writing)
        writing = -1
        second = await asyncio.create_subprocess_exec(
            *target, stdin=reading, stdout=-3, stderr=-1, start_new_session=True
        )
    finally:
        os.close(reading)
        if writing >= 0:
            os.close(writing)
    try:
        async with asyncio.timeout(_PREPARE_S):
            _, said = await second.communicate()
            await first.wait()
    except TimeoutError:
        raise EngineFailed(f"it takes more than {_PREPARE_S:.0f} s") from None
    finally:
        for process in (first, second):
            if process.returncode is None:
                process.kill()
                await process.wait()
    if first.returncode or second.returncode:
        raise EngineFailed(said.decode(errors="replace").strip() or "the checkout can't be read")


async def _examined(
    engine: Engine, image: str, user: int, words: tuple[str, ...], labels: Mapping[str, str]
) -> dict[str, str]:
    said = await engine.ask(
        "run", "--rm", "--user", f"{user}:{user}", *options(labels),
        "--entrypoint", "sh", image, "-c", _EXAMINE, "sh", *words,
    )  # fmt: skip
    return dict(line.split("=", 1) for line in said.splitlines() if "=" in line)


def _image(
    described: Mapping[str, object], facts: Mapping[str, str], user: int, choice: ImageChoice
) -> Image:
    python = facts.get("python", "")
    if facts.get("reachable") != "yes":
        wanted = choice.python or "a Python"
        raise UsageError(
            f"the image {choice.name!r} has no usable interpreter: {wanted!r} doesn't run in it; name one with --python"
        )
    if facts.get("tar") != "yes":
        raise UsageError(f"the image {choice.name!r} has no `tar`, which lays the checkout into it")
    config = described.get("Config")
    given = config.get("Env") if isinstance(config, dict) else None
    env = dict(each.split("=", 1) for each in given or () if "=" in each)
    return Image(
        id=str(described["Id"]).removeprefix("sha256:"),
        place=facts["place"],
        interpreter=Interpreter(python, found="--python" if choice.python else "image"),
        env=env,
        user=user,
        timeout=facts.get("timeout") == "yes",
    )


def _check(choice: ImageChoice) -> None:
    if choice.name.startswith("-"):
        raise UsageError(f"{choice.name!r} is no name of an image")
    if choice.workdir is not None:
        place = PurePosixPath(choice.workdir)
        if not place.is_absolute() or ".." in place.parts or len(place.parts) < 2:
            raise UsageError(
                f"the tree can't be at {choice.workdir!r} of the image: an absolute path is needed"
            )
    if shutil.which("tar") is None:
        raise SandboxUnavailable("`tar` is missing, which packs the checkout for the image: install tar")


def _is_free(place: Path) -> bool:
    """Whether nothing else is mounted over it in a container."""
    mounted = ("/tmp", "/dev", "/proc", "/sys", "/run", "/etc", "/usr")  # noqa: S108 # places in the container
    return not any(place.is_relative_to(each) for each in mounted)
