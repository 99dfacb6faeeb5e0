"""What helps when bubblewrap is missing or refused."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

_INSTALL = (
    "install bubblewrap (Debian, Ubuntu: apt-get install bubblewrap; Fedora: dnf install bubblewrap; "
    "Arch: pacman -S bubblewrap), or choose --sandbox none if you trust both the repository and the model"
)

APPARMOR_PROFILE = """\
abi <abi/4.0>,
include <tunables/global>

profile bwrap /usr/bin/bwrap flags=(unconfined) {
  userns,
}
"""
"""Lets bwrap, and no other program, make user namespaces where AppArmor refuses them (Ubuntu from 23.10)."""

_APPARMOR_RESTRICTS = "kernel/apparmor_restrict_unprivileged_userns"
_APPARMOR = f"""\
AppArmor keeps bwrap from making all of its namespaces and mounts. Give it a profile:
sudo tee /etc/apparmor.d/bwrap <<'END'
{APPARMOR_PROFILE}END
sudo apparmor_parser -r /etc/apparmor.d/bwrap"""


def remedy(reason: str, *, sysctl: Path = Path("/proc/sys"), root: Path = Path("/")) -> str:
    """What to do about a bubblewrap that doesn't work here, from what it said and how the kernel is set.

    Args:
        reason: what was seen to fail.
        sysctl: where the kernel's settings are read.
        root: where signs of a container are looked for.
    """
    if shutil.which("bwrap") is None:
        return _INSTALL
    for tool in ("mount", "setpriv", "sh"):
        if shutil.which(tool, path=os.defpath + ":/usr/sbin:/sbin") is None:
            return f"{tool!r} is missing: install util-linux"
    if _setting(sysctl / "user/max_user_namespaces") == "0":
        return "the kernel allows no user namespaces: sudo sysctl user.max_user_namespaces=15000"
    if _setting(sysctl / "kernel/unprivileged_userns_clone") == "0":
        return "normal users may make no user namespaces: sudo sysctl kernel.unprivileged_userns_clone=1, or run as root"
    if _setting(sysctl / _APPARMOR_RESTRICTS) == "1":
        return _APPARMOR
    if (root / ".dockerenv").exists() or (root / "run/.containerenv").exists():
        return (
            "this is a container that may make no namespaces: start it with --security-opt seccomp=unconfined "
            "--security-opt apparmor=unconfined --security-opt systempaths=unconfined --cap-add SYS_ADMIN"
        )
    if "closed to other users" in reason:
        return "start experepair as a normal user"
    return "`experepair doctor` shows what each part of the sandbox does here"


def overlay_remedy(*, sysctl: Path = Path("/proc/sys")) -> str:
    """What helps where bubblewrap works, but with a copied tree; "" where the kernel itself has no better."""
    if _setting(sysctl / _APPARMOR_RESTRICTS) == "1":
        return _APPARMOR
    return ""


def _setting(file: Path) -> str:
    try:
        return file.read_text(encoding="ascii").strip()
    except OSError:
        return ""
