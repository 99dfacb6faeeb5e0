"""The words of an issue against the words of files and functions: BM25 and BM25F."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import log

from experepair.localize.index.store import DOC_SHIFT, NAME_SHIFT, OUTER_SHIFT, UNIT_SHIFT
from experepair.localize.index.view import Index
from experepair.localize.languages import Kind
from experepair.localize.terms import count_terms


@dataclass(frozen=True, slots=True)
class Saturation:
    """How fast repetition stops to count (k1), and how much long texts are held down (b)."""

    k1: float
    b: float


CODE, TITLE = Saturation(2.5, 0.75), Saturation(1.2, 0.75)
UNIT = Saturation(1.2, 0.75)


@dataclass
class Lexical:
    """Scores of files (by position) and units (by id), and which terms made them.

    Attributes:
        code: the whole issue against files.
        title: its title against files.
        best: the best function or class of each file for the whole issue.
        best_title: the best for the title.
        best_unit: which that is, by file.
        best_title_unit: the same for the title.
        unit_code: the whole issue against functions and classes.
        unit_title: its title against them.
        terms: what the terms of the whole issue gave each file.
        title_terms: what those of the title gave.
    """

    code: dict[int, float] = field(default_factory=dict)
    title: dict[int, float] = field(default_factory=dict)
    best: dict[int, float] = field(default_factory=dict)
    best_title: dict[int, float] = field(default_factory=dict)
    best_unit: dict[int, int] = field(default_factory=dict)
    best_title_unit: dict[int, int] = field(default_factory=dict)
    unit_code: dict[int, float] = field(default_factory=dict)
    unit_title: dict[int, float] = field(default_factory=dict)
    terms: dict[int, list[tuple[float, str]]] = field(default_factory=dict)
    title_terms: dict[int, list[tuple[float, str]]] = field(default_factory=dict)


def idf(total: int, having: int) -> float:
    """How much a term tells that `having` of `total` documents hold."""
    return log(1 + (total - having + 0.5) / (having + 0.5))


class LexicalScorer:
    """Scores the files of an index against an issue."""

    def __init__(self, index: Index, include_tests: bool) -> None:
        self._index = index
        self._ranked = [
            [file for file in files if include_tests or not index.files[file].test] for files in index.slots
        ]
        self._count = sum(map(len, self._ranked)) or 1
        self._slot_sizes = [0] * len(index.slots)
        self._unit_count, size = 0, 0
        kinds, sizes = index.unit_kinds, index.unit_sizes
        for unit, slot in enumerate(index.slot_of):
            if slot >= 0 and self._ranked[slot]:
                self._slot_sizes[slot] += sizes[unit]
                if kinds[unit] in (Kind.FUNCTION, Kind.CLASS):
                    self._unit_count += 1
                    size += sizes[unit]
        self._mean_unit = size / (self._unit_count or 1) or 1.0
        self._mean = (
            sum(size * len(files) for size, files in zip(self._slot_sizes, self._ranked, strict=True))
            / self._count
            or 1.0
        )
        self._paths = self._index_paths()

    def _index_paths(self) -> dict[str, dict[int, int]]:
        """Files by the terms of their paths, with how often each is there."""
        found: dict[str, dict[int, int]] = {}
        parts: dict[str, dict[str, int]] = {}
        for files in self._ranked:
            for file in files:
                for part in self._index.files[file].path.removesuffix(".py").split("/"):
                    counts = parts.get(part)
                    if counts is None:
                        counts = parts[part] = count_terms(part)
                    for term, times in counts.items():
                        by_file = found.setdefault(term, {})
                        by_file[file] = by_file.get(file, 0) + times
        return found

    def score(self, query: Mapping[str, int], title: Mapping[str, int]) -> Lexical:
        """Score all files and functions.

        Args:
            query: terms of the whole issue, and how often each is there.
            title: those of its title.
        """
        result = Lexical()
        for term in sorted(query.keys() | title.keys()):  # sums of floats depend on the order
            self._add_term(result, term, query.get(term, 0), title.get(term, 0))
        self._note_best(result.unit_code, result.best, result.best_unit)
        self._note_best(result.unit_title, result.best_title, result.best_title_unit)
        return result

    def _note_best(
        self, units: Mapping[int, float], best: dict[int, float], best_unit: dict[int, int]
    ) -> None:
        """For each file the score of its best function or class, and which that is."""
        slot_of, ranked = self._index.slot_of, self._ranked
        for unit, score in units.items():
            for file in ranked[slot_of[unit]]:
                if score > best.get(file, 0.0):
                    best[file], best_unit[file] = score, unit

    def _add_term(self, result: Lexical, term: str, times: int, in_title: int) -> None:
        slot_of, ranked, kinds = self._index.slot_of, self._ranked, self._index.unit_kinds
        body: dict[int, int] = {}
        fields: dict[int, int] = {}
        units: list[tuple[int, int]] = []
        for base, postings in self._index.postings(term):
            for posting in postings:
                unit = base + (posting >> UNIT_SHIFT)
                slot = slot_of[unit]
                if slot < 0 or not ranked[slot]:
                    continue
                text = posting & 0xFFFF
                name = posting >> NAME_SHIFT & 15
                body[slot] = body.get(slot, 0) + text
                extra = 5 * name + 2 * (posting >> DOC_SHIFT & 255)
                if extra:
                    fields[slot] = fields.get(slot, 0) + extra
                if kinds[unit] in (Kind.FUNCTION, Kind.CLASS):
                    units.append((unit, text + 3 * (name + (posting >> OUTER_SHIFT & 15))))
        self._add_files(result, term, times, in_title, body, fields)
        if not units:
            return
        rarity = idf(self._unit_count, len(units))
        weight = rarity * (1 + log(times)) if times else 0.0
        sizes, mean = self._index.unit_sizes, self._mean_unit
        k1, b = UNIT.k1, UNIT.b
        for unit, tf in units:
            share = tf * (k1 + 1) / (tf + k1 * (1 - b + b * sizes[unit] / mean))
            if times:
                result.unit_code[unit] = result.unit_code.get(unit, 0.0) + weight * share
            if in_title:
                result.unit_title[unit] = result.unit_title.get(unit, 0.0) + rarity * share

    def _add_files(
        self,
        result: Lexical,
        term: str,
        times: int,
        in_title: int,
        body: Mapping[int, int],
        fields: Mapping[int, int],
    ) -> None:
        in_paths = self._paths.get(term, {})
        found = {file: slot for slot in body for file in self._ranked[slot]}
        rarity = idf(self._count, len(found.keys() | in_paths.keys()))
        weight = rarity * (1 + log(times)) if times else 0.0
        for file in found.keys() | in_paths.keys():
            slot = found.get(file)
            text = body[slot] + fields.get(slot, 0) if slot is not None else 0
            size = self._slot_sizes[slot] / self._mean if slot is not None else 1.0
            path = in_paths.get(file, 0)
            if times:
                gained = weight * _saturated(text + 20 * path, size, CODE)
                result.code[file] = result.code.get(file, 0.0) + gained
                result.terms.setdefault(file, []).append((gained, term))
            if in_title:
                gained = rarity * _saturated(text + 10 * path, size, TITLE)
                result.title[file] = result.title.get(file, 0.0) + gained
                result.title_terms.setdefault(file, []).append((gained, term))


def _saturated(tf: float, size: float, how: Saturation) -> float:
    return tf * (how.k1 + 1) / (tf + how.k1 * (1 - how.b + how.b * size))
