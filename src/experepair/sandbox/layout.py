"""What a command sees: a root made of read-only pieces of the host, or of another root file system."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from experepair.sandbox.interpreter import Interpreter

SYSTEM = ("usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32", "nix/store", "gnu/store")
"""Folders of the host that hold programs and libraries, and nobody's data."""

_ETC = (
    "alternatives", "debian_version", "ld.so.cache", "localtime", "lsb-release", "magic",
    "mime.types",
    "nsswitch.conf", "os-release", "pki/tls/certs/ca-bundle.crt",
    "protocols", "services", "ssl/certs/ca-certificates.crt", "timezone",
)  # fmt: skip
"""Files and folders of /etc that programs need; whatever isn't named here stays hidden."""

_NOT_FROM_ROOTFS = {"dev", "home", "lost+found", "media", "mnt", "proc", "root", "run", "sys", "tmp"}

RESOLVER = "resolv.conf"

HOME = "/home/user"
"""Home of the command: private, empty, writable."""

USER_ID = 1000
"""User and group id that the command sees itself as having, on every machine."""

_ACCOUNTS = {
    "passwd": f"root:x:0:0:root:/root:/bin/sh\nuser:x:{USER_ID}:{USER_ID}:user:{HOME}:/bin/sh\n"
    "nobody:x:65534:65534:nobody:/nonexistent:/bin/false\n",
    "group": f"root:x:0:\nuser:x:{USER_ID}:\nnogroup:x:65534:\n",
    "hosts": "127.0.0.1\tlocalhost sandbox\n::1\tlocalhost sandbox\n",
}


@dataclass(frozen=True, slots=True)
class Piece:
    """Something read-only at a place of its own: a bound file or folder, or a link.

    Attributes:
        place: where the command sees it.
        source: the host's path to bind, or a link's target.
        link: whether it is a link.
    """

    place: str
    source: str
    link: bool = False


def write_etc(folder: Path, *, whole: bool, network: bool = False) -> None:
    """Make an /etc: one user, no names but localhost, and what programs need of the host's.

    It is copied once, since each bound file would cost every execution a millisecond.

    Args:
        folder: is made, readable for everyone.
        whole: False leaves out the host's files, for a root that brings its own.
        network: whether names are to be looked up as on the host.
    """
    folder.mkdir()
    folder.chmod(0o755)
    for name in _ETC if whole else ():
        _copy(Path("/etc", name), folder / name)
    if network and Path("/etc", RESOLVER).exists():
        (folder / RESOLVER).write_bytes(
            Path("/etc", RESOLVER).read_bytes()
        )  # often a link to what isn't shown
        (folder / RESOLVER).chmod(0o644)
    for name, text in _ACCOUNTS.items():
        file = folder / name
        file.write_text(text, encoding="ascii")
        file.chmod(0o644)


def _copy(source: Path, target: Path) -> None:
    """Copy files, folders and links with open permissions; what this user can't read is left out."""
    if not target.parent.exists():
        target.parent.mkdir(parents=True, mode=0o755)
    try:
        if source.is_symlink():
            target.symlink_to(source.readlink())
        elif source.is_dir():
            target.mkdir()
            target.chmod(0o755)
            for entry in sorted(source.iterdir()):
                _copy(entry, target / entry.name)
        elif source.is_file():
            target.write_bytes(source.read_bytes())
            target.chmod(0o644)
    except PermissionError:
        return


def pieces(
    interpreter: Interpreter,
    *,
    rootfs: Path | None,
    etc: Path,
    binds: Iterable[Path],
    points: Iterable[str],
) -> list[Piece]:
    """All that is read-only in the command's root, parents before children.

    Args:
        interpreter: its prefixes come along.
        rootfs: the other root; None takes the host's programs.
        etc: folder made by `write_etc`.
        binds: more of the host, each at its own path.
        points: where something else will be mounted: there must be room for it.
    """
    found: dict[str, Piece] = {}

    def add(piece: Piece) -> None:
        found[piece.place] = piece

    if rootfs is None:
        found |= {piece.place: piece for piece in system_pieces()}
        add(Piece("/etc", str(etc)))
    else:
        for entry in sorted(rootfs.iterdir()):
            if entry.name not in _NOT_FROM_ROOTFS:
                _add_entry(found, entry, f"/{entry.name}")
        for name in (*_ACCOUNTS, RESOLVER):
            if (rootfs / "etc" / name).is_file() and (etc / name).is_file():
                add(Piece(f"/etc/{name}", str(etc / name)))
    for prefix in interpreter.prefixes:
        if rootfs is not None:
            add(Piece(prefix, str(rootfs) + prefix))
        elif not is_system(prefix):
            add(Piece(prefix, prefix))
    for place, target in interpreter.links:
        if rootfs is None and not is_system(place):
            add(Piece(place, target, link=True))
    for bind in binds:
        add(Piece(str(bind), str(bind)))
    for point in (*points, *(place for place in found if found[place].link)):
        _make_room(found, point)
    return sorted(found.values(), key=lambda piece: PurePosixPath(piece.place).parts)


def system_pieces() -> tuple[Piece, ...]:
    """The host's programs and libraries, in their own places."""
    found: dict[str, Piece] = {}
    for name in SYSTEM:
        _add_entry(found, Path("/", name), f"/{name}")
    return tuple(found.values())


def is_system(path: str) -> bool:
    """Whether the path lies in what every command sees of the host."""
    return PurePosixPath(path).is_relative_to("/usr") or any(
        PurePosixPath(path).is_relative_to(f"/{name}") for name in SYSTEM
    )


def _add_entry(found: dict[str, Piece], entry: Path, place: str) -> None:
    if entry.is_symlink():
        found[place] = Piece(place, str(entry.readlink()), link=True)
    elif entry.is_dir() or entry.is_file():
        found[place] = Piece(place, str(entry))


def _make_room(found: dict[str, Piece], point: str) -> None:
    """Split the folders that would hide `point` and don't have it: nothing can be made in a read-only folder."""
    path = PurePosixPath(point)
    while True:
        over = [parent for parent in map(str, path.parents) if parent in found and not found[parent].link]
        if not over:
            return
        nearest = found[over[0]]
        if Path(nearest.source, path.relative_to(nearest.place)).exists():
            return
        del found[nearest.place]
        for entry in sorted(Path(nearest.source).iterdir()):
            place = f"{nearest.place}/{entry.name}"
            if place not in found:
                _add_entry(found, entry, place)
