"""Ten well-known packages, each in an environment of its own: a test passes in the sandbox, and fails when a line is broken.

    python benchmarks/peers.py [--folder DIR] [--only NAME]...

Each source archive is fetched by its hash through pip (the user's index), made into a git repository as upstream
would have it (what its .gitignore names stays untracked), and installed editable into a venv in its folder. The rest is
what `experepair fix` does: find the interpreter, lay build products if the peer needs them, prove by a sentinel that
tests import the private tree, recognise the test runner, run a test file twice on the untouched code and once with one
line of the source changed. Where build products are needed, a run without the flag must be refused, or told, with that
remedy.
"""

from __future__ import annotations

import argparse
import asyncio
import subprocess
import sys
import tarfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from experepair.domain.command import Changes
from experepair.folders import cache_folder
from experepair.journal.journal import Journal
from experepair.sandbox.interpreter import find_interpreter
from experepair.sandbox.journalled import JournalledSandbox
from experepair.sandbox.normalise import normalise
from experepair.sandbox.open import open_sandbox
from experepair.session.environment import examine, prepare
from experepair.session.environment.preflight import Verdict
from experepair.session.settings import Settings
from experepair.testing.framework import recognise
from experepair.testing.regression import baseline, compare
from experepair.workspace.checkout import checkout
from experepair.workspace.repository import Repository

BUDGET_S = 600.0
IGNORED = "*.so\n__pycache__/\n*.egg-info/\n/.venv/\n/build/\n"
"""What upstream ignores, where its archive holds no .gitignore."""


@dataclass(frozen=True)
class Peer:
    """A package, what its tests need, and a line whose change one of them notices."""

    name: str
    version: str
    sha256: str
    test: str
    file: str
    line: str
    broken: str
    needs: tuple[str, ...] = ()
    build_products: bool = False

    @property
    def needed(self) -> str:
        """What the user has to do beside `pip install -e .`."""
        words = [f"pip install {' '.join(('pytest', *self.needs))}"] if self.needs != ("",) else []
        return "; ".join([*words, *(["--build-products"] if self.build_products else [])]) or "nothing"


PEERS = (
    Peer(
        "attrs", "25.3.0", "75d7cefc7fb576747b2c81b4442d4d4a1ce0900973527c011d1030fd3bf4af1b",
        "tests/test_converters.py", "src/attr/converters.py", "            if val is None:\n                return None\n            return converter(val)\n",
        "            if val is None:\n                return 0\n            return converter(val)\n", ("hypothesis",),
    ),
    Peer(
        "click", "8.1.8", "ed53c9d8990d83c2a27deae68e4ee337473f6330c040a31d4225c9574d16096a",
        "tests/test_formatting.py", "src/click/formatting.py", "widths[idx] = max(widths.get(idx, 0), term_len(col))", "widths[idx] = 0",
    ),
    Peer(
        "humanize", "4.12.3", "8430be3a615106fdfceb0b2c1b41c4c98c6b0fc5cc59663a5539b111dd325fb0",
        "tests/test_number.py", "src/humanize/number.py", 'return "-Inf"', 'return "Inf"', ("freezegun",), build_products=True,
    ),
    Peer(
        "jinja2", "3.1.6", "0137fb05990d35f1275a587e9aee6d56da821fc83491a0fb838183be43f66d6d",
        "tests/test_filters.py", "src/jinja2/filters.py", "return len(_word_re.findall(soft_str(s)))", "return 1 + len(_word_re.findall(soft_str(s)))", ("trio",),
    ),
    Peer(
        "more-itertools", "10.7.0", "9fddd5403be01a94b204faadcff459ec3568cf110265d3c54323e1e866ad29d3",
        "tests/test_more.py", "more_itertools/more.py", "iterator = iter(partial(take, n, iter(iterable)), [])", "iterator = iter(partial(take, 2, iter(iterable)), [])", ("",),
    ),
    Peer(
        "pluggy", "1.6.0", "7dcc130b76258d33b90f61b658791dede3486c3e6bfb003ee5c9bfb396dd22f3",
        "testing/test_multicall.py", "src/pluggy/_callers.py", "for hook_impl in reversed(hook_impls):", "for hook_impl in hook_impls:", build_products=True,
    ),
    Peer(
        "python-dateutil", "2.9.0.post0", "37dd54208da7e1cd875388217d5e00ebd4179249f90fb72437e91a35459a0ad3",
        "tests/test_easter.py", "src/dateutil/easter.py", "i = (19*g + 15) % 30", "i = (19*g + 14) % 30", ("six",),
    ),
    Peer(
        "sqlparse", "0.5.3", "09f67787f56a0b16ecdbde1bfc7f5d9c3371ca683cfeaa8e6ff60b4807ec9272",
        "tests/test_utils.py", "sqlparse/utils.py", "val = val[1:-1]", "val = val[1:]",
    ),
    Peer(
        "psutil", "7.0.0", "7be9c3eba38beccb6495ea33afd982a44074b78f28c434a1f51cc07fd315c456",
        "psutil/tests/test_misc.py", "psutil/_common.py", "if input_value < old_value:", "if input_value > old_value:", build_products=True,
    ),
    Peer(
        "multidict", "6.4.4", "69ee9e6ba214b5245031b76233dd95408a0fd57fdb019ddcc1ead4790932a8e8",
        "tests/test_abc.py", "multidict/__init__.py", "MutableMultiMapping.register(MultiDict)", "MultiMapping.register(MultiDict)", ("pytest-cov",), build_products=True,
    ),
)  # fmt: skip


@dataclass(frozen=True)
class Outcome:
    """What was seen of one peer; `verdict` is "good" or what went wrong."""

    peer: Peer
    python: str = ""
    runner: str = ""
    preflight: str = ""
    before: str = ""
    after: str = ""
    seconds: float = 0.0
    verdict: str = "good"


def run(*words: str | Path, cwd: Path) -> None:
    """Run a command; its output is shown when it fails."""
    done = subprocess.run([str(word) for word in words], cwd=cwd, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{words}: {done.stdout[-1000:]}{done.stderr[-3000:]}")


def make(peer: Peer, folder: Path) -> Path:
    """The peer's repository with its venv, made once."""
    home = folder / peer.name
    if (home / ".venv" / "ready").is_file():
        return home
    wanted = folder / f"{peer.name}.txt"
    wanted.write_text(f"{peer.name}=={peer.version} --hash=sha256:{peer.sha256}\n")
    pip = (sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check")
    run(*pip, "download", "--no-deps", "--no-binary", ":all:", "--require-hashes", "--dest", folder / "archives",
        "--requirement", wanted, cwd=folder)  # fmt: skip
    (archive,) = (folder / "archives").glob(f"{peer.name.replace('-', '[-_]')}-{peer.version}.tar.gz")
    with tarfile.open(archive) as opened:
        top = opened.getnames()[0].split("/")[0]
        opened.extractall(folder, filter="data")
    (folder / top).rename(home)
    if not (home / ".gitignore").is_file():
        (home / ".gitignore").write_text(IGNORED)
    for words in (
        ("init", "--quiet"),
        ("add", "--all"),
        (
            "-c",
            "user.name=peers",
            "-c",
            "user.email=peers@example.invalid",
            "commit",
            "--quiet",
            "-m",
            "as released",
        ),
    ):
        run("git", *words, cwd=home)
    base = getattr(sys, "_base_executable", sys.executable)
    run(base, "-m", "venv", home / ".venv", cwd=home)
    own = (home / ".venv/bin/python", "-m", "pip", "--quiet", "--disable-pip-version-check", "install")
    run(*own, "pytest", "setuptools", "setuptools_scm<9", *filter(None, peer.needs), cwd=home)
    run(*own, "--editable", ".", cwd=home)
    (home / ".venv" / "ready").touch()
    return home


async def measure(peer: Peer, home: Path) -> Outcome:
    """What `fix` does before it asks a model, then the tests with and without a broken line."""
    repository = Repository.open(home)
    tree = checkout(repository, repository.resolve("HEAD"), cache_folder() / "checkouts")
    found = find_interpreter(home, environ={})
    if peer.build_products and not await warned(repository, home):
        return Outcome(peer, verdict="not told to give --build-products")
    settings = Settings(build_products=peer.build_products)
    opening = partial(open_sandbox, "auto", mount_at=home)
    ground = await prepare(tree, repository, found, settings, opening)
    framework = recognise(tree.files(), tree.read)
    if framework is None:
        return Outcome(peer, verdict="no test runner recognised")
    async with opening(tree=ground.tree, interpreter=ground.interpreter) as sandbox:
        clean = partial(normalise, root=str(home), interpreter=found)
        with Journal.in_memory() as journal:
            seen = await examine(
                JournalledSandbox(sandbox, journal, clean), tree, home, ground.surroundings, framework
            )
        before = await baseline(sandbox, framework, (peer.test,), BUDGET_S)
        source = (tree.read(peer.file) or b"").decode()
        assert source.count(peer.line) >= 1, f"{peer.file} doesn't hold {peer.line!r}"
        changes: Changes = {peer.file: source.replace(peer.line, peer.broken, 1).encode()}
        after = await compare(sandbox, before, changes, BUDGET_S)
    good = seen.preflight.verdict is Verdict.PROVED and before.stable and after.broken
    return Outcome(
        peer, found.version, framework.name, str(seen.preflight.verdict), f"{len(before.stable)} pass", f"{len(after.broken)} fail",
        verdict="good" if good else f"{seen.preflight.found} {before.output[-300:]}",
    )  # fmt: skip


async def warned(repository: Repository, home: Path) -> bool:
    """Whether a run without build products is refused, or told in a note, with the flag as the remedy."""
    tree = checkout(repository, repository.resolve("HEAD"), cache_folder() / "checkouts")
    found = find_interpreter(home, environ={})
    opening = partial(open_sandbox, "auto", mount_at=home)
    ground = await prepare(tree, repository, found, Settings(), opening)
    async with opening(tree=ground.tree, interpreter=found) as sandbox:
        clean = partial(normalise, root=str(home), interpreter=found)
        with Journal.in_memory() as journal:
            seen = await examine(JournalledSandbox(sandbox, journal, clean), tree, home, ground.surroundings)
    refused = seen.preflight.verdict is Verdict.FAILED and "--build-products" in seen.preflight.remedy
    return refused or any("--build-products" in note for note in ground.notes)


def main(arguments: Sequence[str] | None = None) -> int:
    """Make, measure, print; 0 when all are good."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--folder", type=Path, default=cache_folder() / "peers", help="where they are kept")
    parser.add_argument("--only", action="append", help="one of them, by name; may be given several times")
    chosen = parser.parse_args(arguments)
    folder = chosen.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    bad = 0
    print(
        "| package | Python | runner | needed beside `pip install -e .` | preflight | untouched | a line broken | s | |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    for peer in PEERS:
        if chosen.only and peer.name not in chosen.only:
            continue
        try:
            home = make(peer, folder)
            started = time.perf_counter()
            seen = asyncio.run(measure(peer, home))
            took = time.perf_counter() - started
        except (RuntimeError, AssertionError) as error:
            seen, took = Outcome(peer, verdict=str(error)), 0.0
        bad += seen.verdict != "good"
        cells = (f"{peer.name} {peer.version}", seen.python, seen.runner, peer.needed, seen.preflight, seen.before,
                 seen.after, f"{took:.1f}", seen.verdict.replace("\n", " "))  # fmt: skip
        print("| " + " | ".join(cells) + " |", flush=True)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
