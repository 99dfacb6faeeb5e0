"""Runs inside a sandbox and tries to break out: its own program, standard library only, started by probe.py.

Usage: python proof.py PORT SOCKET HIDDEN..., where PORT and the abstract SOCKET are listened on outside, and the HIDDEN
paths are there outside. Writes one JSON object: by name of the promise, "" if it is kept, else what went wrong.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import json
import os
import signal
import socket
import sys
import time
from collections.abc import Callable

_MB = b"\0" * (1 << 20)
_NEWUSER = 0x10000000


def network(port: int, abstract: str) -> str:
    """TCP and UDP to the outside, and its abstract sockets, which belong to the network too."""
    targets: tuple[tuple[int, int, tuple[str, int] | str], ...] = (
        (socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", port)),
        (socket.AF_INET, socket.SOCK_DGRAM, ("192.0.2.1", 9)),
        (socket.AF_UNIX, socket.SOCK_STREAM, "\0" + abstract),
    )
    for family, kind, target in targets:
        with socket.socket(family, kind) as tried, contextlib.suppress(OSError):
            tried.settimeout(0.2)
            tried.connect(target)
            return f"reached {target!r}"
    return ""


def home(hidden: list[str]) -> str:
    """Paths of the outside, and its environment."""
    seen = [path for path in hidden if os.path.lexists(path)]
    if seen:
        return f"sees {seen[0]!r}"
    return "sees the environment" if "EXPEREPAIR_CANARY" in os.environ else ""


def privileges() -> str:
    """Capabilities, and the user."""
    with open("/proc/self/status", encoding="ascii") as status:  # noqa: PTH123 # a program without other modules
        caps = [line for line in status if line.startswith(("CapEff", "CapBnd", "CapPrm"))]
    if any(int(line.split()[1], 16) for line in caps):
        return "has capabilities"
    if os.getuid() == 0:
        return "is root"
    return ""


def namespaces() -> str:
    """User namespaces, which open more of the kernel."""
    unshare = ctypes.CDLL(None).unshare  # os.unshare came with Python 3.12
    child = os.fork()
    if child == 0:
        os._exit(0 if unshare(_NEWUSER) else 1)
    return "can make a user namespace" if os.waitpid(child, 0)[1] else ""


def processes() -> str:
    """More children than the limit of 40."""
    children: list[int] = []
    try:
        for _ in range(60):
            child = os.fork()
            if child == 0:
                time.sleep(60)
                os._exit(0)
            children.append(child)
    except OSError:
        return ""
    finally:
        for child in children:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
    return "60 processes with a limit of 40"


def disk() -> str:
    """More data than the limit of 8 MiB, in every place that can be written."""
    for place in (".", "/tmp", os.environ["HOME"], "/dev/shm"):  # noqa: S108 # the sandbox's own
        name = f"{place}/filled"
        try:
            with open(name, "wb") as file:  # noqa: PTH123 # the same
                for _ in range(16):
                    file.write(_MB)
            return f"16 MiB in {place} with a limit of 8"
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EFBIG):
                return f"{place}: {error}"
        finally:
            with contextlib.suppress(OSError):
                os.unlink(name)  # noqa: PTH108 # the same
    return ""


def tree() -> str:
    """The copy is writable, .git and the rest of the file system are not."""
    with open("written", "w", encoding="ascii") as file:  # noqa: PTH123 # the same
        file.write("x")
    for name in (".git/written", "/written", "/usr/written", "/etc/written", "/dev/written"):
        with contextlib.suppress(OSError), open(name, "w", encoding="ascii"):  # noqa: PTH123 # the same
            return f"wrote {name}"
    return ""


def main(port: int, abstract: str, hidden: list[str]) -> None:
    """Try everything."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    checks: dict[str, Callable[[], str]] = {
        "network cut": lambda: network(port, abstract),
        "home and environment hidden": lambda: home(hidden),
        "no privileges": privileges,
        "no further namespaces": namespaces,
        "process limit": processes,
        "disk limit": disk,
        "private tree, .git read-only": tree,
    }
    results = {}
    for name, check in checks.items():
        try:
            results[name] = check()
        except OSError as error:
            results[name] = str(error)
    sys.stdout.write(json.dumps(results))


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2], sys.argv[3:])
