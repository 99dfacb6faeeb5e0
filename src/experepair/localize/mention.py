"""What an issue names outright: paths, traceback frames, modules, identifiers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from experepair.domain.place import Evidence
from experepair.localize.index.view import Index

_FRAME = re.compile(r'File "([^"\n]{1,500})", line (\d{1,9})(?:, in ([\w<>.]{1,200}))?')
_SHORT_FRAME = re.compile(r"^[ \t]*([\w./\\-]{1,300}\.py):(\d{1,9}):", re.MULTILINE)
_PATH = re.compile(r"(?<![\w.~+/\\-])[\w.~+-]*(?:[/\\][\w.+-]+)*\.py\b")
_DOTTED = re.compile(r"\b[^\W\d]\w*(?:\.[^\W\d]\w*)+")
_FROM_IMPORT = re.compile(r"^[> \t.]*from[ \t]+([\w.]+)[ \t]+import[ \t]+\(?([\w, \t]+)", re.MULTILINE)
_IDENTIFIER = re.compile(r"[^\W\d]\w*")
_FENCED = re.compile(r"```.*?(?:```|\Z)|`[^`\n]{1,300}`", re.DOTALL)
_CAMEL = re.compile(r"[a-z][A-Z]")
_MOST = 500
"""Frames, paths or dotted names of an issue that are looked at."""


@dataclass(frozen=True, slots=True)
class Frame:
    """A line of a traceback.

    Attributes:
        path: as printed.
        line: as printed.
        function: "" when it isn't printed.
    """

    path: str
    line: int
    function: str


@dataclass
class Mentions:
    """How much the issue names each file (by position) and each unit (by id), and the evidence."""

    files: dict[int, float] = field(default_factory=dict)
    units: dict[int, float] = field(default_factory=dict)
    evidence: dict[int, list[Evidence]] = field(default_factory=dict)
    unit_evidence: dict[int, list[Evidence]] = field(default_factory=dict)
    _by_kind: dict[str, dict[int, float]] = field(default_factory=dict)

    def file(self, kind: str, position: int, detail: str, weight: float) -> None:
        """Note that a file is named."""
        scores = self._by_kind.setdefault(kind, {})
        scores[position] = scores.get(position, 0.0) + weight
        self.evidence.setdefault(position, []).append(Evidence(kind, detail, weight))

    def unit(self, kind: str, unit: int, detail: str, weight: float) -> None:
        """Note that a definition is named."""
        self.units[unit] = self.units.get(unit, 0.0) + weight
        self.unit_evidence.setdefault(unit, []).append(Evidence(kind, detail, weight))

    def settle(self) -> None:
        """Add up the kinds, each up to its cap: many weak mentions don't outweigh a path."""
        for kind, (factor, cap) in _FACTORS.items():
            for position, score in self._by_kind.get(kind, {}).items():
                self.files[position] = self.files.get(position, 0.0) + factor * min(score, cap)


_FACTORS = {"path": (3.0, 1.5), "traceback": (2.0, 2.0), "module": (2.0, 2.0), "identifier": (1.0, 3.0)}
"""By kind: what a mention counts, and up to how many count."""


def frames_in(text: str) -> list[Frame]:
    """Frames of the tracebacks in a text, in order."""
    found = [
        (match.start(), Frame(match[1], int(match[2]), match[3] or "")) for match in _FRAME.finditer(text)
    ]
    found += [(match.start(), Frame(match[1], int(match[2]), "")) for match in _SHORT_FRAME.finditer(text)]
    return [frame for _, frame in sorted(found, key=lambda pair: pair[0])][-_MOST:]


def code_identifiers(text: str) -> dict[str, None]:
    """Identifiers that are meant as code: within backticks, called, or not spelt like prose; in order."""
    found: dict[str, None] = {}
    for match in _FENCED.finditer(text):
        found |= dict.fromkeys(_IDENTIFIER.findall(match[0]))
    for match in _IDENTIFIER.finditer(text):
        name = match[0]
        if (
            "_" in name.strip("_")
            or name[0] == "_"
            or _CAMEL.search(name)
            or text[match.end() : match.end() + 1] == "("
        ):
            found[name] = None
    for dotted in _DOTTED.findall(text):
        found |= dict.fromkeys(dotted.split("."))
    return {name: None for name in found if len(name) > 2}


class MentionFinder:
    """Finds what a text names in an index."""

    def __init__(self, index: Index, include_tests: bool) -> None:
        self._index = index
        self._by_name: dict[str, list[int]] = {}
        self._by_module: dict[str, list[int]] = {}
        self._include_tests = include_tests
        for position, file in enumerate(index.files):
            if include_tests or not file.test:
                self._by_name.setdefault(file.path.rpartition("/")[2], []).append(position)
                self._by_module.setdefault(file.module.rpartition(".")[2], []).append(position)

    def find(self, text: str) -> Mentions:
        """Everything that `text` names."""
        mentions = Mentions()
        self._frames(mentions, text)
        for path in _first(match[0] for match in _PATH.finditer(_FRAME.sub("", text))):
            matched = self.files_of_path(path)
            for position in matched:
                mentions.file("path", position, path, 1 / len(matched))
        for dotted in _first(_dotted_names(text)):
            self._module(mentions, dotted)
        self._identifiers(mentions, code_identifiers(text))
        mentions.settle()
        return mentions

    def files_of_path(self, path: str) -> list[int]:
        """The files whose paths agree with the longest end of `path`; none when only too many agree."""
        parts = [part for part in path.replace("\\", "/").split("/") if part not in ("", ".", "..", "~")]
        if not parts:
            return []
        agreeing: list[tuple[int, int]] = []
        for position in self._by_name.get(parts[-1], ()):
            own = self._index.files[position].path.split("/")
            length = 0
            while length < min(len(own), len(parts)) and own[-1 - length] == parts[-1 - length]:
                length += 1
            agreeing.append((length, position))
        longest = max((length for length, _ in agreeing), default=0)
        found = [position for length, position in agreeing if length == longest]
        return found if len(found) <= 5 else []

    def _frames(self, mentions: Mentions, text: str) -> None:
        located = [(frame, self.files_of_path(frame.path)) for frame in frames_in(text)]
        located = [
            (frame, files)
            for frame, files in located
            if len(files) == 1
            and (
                self._index.files[files[0]].path.count("/") == 0
                or _shares_folder(frame.path, self._index.files[files[0]].path)
            )
        ]
        for number, (frame, files) in enumerate(reversed(located)):
            weight = 1.0 if number == 0 else 0.5
            detail = f"{frame.path}:{frame.line}"
            mentions.file("traceback", files[0], detail, weight)
            simple = frame.function.rpartition(".")[2]
            for slot, unit in self._index.definitions(simple) if simple else ():
                if files[0] in self._index.slots[slot]:
                    mentions.unit("traceback", unit, detail, weight)

    def _module(self, mentions: Mentions, dotted: str) -> None:
        """A dotted name counts for the module it names, or for what defines the name after the module."""
        parts = dotted.split(".")
        for length in range(len(parts), 0, -1):
            files = self._modules(".".join(parts[:length])) if length > 1 or len(parts) > 1 else []
            if not files:
                continue
            rest = parts[length:]
            if not rest:
                if length > 1:
                    for position in files:
                        mentions.file("module", position, dotted, 1 / len(files))
                return
            targets = self._defining(rest[0], files)
            for position, unit in targets:
                mentions.file("module", position, dotted, 1 / len(targets))
                mentions.unit("module", unit, dotted, 1 / len(targets))
            if not targets and length > 1:
                for position in files:
                    mentions.file("module", position, dotted, 0.5 / len(files))
            return

    def _modules(self, dotted: str) -> list[int]:
        """Files whose module name is, or ends with, a dotted name; the name of a package is its own."""
        candidates = self._by_module.get(dotted.rpartition(".")[2], ())
        found = [
            position
            for position in candidates
            if (module := self._index.files[position].module) == dotted or module.endswith("." + dotted)
        ]
        exact = [position for position in found if self._index.files[position].module == dotted]
        return exact or (found if len(found) <= 3 else [])

    def _defining(self, name: str, modules: list[int]) -> list[tuple[int, int]]:
        """Files in the modules, or below the packages, that define a name; and the definitions."""
        found = []
        folders = [
            self._index.files[position].path.removesuffix("__init__.py")
            for position in modules
            if self._index.files[position].path.endswith("__init__.py")
        ]
        for slot, unit in self._index.definitions(name):
            for position in self._index.slots[slot]:
                path = self._index.files[position].path
                if self._is_ranked(position) and (
                    position in modules or any(path.startswith(folder) for folder in folders)
                ):
                    found.append((position, unit))
        return found if len(found) <= 5 else []

    def _is_ranked(self, position: int) -> bool:
        return self._include_tests or not self._index.files[position].test

    def _identifiers(self, mentions: Mentions, names: dict[str, None]) -> None:
        for name in names:
            found = [
                (position, unit)
                for slot, unit in self._index.definitions(name)
                for position in self._index.slots[slot]
                if self._is_ranked(position)
            ]
            files = dict.fromkeys(position for position, _ in found)
            if not files or len(files) > 30:
                continue
            for position in files:
                mentions.file("identifier", position, name, 1 / len(files))
            for _, unit in found:
                mentions.unit("identifier", unit, name, 1 / len(found))


def _shares_folder(printed: str, path: str) -> bool:
    """Whether a traceback's path agrees with ours in more than the file's name."""
    printed_parts, own = printed.replace("\\", "/").split("/"), path.split("/")
    return len(printed_parts) > 1 and printed_parts[-2:] == own[-2:]


def _first(names: Iterable[str]) -> list[str]:
    """The first different names, in order."""
    return list(dict.fromkeys(names))[:_MOST]


def _dotted_names(text: str) -> Iterator[str]:
    yield from _DOTTED.findall(text)
    for match in _FROM_IMPORT.finditer(text):
        for name in match[2].replace(",", " ").split():
            yield f"{match[1]}.{name}"
