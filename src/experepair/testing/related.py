"""Chooses the existing tests that a change may concern, from the issue and the touched files alone."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from pathlib import PurePosixPath

from pydantic import BaseModel

from experepair.testing.framework import Read, is_test_file
from experepair.testing.run import module_name

_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]{2,}")
_IN_CODE = re.compile(r"```.*?```|`[^`\n]+`|\b\w+\(", re.DOTALL)
_IMPORT = re.compile(
    rb"(?m)^[ \t]*(?:from[ \t]+([.\w]+)[ \t]+import[ \t]+(\([^)]*\)|[^\n]*)|import[ \t]+([^\n]+))"
)
_NAME = re.compile(rb"\w+")
_TEST_PARTS = re.compile(r"^tests?_|_tests?$|^tests?$")


class RelatedConfig(BaseModel, frozen=True, extra="forbid"):
    """How much each sign counts that a test file belongs to an issue; 0 switches a sign off."""

    named_in_issue: float = 6.0
    """The issue names the test file by its path or name."""
    same_name: float = 4.0
    """The file is named after a touched module (test_forms.py for forms.py)."""
    imports: float = 3.0
    """It imports a touched module; divided by the logarithm of how many tests do."""
    beside: float = 2.0
    """Share of the touched file's folders and name that its own path has."""
    words: float = 3.0
    """Share of the issue's code-like words that it uses, rare ones counting more."""
    issue_chars: int = 20_000
    """How much of the issue is read, in characters."""


def related_tests(
    issue_text: str,
    touched: Sequence[str],
    files: Sequence[str],
    read: Read,
    limit: int,
    *,
    config: RelatedConfig | None = None,
) -> tuple[str, ...]:
    """Test files from most to least related, at most `limit`.

    Args:
        issue_text: title and body.
        touched: files that are, or are suspected to be, changed; may be empty.
        files: all tracked files.
        read: their content.
        limit: most files to return.
        config: weights; the default ones when None.
    """
    config = config or RelatedConfig()
    tests = [file for file in files if is_test_file(file)]
    contents = {test: read(test) or b"" for test in tests}
    issue = issue_text[: config.issue_chars]
    total: Counter[str] = Counter(_named(issue, tests, config.named_in_issue))
    total.update(_used(_code_words(issue), contents, config.words))
    for path in dict.fromkeys(touched):
        total.update(_alike(path, tests, config))
        total.update(_importing(path, contents, config.imports))
    ranked = sorted((-score, test) for test, score in total.items() if score > 0)
    return tuple(test for _, test in ranked[:limit])


def _named(issue: str, tests: Sequence[str], weight: float) -> Mapping[str, float]:
    words = set(re.findall(r"[\w./-]+\.py|\btest_\w+", issue))
    named = {}
    for test in tests:
        name = PurePosixPath(test).name
        if name != "tests.py" and (name in words or name.removesuffix(".py") in words):
            named[test] = weight
        if any("/" in word and test.endswith(word.lstrip("./")) for word in words):
            named[test] = weight
    return named


def _code_words(issue: str) -> Mapping[str, int]:
    """Words that look like code, by how often the issue has them: in code blocks, or spelled as no prose is."""
    code = " ".join(_IN_CODE.findall(issue))
    words = Counter(_WORD.findall(code))
    spelled = [
        word for word in _WORD.findall(issue) if "_" in word.strip("_") or re.search(r"[a-z][A-Z]", word)
    ]
    return words + Counter(spelled)


def _used(words: Mapping[str, int], contents: Mapping[str, bytes], weight: float) -> Mapping[str, float]:
    holding = {
        word: {test for test, content in contents.items() if word.encode() in content} for word in words
    }
    rarity = {
        word: math.log(1 + len(contents) / len(tests)) * (1 + math.log(words[word]))
        for word, tests in holding.items()
        if tests
    }
    scores: Counter[str] = Counter()
    for word, value in rarity.items():
        scores.update(dict.fromkeys(holding[word], value))
    whole = sum(rarity.values())
    return {test: weight * score / whole for test, score in scores.items()}


def _alike(path: str, tests: Sequence[str], config: RelatedConfig) -> Mapping[str, float]:
    """What the paths of tests have of a touched file's path."""
    touched = _parts(path)
    last = touched[-1] if touched else ""
    scores = {}
    for test in tests:
        own = _parts(test)
        shared = len(set(touched) & set(own)) / len(set(touched) | set(own)) if touched and own else 0.0
        same = bool(own) and last in {own[-1], "".join(own[-2:]), "_".join(own[-2:])}
        scores[test] = config.beside * shared + config.same_name * same + config.same_name * (test == path)
    return scores


def _parts(path: str) -> list[str]:
    """Folders and name without what only says that it is a test: sympy/core/tests/test_add.py is sympy, core, add."""
    parts = [_TEST_PARTS.sub("", part).strip("_") for part in PurePosixPath(path.removesuffix(".py")).parts]
    return [part for part in parts if part and part not in {"__init__", "init", "src", "lib"}]


def _importing(path: str, contents: Mapping[str, bytes], weight: float) -> Mapping[str, float]:
    """Tests that import the touched module, absolutely or relatively."""
    names = set(_import_names(path))
    if not names:
        return {}
    stem = min(names).rpartition(".")[2].encode()
    found = [
        test
        for test, content in contents.items()
        if stem in content and not names.isdisjoint(_imported(content, PurePosixPath(test).parts[:-1]))
    ]
    return dict.fromkeys(found, weight / (1 + math.log(max(1, len(found)))))


def _import_names(path: str) -> tuple[str, ...]:
    """Dotted names that a module may be imported by, without and with the folders that may be on the path."""
    if not path.endswith(".py"):
        return ()
    name = module_name(path)
    return (name, name.removeprefix("src.").removeprefix("lib."))


def _imported(content: bytes, package: Collection[str]) -> set[str]:
    """Dotted names of all that is imported, as far as a line tells; of `from a import b` both a and a.b."""
    names: set[str] = set()
    for source, what, plain in _IMPORT.findall(content):
        if plain:
            names.update(
                part.split()[0].decode(errors="replace") for part in plain.split(b",") if part.split()
            )
            continue
        base = source.decode(errors="replace")
        level = len(base) - len(base.lstrip("."))
        if level:
            parents = list(package)[: len(package) - level + 1]
            base = ".".join((*parents, *filter(None, [base.lstrip(".")])))
        names.add(base)
        names.update(f"{base}.{name.decode(errors='replace')}" for name in _NAME.findall(what))
    return names
