"""The shell text that is the first process in a sandbox: it waits for the hand-over, limits itself, runs the command.

A shell is in every root file system, and starts in a millisecond. Only what POSIX, dash, bash and busybox share is
used, but for the option that limits processes: `-u` in bash and new busybox, `-p` in dash and old busybox.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from experepair.sandbox.sandbox import Limits

COLLECT_LIMIT = 16 * 1024 * 1024
"""Bytes of one collected file that come back; the rest is cut off."""


def launcher(
    token: str,
    limits: Limits,
    *,
    prepare: Sequence[str] = (),
    cwd: str,
    collect: Sequence[str] = (),
    collect_root: str = "",
    collect_to: str = "",
    collect_mark: str = "",
    processes: bool = True,
    per_file: bool = False,
) -> str:
    """Text for `sh -c TEXT sh ARGV...`.

    Args:
        token: announces the hand-over.
        limits: processes and memory are held here.
        prepare: shell lines that come before the hand-over.
        cwd: where the command starts.
        collect: paths whose content is wanted.
        collect_root: folder that `collect` is relative to.
        collect_to: named pipe that takes the collected content, see `read_collected`; "" for stdout.
        collect_mark: what comes before it on stdout; whatever still runs in the sandbox is killed then.
        processes: hold their limit too; right only where nothing else runs under the same user.
        per_file: hold the disk limit for each written file, where nothing better holds it.
    """
    lines = [
        "set -e",
        *prepare,
        f"echo {token} >&2",
        "read -r go || exit 125",  # the end of stdin means that experepair is gone
        f"cd {shlex.quote(cwd)}",
        "ulimit -c 0",
    ]
    if processes:
        lines.append(f"ulimit -u {limits.processes} 2>/dev/null || ulimit -p {limits.processes}")
    if limits.memory_mb:
        lines.append(f"ulimit -v {limits.memory_mb * 1024}")
    if per_file:
        lines.append(f"ulimit -f {limits.disk_mb * 2048}")  # counted in blocks of 512 bytes
    if not collect:
        return "\n".join([*lines, 'exec "$@"'])
    # The shell's own words about a killed command ("Killed") go nowhere.
    lines += [
        "set +e",
        "exec 3>&2 2>/dev/null",
        '(exec "$@" 2>&3 3>&-)',
        "code=$?",
        f"cd {shlex.quote(collect_root)}",
    ]
    if collect_mark:
        lines += ["kill -9 -1", f"printf '%s' {shlex.quote(collect_mark)}"]
    lines += ["{", "echo collected"]
    for number, path in enumerate(collect):
        file = shlex.quote(f"./{path}")
        lines.append(
            f"if [ -f {file} ]; then size=$(($(wc -c <{file}))); "
            f"[ $size -le {COLLECT_LIMIT} ] || size={COLLECT_LIMIT}; "
            f"echo {number} $size; head -c $size {file}; fi"
        )
    lines += [f"}} >{shlex.quote(collect_to)}" if collect_to else "}", "exit $code"]
    return "\n".join(lines)


def read_collected(stream: bytes, collect: Sequence[str]) -> dict[str, bytes]:
    """Files from what a launcher wrote, by path; what doesn't fit the format is left out."""
    files: dict[str, bytes] = {}
    rest = stream.partition(b"collected\n")[2]
    while rest:
        head, _, rest = rest.partition(b"\n")
        fields = head.split()
        if len(fields) != 2 or not all(field.isdigit() for field in fields):
            break
        number, size = (int(field) for field in fields)
        if number >= len(collect):
            break
        files[collect[number]], rest = rest[:size], rest[size:]
    return files
