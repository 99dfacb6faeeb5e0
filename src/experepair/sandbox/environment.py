"""The environment variables of a command: an allow-list, the same on every machine."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import PurePosixPath

from experepair.sandbox.interpreter import Interpreter

_ALWAYS = {
    "GIT_CONFIG_COUNT": "1",  # the checkout's .git may belong to another user
    "GIT_CONFIG_KEY_0": "safe.directory",
    "GIT_CONFIG_VALUE_0": "*",
    "LANG": "C.UTF-8",
    "LC_ALL": "C.UTF-8",
    "LOGNAME": "user",
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONHASHSEED": "0",
    "PYTHONNOUSERSITE": "1",
    "TERM": "dumb",
    "TZ": "UTC",
    "USER": "user",
}
_PATH = ("/usr/local/bin", "/usr/bin", "/bin", "/usr/sbin", "/sbin")


def environment(
    interpreter: Interpreter, own: Iterable[tuple[str, str]], *, home: str, tmp: str
) -> dict[str, str]:
    """All variables of a command; `own` (the command's) win over the list."""
    executable = PurePosixPath(interpreter.path)
    variables = {**_ALWAYS, "HOME": home, "TMPDIR": tmp}
    variables["PATH"] = ":".join(dict.fromkeys((str(executable.parent), *_PATH)))
    if interpreter.virtual:
        variables["VIRTUAL_ENV"] = str(executable.parent.parent)
    if interpreter.conda:
        variables["CONDA_PREFIX"] = str(executable.parent.parent)
    return variables | dict(own)
