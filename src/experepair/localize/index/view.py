"""The files of one commit, with what the cache knows of them."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from experepair.domain.place import Span
from experepair.localize.config import RankingConfig
from experepair.localize.index.folder import SegmentFolder, cache_folder
from experepair.localize.index.store import DEFINED, UNIT_SHIFT, BlobStore, Place
from experepair.localize.languages import Kind, language_of
from experepair.localize.source import Source
from experepair.workspace.tree import is_utf8


@dataclass(frozen=True, slots=True)
class File:
    """A file that can be indexed.

    Attributes:
        path: POSIX, relative to the tree.
        blob: git's id of its content.
        module: the name by which other files refer to it.
        test: whether it holds tests.
    """

    path: str
    blob: str
    module: str
    test: bool


@dataclass(frozen=True, slots=True)
class Unit:
    """A definition, as the cache knows it.

    Attributes:
        id: number of it in this index.
        kind: what it is.
        name: qualified name; "" for the module.
        start: first line.
        end: last line.
        body: first line after the signature.
        size: terms in its own text.
    """

    id: int
    kind: Kind
    name: str
    start: int
    end: int
    body: int
    size: int

    def span(self, path: str) -> Span:
        """Its lines in a file."""
        return Span(path, self.start, self.end, self.name)


class Index:
    """Definitions and terms of the files of a commit.

    Units (definitions, and one for what is outside of them) are numbered through all segments of the
    cache; those of a blob that several files share belong to its *slot*.

    Args:
        source: the commit; blobs that the cache doesn't know are read and indexed now.
        config: limits and the cache's folder.
    """

    def __init__(self, source: Source, config: RankingConfig) -> None:
        folder = SegmentFolder(config.cache or cache_folder(), source.name, "blobs-2")
        self._store = BlobStore(folder)
        known = [entry for entry in source.entries() if language_of(entry.path) is not None]
        entries = [entry for entry in known if is_utf8(entry.path)]
        self.parsed = self._store.update(
            source, [(entry.path, entry.blob) for entry in entries], config.max_file_bytes
        )
        self.notes = [folder.note] if folder.note else []
        self.files: list[File] = []
        for entry in entries:
            language = language_of(entry.path)
            if language is not None and entry.blob in self._store.places:
                path = entry.path
                self.files.append(File(path, entry.blob, language.module(path), language.is_test(path)))
        if len(self.files) < len(entries):
            self.notes.append(
                f"{len(entries) - len(self.files)} files could not be read: their content isn't here"
            )
        if len(entries) < len(known):
            self.notes.append(f"{len(known) - len(entries)} files left out: their names aren't UTF-8")
        if not self.files:
            self.notes.append("there are no files in a language that can be indexed")
        self._bases: list[int] = []
        total = 0
        for segment in folder.segments:
            self._bases.append(total)
            total += len(segment.texts("name"))
        self._total = total

    @cached_property
    def position(self) -> dict[str, int]:
        """Where each path is in `files`."""
        return {file.path: number for number, file in enumerate(self.files)}

    @cached_property
    def slots(self) -> list[list[int]]:
        """Positions of the files that share a blob, for each blob."""
        return list(self._by_blob.values())

    @cached_property
    def _by_blob(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for number, file in enumerate(self.files):
            found.setdefault(file.blob, []).append(number)
        return found

    @cached_property
    def slot_of(self) -> array[int]:
        """The slot of each unit; -1 for units of other commits."""
        slot_of = array("i", [-1]) * self._total
        for slot, blob in enumerate(self._by_blob):
            units = self._units(self._store.places[blob])
            slot_of[units.start : units.stop] = array("i", [slot]) * len(units)
        return slot_of

    def _units(self, place: Place) -> range:
        firsts = self._store.folder.segments[place.segment].numbers("first unit")
        base = self._bases[place.segment]
        return range(base + firsts[place.document], base + firsts[place.document + 1])

    def units(self, file: int) -> range:
        """Ids of the units of a file, in order of their first lines, the module first."""
        return self._units(self._store.places[self.files[file].blob])

    def postings(self, term: str) -> Iterator[tuple[int, Sequence[int]]]:
        """For each segment: what to add to the units of its postings, and those."""
        for base, segment in zip(self._bases, self._store.folder.segments, strict=True):
            found = segment.postings(term)
            if found:
                yield base, found

    def frequency(self, term: str) -> int:
        """How many units hold a term, those of other commits included."""
        return sum(len(found) for _, found in self.postings(term))

    def definitions(self, name: str) -> list[tuple[int, int]]:
        """Slot and unit of each definition with exactly this simple name."""
        slot_of = self.slot_of
        return [
            (slot_of[unit], unit)
            for base, postings in self.postings(DEFINED + name)
            for unit in (base + (posting >> UNIT_SHIFT) for posting in postings)
            if slot_of[unit] >= 0
        ]

    def _column(self, place: Place, name: str, unit: int) -> int:
        return self._store.folder.segments[place.segment].numbers(name)[unit]

    def unit(self, file: int, unit: int) -> Unit:
        """One of the units of a file."""
        place = self._store.places[self.files[file].blob]
        local = unit - self._bases[place.segment]
        names: list[str] = []
        first = self._column(place, "first unit", place.document)
        texts = self._store.folder.segments[place.segment].texts("name")
        above = local
        while above != first:
            names.append(texts[above])
            above = first + self._column(place, "parent", above)
        return Unit(
            unit,
            Kind(self._column(place, "kind", local)),
            ".".join(reversed(names)),
            *(self._column(place, column, local) for column in ("start", "end", "body", "size")),
        )

    @cached_property
    def unit_sizes(self) -> array[int]:
        """Terms in the own text of each unit."""
        return self._all("size")

    @cached_property
    def unit_kinds(self) -> array[int]:
        """Kind of each unit."""
        return self._all("kind")

    def _all(self, name: str) -> array[int]:
        joined = array("I")
        for segment in self._store.folder.segments:
            joined.extend(segment.numbers(name))
        return joined
