"""Where the repositories of a dataset are: a folder of mirrors, or clones made once."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from experepair.bench.instance import Instance, is_hosted
from experepair.errors import OutputError, UsageError
from experepair.workspace.git import Git
from experepair.workspace.repository import Repository

CLONE_FROM = "https://github.com/{repo}.git"
"""Where repositories named as owner/name are cloned from."""

_NAMES = (
    "{owner}+{name}",
    "{owner}__{name}",
    "{owner}/{name}",
    "swe-bench+{owner}__{name}",  # SWE-bench's own copies
    "swe-bench/{owner}__{name}",
    "{name}",
)
_WITHIN = ("", ".git", "/repo", "/repo.git")


@dataclass(frozen=True, slots=True)
class Mirrors:
    """Finds the repository of an instance.

    Attributes:
        cache: folder that clones are kept in.
        folder: mirrors, bare or not, in one of the usual layouts; None when there are none.
        clone_from: URL with {repo} for owner/name; "" never clones.
    """

    cache: Path
    folder: Path | None = None
    clone_from: str = CLONE_FROM

    def open(self, instance: Instance) -> Repository:
        """The repository that holds the instance's commit, under the instance's own scope of memory.

        Raises:
            UsageError: none has the commit, and none can be cloned.
        """
        seen = []
        for path in self._places(instance.repo):
            repository = Repository.open(path)
            if _holds(repository, instance.base_commit):
                return replace(repository, scope=instance.scope)
            seen.append(str(path))
        if seen and self.folder is not None:
            raise UsageError(
                f"{' and '.join(map(repr, seen))} can't give the commit {instance.base_commit!r} of {instance.id}; "
                "fetch it there"
            )
        repository = Repository.open(self._cloned(instance))
        if not _holds(repository, instance.base_commit):
            raise UsageError(
                f"{instance.repo!r} has no commit {instance.base_commit!r}, which {instance.id} names"
            )
        return replace(repository, scope=instance.scope)

    def held(self, instances: Sequence[Instance], tell: Callable[[str], object]) -> tuple[Instance, ...]:
        """Those instances whose repositories can be had; of the others is told, a repository a line."""
        missing: dict[str, str] = {}
        found = []
        for one in instances:
            if one.repo in missing:
                continue
            try:
                self.open(one)
            except UsageError as error:
                missing[one.repo] = str(error)
            else:
                found.append(one)
        for repo, reason in missing.items():
            tell(f"left out: {sum(one.repo == repo for one in instances)} of {repo}: {reason}")
        return tuple(one for one in found if one.repo not in missing)

    def _places(self, repo: str) -> Iterator[Path]:
        if not is_hosted(repo):
            path = Path(repo).expanduser()
            if _is_repository(path):
                yield path
            return
        owner, name = repo.split("/")
        if self.folder is None:
            return
        for pattern in _NAMES:
            for within in _WITHIN:
                path = self.folder / (pattern.format(owner=owner, name=name) + within)
                if _is_repository(path):
                    yield path

    def _cloned(self, instance: Instance) -> Path:
        """Clone once; several processes may ask at the same time."""
        hosted = is_hosted(instance.repo)
        if not hosted and "://" not in instance.repo:
            raise UsageError(f"there is no git repository {instance.repo!r}, which {instance.id} names")
        if not self.clone_from:
            raise UsageError(f"there is no mirror of {instance.repo!r} in {str(self.folder)!r}")
        url = self.clone_from.replace("{repo}", instance.repo) if hosted else instance.repo
        home = self.cache / instance.scope.replace("/", "+")
        try:
            self.cache.mkdir(parents=True, exist_ok=True)
            with home.with_name(f"{home.name}.lock").open("a") as held:
                fcntl.flock(held, fcntl.LOCK_EX)
                if not _is_repository(home):
                    _clone(url, home)
        except OSError as error:
            raise OutputError(f"no clone can be made in {str(self.cache)!r}: {error}") from error
        return home


def _clone(url: str, home: Path) -> None:
    temporary = Path(tempfile.mkdtemp(prefix=f"{home.name}.new-", dir=home.parent))
    try:
        network = {name: os.environ[name] for name in os.environ if name.lower().endswith("_proxy")}
        git = Git(home.parent).with_env(GIT_ALLOW_PROTOCOL="https:ssh:file", **network)
        git.run("clone", "--quiet", "--mirror", "--", url, str(temporary / "clone"))
        (temporary / "clone").rename(home)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _is_repository(path: Path) -> bool:
    return (path / ".git").exists() or ((path / "HEAD").is_file() and (path / "objects").is_dir())


def _holds(repository: Repository, commit: str) -> bool:
    try:
        repository.resolve(commit)
    except UsageError:
        return False
    return True
