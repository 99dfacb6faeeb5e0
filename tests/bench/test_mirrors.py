from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import pytest

import toy
from boxes import Box
from experepair.bench.instance import Instance
from experepair.bench.mirrors import Mirrors
from experepair.domain.command import Command
from experepair.errors import UsageError
from experepair.workspace.checkout import checkout

CANARY = "canary-of-the-future-5309"


def instance(commit: str, repo: str = "toys/toy") -> Instance:
    return Instance("toys__toy-1", repo, commit, toy.ISSUE)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return toy.repository(tmp_path / "source")


def head(repository: Path) -> str:
    return toy.git(repository, "rev-parse", "HEAD").strip()


@pytest.mark.parametrize("bare", [True, False], ids=["bare", "with a work tree"])
@pytest.mark.parametrize(
    "place",
    [
        "toys+toy/repo",
        "toys__toy",
        "toys/toy",
        "toys/toy.git",
        "swe-bench+toys__toy/repo",
        "toy",
        "toys+toy.git",
    ],
)
def test_a_mirror_is_found_in_every_layout(source: Path, tmp_path: Path, place: str, bare: bool) -> None:
    folder = tmp_path / "mirrors"
    (folder / place).parent.mkdir(parents=True)
    toy.git(tmp_path, "clone", "--quiet", *(["--bare"] if bare else []), str(source), str(folder / place))
    opened = Mirrors(tmp_path / "clones", folder, "").open(instance(head(source)))
    assert opened.root == folder / place
    assert opened.scope == "github.com/toys/toy"


def test_a_mirror_that_lacks_the_commit_is_passed_over(source: Path, tmp_path: Path) -> None:
    folder = tmp_path / "mirrors"
    shutil.copytree(source, folder / "toys+toy")
    toy.git(source, "commit", "--quiet", "--allow-empty", "--message=later")
    shutil.copytree(source, folder / "toys__toy")
    mirrors = Mirrors(tmp_path / "clones", folder, "")
    assert mirrors.open(instance(head(source))).root == folder / "toys__toy"
    with pytest.raises(UsageError, match="can't give the commit"):
        mirrors.open(instance("1" * 40))


def test_without_a_mirror_it_is_cloned_once(source: Path, tmp_path: Path) -> None:
    mirrors = Mirrors(
        tmp_path / "clones", None, f"file://{source.parent}/source{{repo}}".replace("{repo}", "")
    )
    first = mirrors.open(instance(head(source)))
    shutil.rmtree(source)
    assert mirrors.open(instance(head(first.root))).root == first.root
    assert first.scope == "github.com/toys/toy"


def test_what_can_neither_be_found_nor_cloned_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no mirror of 'toys/toy'"):
        Mirrors(tmp_path / "clones", tmp_path, "").open(instance("1" * 40))
    with pytest.raises(UsageError, match="no git repository"):
        Mirrors(tmp_path / "clones").open(instance("1" * 40, "/nowhere"))
    with pytest.raises(UsageError, match="git clone failed"):
        Mirrors(tmp_path / "clones", None, f"file://{tmp_path}/{{repo}}").open(instance("1" * 40))


def test_instances_whose_repositories_cant_be_had_are_left_out_and_told(source: Path, tmp_path: Path) -> None:
    shutil.copytree(source, tmp_path / "mirrors" / "toys__toy")
    mirrors = Mirrors(tmp_path / "cache", tmp_path / "mirrors", clone_from=f"{tmp_path}/nowhere/{{repo}}")
    here, gone = instance(head(source)), instance(head(source), "toys/gone")
    told: list[str] = []
    assert mirrors.held([gone, here, gone], told.append) == (here,)
    assert len(told) == 1
    assert told[0].startswith("left out: 2 of toys/gone: ")


def test_a_backlog_may_name_a_local_repository(source: Path, tmp_path: Path) -> None:
    opened = Mirrors(tmp_path / "clones").open(instance("HEAD", str(source)))
    assert opened.root == source
    assert opened.scope == str(source)


def test_nothing_after_the_base_commit_can_be_reached_in_the_sandbox(source: Path, tmp_path: Path) -> None:
    """Neither commits, tags, branches, stashes, reflogs nor remotes of the mirror."""
    base = head(source)
    (source / "toy" / "stats.py").write_text(f"# {CANARY}\n")
    toy.git(source, "commit", "--quiet", "--all", f"--message={CANARY}")
    toy.git(source, "tag", "--annotate", "--message", CANARY, "v2")
    toy.git(source, "branch", CANARY)
    (source / "toy" / "stats.py").write_text(f"# stashed {CANARY}\n")
    toy.git(source, "stash", "--quiet")
    toy.git(source, "remote", "add", CANARY, f"https://example.invalid/{CANARY}")
    fix = head(source)
    mirrors = tmp_path / "mirrors"
    mirrors.mkdir()
    shutil.copytree(source, mirrors / "toys+toy")
    opened = Mirrors(tmp_path / "clones", mirrors, "").open(instance(base))
    tree = checkout(opened, opened.resolve(base), tmp_path / "checkouts")
    look = f"""
        git log --all --reflog --format=%H%B; git tag; git branch --all; git stash list; git reflog; git remote -v
        git cat-file --batch-all-objects --batch
        git cat-file -e {fix} && echo reached the fix
        grep -r {CANARY} . ; cat .git/config .git/packed-refs .git/ORIG_HEAD .git/FETCH_HEAD
        find / -name '*{CANARY}*' 2>/dev/null
        echo looked"""
    done = Box(tree.root, tmp_path / "run").run(Command(("sh", "-c", look)))
    assert base in done.stdout
    assert done.stdout.endswith("looked\n")
    assert CANARY not in done.stdout
    assert "reached the fix" not in done.stdout


def test_several_at_once_share_one_clone(source: Path, tmp_path: Path) -> None:
    mirrors = Mirrors(tmp_path / "clones", None, f"file://{source}")

    async def main() -> set[Path]:
        opened = await asyncio.gather(
            *(asyncio.to_thread(mirrors.open, instance(head(source))) for _ in range(4))
        )
        return {one.root for one in opened}

    assert len(asyncio.run(main())) == 1
