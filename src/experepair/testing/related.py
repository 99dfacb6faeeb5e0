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
_SPLIT = re.compile(r"_|(?<=[a-z0-9])(?=[A-Z])")
_IN_CODE = re.compile(r"```.*?```|`[^`\n]+`|\b\w+\(", re.DOTALL)
_IMPORT = re.compile(
    rb"(?m)^[ \t]*(?:from[ \t]+([.\w]+)[ \t]+import[ \t]+(\([^)]*\)|[^\n]*)|import[ \t]+([^\n]+))"
)
_NAME = re.compile(rb"\w+")
_TEST_PARTS = re.compile(r"^tests?_|_tests?$|^tests?$")
_HOLDS_TESTS = re.compile(rb"^\s*(?:async )?def test", re.MULTILINE)


class RelatedConfig(BaseModel, frozen=True, extra="forbid"):
    """How much each sign counts that a test file belongs to an issue; 0 switches a sign off."""

    named_in_issue: float = 6.0
    """The issue names the test file by its path or name."""
    same_name: float = 4.0
    """It is named after a touched module (test_forms.py); divided by 1 + log of how many are."""
    imports: float = 3.0
    """It imports a touched module; divided by 1 + log of how many do."""
    beside: float = 2.0
    """Share of the words of a touched file's path that its own path has, rare ones counting more."""
    words: float = 3.0
    """Share of the issue's code-like words that it uses, rare ones counting more."""
    path_words: float = 1.0
    """Share of the words of its own path that the issue has, rare ones counting more."""
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
    contents = {file: read(file) or b"" for file in files if is_test_file(file)}
    # helpers for tests, and commands that are called "test", hold no tests
    contents = {file: content for file, content in contents.items() if _HOLDS_TESTS.search(content)}
    tests = list(contents)
    issue = issue_text[: config.issue_chars]
    total: Counter[str] = Counter(_named(issue, tests, config.named_in_issue))
    total.update(_used(_code_words(issue), contents, config.words))
    total.update(_spoken_of(issue, tests, config.path_words))
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


def _spoken_of(issue: str, tests: Sequence[str], weight: float) -> Mapping[str, float]:
    said = {part.lower().removesuffix("s") for word in _WORD.findall(issue) for part in _SPLIT.split(word)}
    own = {test: _words_of(test) for test in tests}
    having = Counter(word for words in own.values() for word in words)
    rarity = {word: math.log(1 + len(tests) / count) for word, count in having.items()}
    return {
        test: weight * sum(rarity[word] for word in words & said) / sum(rarity[word] for word in words)
        for test, words in own.items()
        if words & said
    }


def _alike(path: str, tests: Sequence[str], config: RelatedConfig) -> Mapping[str, float]:
    """What the paths of tests have of a touched file's path; what few tests have counts more."""
    touched = _words_of(path)
    own = {test: _words_of(test) for test in tests}
    having = Counter(word for words in own.values() for word in words)
    rarity = {word: math.log(1 + len(tests) / (1 + having[word])) for word in touched}
    whole = sum(rarity.values()) or 1.0
    named_same = [test for test in tests if _names(test) & _names(path)]
    same = config.same_name / (1 + math.log(max(1, len(named_same))))
    scores = Counter(
        {test: config.beside * sum(rarity[w] for w in touched & own[test]) / whole for test in tests}
    )
    scores.update(dict.fromkeys(named_same, same))
    scores.update({path: config.same_name} if path in own else {})
    return scores


def _parts(path: str) -> list[str]:
    """Folders and name without what only says that it is a test: sympy/core/tests/test_add.py is sympy, core, add."""
    parts = [_TEST_PARTS.sub("", part).strip("_") for part in PurePosixPath(path.removesuffix(".py")).parts]
    return [part for part in parts if part and part not in {"__init__", "init", "src", "lib"}]


def _names(path: str) -> set[str]:
    """What a test of this file may be called: by its name, or by the folder that it is in as well."""
    parts = _parts(path)
    return {parts[-1], "_".join(parts[-2:]), "".join(parts[-2:])} if parts else set()


def _words_of(path: str) -> set[str]:
    """The words of a path, plural or not: model_fields and models/fields are the same two."""
    return {word.removesuffix("s") for part in _parts(path) for word in part.split("_") if word}


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
