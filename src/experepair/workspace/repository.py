"""The user's repository: looked at, never changed here."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from urllib.parse import unquote, urlsplit

from experepair.errors import UsageError
from experepair.workspace.git import Git

_SCP_LIKE = re.compile(r"(?:[^@/]+@)?(?P<host>\[[^\]]+\]|[^:/\[\]]+):(?P<path>(?!//).*)", re.DOTALL)
_DEFAULT_PORTS = {"ssh": 22, "git+ssh": 22, "https": 443, "http": 80, "git": 9418}


@dataclass(frozen=True, slots=True)
class Repository:
    """A git repository of the user's.

    Attributes:
        root: top of its work tree, or the git folder of a bare repository.
        bare: whether there is no work tree.
        scope: what memory is kept under: the remote as host/owner/name without credentials, else the folder's name
            and a digest of its path, which itself goes into no memory.
        git: runs git in `root`.
    """

    root: Path
    bare: bool
    scope: str
    git: Git

    @classmethod
    def open(cls, path: Path) -> Repository:
        """Find the repository that `path` is, or lies in: plain, bare, or a linked work tree.

        Raises:
            UsageError: there is none.
        """
        if not path.is_dir():
            raise UsageError(f"{str(path)!r} is not a folder; give the folder of a git repository")
        git = Git(path.resolve())
        found = git.attempt("rev-parse", "--absolute-git-dir")
        if found.exit_code:
            raise UsageError(_not_a_repository(path, found.stderr))
        top = git.attempt("rev-parse", "--show-toplevel")
        bare = top.exit_code != 0
        root = Path(os.fsdecode((found if bare else top).stdout).removesuffix("\n"))
        git = Git(root).without_filters()
        return cls(root, bare, _scope(git, root), git)

    def resolve(self, rev: str) -> str:
        """The full id of the commit that `rev` names.

        Raises:
            UsageError: it names none.
        """
        if rev and not rev.startswith("-") and rev.isprintable():
            found = self.git.attempt("rev-parse", "--verify", "--quiet", f"{rev}^{{commit}}")
            if found.exit_code == 0:
                return found.stdout.decode().strip()
        if rev == "HEAD":
            raise UsageError(f"{str(self.root)!r} has no commit yet; make one: git add -A && git commit")
        raise UsageError(f"no commit {rev!r} in {str(self.root)!r}; `git log` shows what there is")

    def is_dirty(self) -> bool:
        """Whether tracked files differ from HEAD, staged or not; untracked files don't count, as for git."""
        return not self.bare and bool(self._status("--untracked-files=no"))

    def untracked(self) -> tuple[str, ...]:
        """Untracked files that aren't ignored."""
        if self.bare:
            return ()
        entries = self._status("--untracked-files=all").split(b"\0")
        return tuple(os.fsdecode(entry[3:]) for entry in entries if entry.startswith(b"?? "))

    def excludes(self) -> tuple[tuple[str, str], ...]:
        """The setting that makes git ignore what the user ignores everywhere (his global ignore file)."""
        names = [Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "git" / "ignore"]
        own = Git(self.root, env={"GIT_CONFIG_GLOBAL": str(Path.home() / ".gitconfig")})
        set_by_user = own.attempt("config", "--global", "--type=path", "--get", "core.excludesFile")
        if set_by_user.exit_code == 0:
            names.insert(0, Path(os.fsdecode(set_by_user.stdout).removesuffix("\n")))
        found = [str(name) for name in names if name.is_file()]
        return (("core.excludesFile", found[0]),) if found else ()

    def _status(self, untracked: str) -> bytes:
        git = Git(self.root, (*self.git.settings, *self.excludes()))
        return git.run("status", "--porcelain", "-z", "--no-renames", "--ignore-submodules=all", untracked)


def normalized_remote(url: str) -> str | None:
    """A remote as host/owner/name, without credentials, protocol, `.git`; None when it is a path or odd.

    The name is lower-cased for github.com only, which doesn't tell Owner from owner.
    """
    url = url.strip()
    if not url or not url.isprintable():
        return None
    if "://" in url:
        try:
            parts = urlsplit(url)
            host, port = parts.hostname or "", parts.port
        except ValueError:
            return None
        if parts.scheme == "file":
            return None
        path = unquote(parts.path)
        if port and port != _DEFAULT_PORTS.get(parts.scheme):
            host = f"{host}:{port}"
    elif found := _SCP_LIKE.fullmatch(url):
        host, path = found["host"].lower(), found["path"]
    else:
        return None
    path = path.strip("/").removesuffix(".git").strip("/")
    if not host or not path or not path.isprintable():
        return None
    return f"{host}/{path.lower() if host == 'github.com' else path}"


def _scope(git: Git, root: Path) -> str:
    remotes = git.attempt("config", "--null", "--get-regexp", r"^remote\..*\.url$")
    urls: dict[str, str] = {}
    for entry in os.fsdecode(remotes.stdout).split("\0"):
        key, _, url = entry.partition("\n")
        urls.setdefault(key, url)
    for key in ("remote.origin.url", "remote.upstream.url", *sorted(filter(None, urls))):
        if scope := normalized_remote(urls.get(key, "")):
            return scope
    # a linked work tree shares the memory of the repository that it belongs to
    common = Path(root, git.line("rev-parse", "--git-common-dir")).resolve()
    folder = common.parent if common.name == ".git" else common
    return f"local:{folder.name}-{sha256(os.fsencode(folder)).hexdigest()[:12]}"


def _not_a_repository(path: Path, said: str) -> str:
    if "not a git repository" in said:
        return (
            f"{str(path)!r} is not a git repository; make it one: "
            f"cd {path} && git init && git add -A && git commit -m 'as it is'"
        )
    return f"{str(path)!r} can't be used as a git repository: {said}"
