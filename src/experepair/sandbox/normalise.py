"""Takes out of an output what varies between machines and runs, so that journals replay and prompts stay the same."""

from __future__ import annotations

import functools
import re

from experepair.sandbox.interpreter import Interpreter

# What a replacement ends with doesn't begin a path either, or a second pass would find more than the first.
_STARTS = r"(?<![\w./+@~…-])(?<!<python>)(?<!<time>)"
_ENDS = r"(?![\w+@~-]|\.\w)"

_RULES: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern, re.MULTILINE), replacement)
    for pattern, replacement in (
        # Any installed Python's library, wherever it is: /opt/x/lib/python3.11/json/... -> <python>/json/...
        (_STARTS + r"/[\w./+@~-]*?/lib(?:64)?/(?:python|pypy)\d(?:\.\d+)?(?=/)", "<python>"),
        # Frames outside the tree move with the version of what is installed.
        (r'(File "<python>[^"\n]*", line )\d+', r"\1?"),
        (r"^(<python>[^\s:]*:)\d+(?=:)", r"\1?"),
        # Python 3.11 began to underline the place in a line.
        (r'^( *File "[^"\n]*", line [^\n]*\n[^\n]+\n)[ ~]*\^[ ~^]*\n', r"\1"),
        (r"\bat 0x[0-9A-Fa-f]{5,}", "at 0x…"),
        (r"\b0x[0-9A-Fa-f]{12,}", "0x…"),
        (r"\b\d+\.\d\d+(?= ?s(?:ec(?:ond)?s?)?\b)", "0.00"),
        (r"(\bin )\d+(?:\.\d+)?(?=m?s\b)", r"\g<1>0.00"),
        (r"(?<=\bin 0.00s) \(\d+:\d\d:\d\d\)", ""),
        (r"\b([Pp][Ii][Dd](?:[ =:]|: ?))\d+", r"\1…"),
        (r"(/tmp/tmp)[a-z0-9_]{8}(?![a-z0-9_])", r"\1XXXXXXXX"),
        (r"^(\[?)\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d[.,]\d{3,6}", r"\1<time>"),
        (r'(\btimestamp=")[^"\n]*"', r'\1<time>"'),
        (r"^(platform \w+ -- Python )[^\n]*", r"\1…"),
        (r"^(plugins: )[^\n]*", r"\1…"),
        (r"^(cachedir: )[^\n]*", r"\1…"),
        (r"^\[\.\.\. \d+ bytes left out \.\.\.\]$", "[... output left out ...]"),
    )
)


def normalise(text: str, *, root: str, interpreter: Interpreter) -> str:
    """The text with what varies replaced; normalising twice changes nothing more.

    Args:
        text: an output.
        root: path of the tree as the command saw it; paths below become relative, itself becomes "/repo".
        interpreter: its paths become "<python>".
    """
    for rule, replacement in _rules(root, interpreter.path, interpreter.prefixes):
        text = rule.sub(replacement, text)
    return text


@functools.lru_cache(maxsize=16)
def _rules(root: str, python: str, prefixes: tuple[str, ...]) -> tuple[tuple[re.Pattern[str], str], ...]:
    """Rules for this tree and interpreter, then those for everyone; the longest paths first."""
    rules = [(re.compile("(?<=file://)" + re.escape(root) + _ENDS), "/repo"), (_path(python), "<python>")]
    for prefix in sorted(prefixes, key=len, reverse=True):
        library = r"(?:/lib(?:64)?/(?:python|pypy)\d(?:\.\d+)?(?=/))?"
        rules.append((_path(prefix, library), "<python>"))
    rules.append((re.compile(_STARTS + re.escape(root) + r"/(?=[\w.])"), ""))
    rules.append((_path(root), "/repo"))
    return (*rules, *_RULES)


def _path(path: str, then: str = "") -> re.Pattern[str]:
    return re.compile(_STARTS + re.escape(path) + then + _ENDS)
