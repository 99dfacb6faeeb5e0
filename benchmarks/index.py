"""What the index costs, beside `ast` and the floor of reading all bytes, in one run.

    python benchmarks/index.py --repo GITDIR --commit SHA

CPU seconds of this process and of the git processes that it runs; each way in a process of its own, so
that peak memory is its own too. `warm` is a new process with a full cache; the ranking is for an issue that
is made of the repository's own words.
"""

from __future__ import annotations

import argparse
import ast
import json
import resource
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path

from experepair.localize import GitSource, History, Ranker, RankingConfig
from experepair.localize.languages import language_of

WAYS = ("read", "ast", "definitions", "cold", "warm", "warm ranking")


def contents(repository: Path, commit: str) -> Iterator[bytes]:
    """Content of all files in a known language."""
    source = GitSource(repository, commit)
    blobs = [entry.blob for entry in source.entries() if language_of(entry.path) is not None]
    yield from (content for _, content in source.contents(blobs))


def read(repository: Path, commit: str, _: Path) -> str:
    """The floor: every byte is read from git."""
    sizes = [len(content) for content in contents(repository, commit)]
    return f"{len(sizes)} files, {sum(sizes) >> 20} MB"


def by_ast(repository: Path, commit: str, _: Path) -> str:
    """Definitions by the parser of the standard library."""
    found = failed = 0
    warnings.simplefilter("ignore")
    for content in contents(repository, commit):
        try:
            tree = ast.parse(content)
        except (SyntaxError, ValueError):
            failed += 1
            continue
        kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
        found += sum(isinstance(node, kinds) for node in ast.walk(tree))
    return f"{found} definitions, {failed} files unparsable"


def definitions(repository: Path, commit: str, _: Path) -> str:
    """Definitions by our index's parser."""
    language = language_of("any.py")
    assert language is not None
    found = sum(len(language.outline(content).definitions) - 1 for content in contents(repository, commit))
    return f"{found} definitions"


def rank(repository: Path, commit: str, cache: Path) -> str:
    """Index, history and one ranking, from what the cache holds."""
    history = History(repository, commit, cache=cache)
    ranker = Ranker(GitSource(repository, commit), history, RankingConfig(cache=cache))
    subjects = subprocess.run(
        ["git", "-C", str(repository), "log", "-40", "--format=%s", commit],
        capture_output=True,
        text=True,
        check=True,
    )
    ranker.rank(subjects.stdout)
    before = time_used()
    ranker.rank(subjects.stdout)
    folder = sum(path.stat().st_size for path in cache.glob("*/*/*.segment")) >> 20
    again = time_used() - before
    return f"{ranker.finder.index.parsed} files indexed, cache {folder} MB, ranking again {again:.2f} s"


def index_only(repository: Path, commit: str, cache: Path) -> str:
    """Open the index, and nothing more."""
    ranker = Ranker(GitSource(repository, commit), None, RankingConfig(cache=cache))
    return f"{ranker.finder.index.parsed} files indexed"


def time_used() -> float:
    """CPU seconds of this process and its children so far."""
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(each.ru_utime + each.ru_stime for each in used)


def measure(way: str, repository: Path, commit: str, cache: Path) -> None:
    """Run one way in this process, and print what it took."""
    run = {"read": read, "ast": by_ast, "definitions": definitions, "warm": index_only}.get(way, rank)
    before = time_used()
    said = run(repository, commit, cache)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    print(json.dumps({"way": way, "cpu_s": time_used() - before, "peak_mb": peak, "said": said}))


def main() -> None:
    """Measure all ways, one after another, each in a new process."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repo", type=Path, required=True)
    parser.add_argument("--commit", required=True)
    parser.add_argument("--repeat", type=int, default=1, help="runs of each way; the least CPU time is shown")
    parser.add_argument("--way", choices=WAYS, help=argparse.SUPPRESS)
    parser.add_argument("--cache", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.way:
        measure(given.way, given.repo, given.commit, given.cache)
        return
    print(f"{'':<14}{'CPU s':>8}{'peak MB':>9}")
    for way in WAYS:
        runs = []
        with tempfile.TemporaryDirectory() as kept:
            for number in range(given.repeat):
                cache = Path(kept) / (str(number) if way == "cold" else "cache")
                if way.startswith("warm") and not number:
                    one(given, "cold", cache)
                runs.append(one(given, way, cache))
        best = min(runs, key=lambda run: float(str(run["cpu_s"])))
        print(f"{way:<14}{best['cpu_s']:8.2f}{best['peak_mb']:9}  {best['said']}")


def one(given: argparse.Namespace, way: str, cache: Path) -> dict[str, object]:
    """Run one way in a new process."""
    argv = [sys.executable, __file__, "--repo", str(given.repo), "--commit", given.commit, "--way", way]
    done = subprocess.run([*argv, "--cache", str(cache)], check=True, capture_output=True, text=True)
    found: dict[str, object] = json.loads(done.stdout.splitlines()[-1])
    return found


if __name__ == "__main__":
    main()
