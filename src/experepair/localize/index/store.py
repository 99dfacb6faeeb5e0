"""Blobs in the cache: which are there, and how new ones get there."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Sequence
from typing import NamedTuple

from experepair.localize.index.folder import Batch, SegmentFolder
from experepair.localize.index.segment import Segment
from experepair.localize.languages import Kind, Language, language_of
from experepair.localize.languages.language import Definition
from experepair.localize.source import Source
from experepair.localize.terms import count_terms
from experepair.localize.text import utf8_of

UNIT_SHIFT, OUTER_SHIFT, NAME_SHIFT, DOC_SHIFT = 32, 28, 24, 16
"""A posting is unit << 32 | in the names around it << 28 | in its name << 24 | in its docstring << 16 | in its text."""

DEFINED = "="
"""Before the exact name of a definition, as a term."""

_FLUSH_POSTINGS = 3_000_000
"""A segment is written when it holds this many postings, so that memory stays bounded."""
_MAX_SEGMENTS = 8
_MAX_MERGED_BYTES = 16 << 20
"""Larger segments stay as they are: merging costs memory."""


class Place(NamedTuple):
    """Where a blob is in the cache."""

    segment: int
    document: int


def new_batch() -> Batch:
    """An empty batch of blobs."""
    numbers = {"first unit": array("I", [0])}
    numbers |= {name: array("I") for name in ("start", "end", "body", "kind", "parent", "size")}
    return Batch(numbers, {"key": [], "name": []})


class BlobStore:
    """All blobs of a repository that were indexed so far."""

    def __init__(self, folder: SegmentFolder) -> None:
        self.folder = folder
        self.places: dict[str, Place] = {}
        self._locate()

    def _locate(self) -> None:
        self.places.clear()
        for number, segment in enumerate(self.folder.segments):
            keys = segment.texts("key")
            for document in range(len(keys)):
                self.places.setdefault(keys[document], Place(number, document))

    def update(self, source: Source, wanted: Sequence[tuple[str, str]], max_bytes: int) -> int:
        """Index the blobs that are new, and return how many were.

        Args:
            source: reads them.
            wanted: path (for the language) and blob.
            max_bytes: larger files are listed without content; 0 means no limit.
        """
        missing = {blob: path for path, blob in wanted if blob not in self.places}
        if not missing:
            return 0
        sizes = dict(source.sizes(missing))  # a blob that isn't here is left out, and asked for again
        readable = [blob for blob, size in sizes.items() if not max_bytes or size <= max_bytes]
        batch = new_batch()
        for blob in sorted(sizes.keys() - set(readable)):
            _add(batch, blob, None, b"")
        posted = 0
        for blob, content in source.contents(readable):
            posted += _add(batch, blob, language_of(missing[blob]), content)
            if posted > _FLUSH_POSTINGS:
                self.folder.add(batch)
                batch, posted = new_batch(), 0
        if batch.texts["key"]:
            self.folder.add(batch)
        self._tidy({blob for _, blob in wanted})
        self._locate()
        return len(missing)

    def _tidy(self, current: set[str]) -> None:
        """Merge small segments when there are many; forget old blobs when they are most of them."""
        small = [each for each in self.folder.segments if each.size < _MAX_MERGED_BYTES]
        if len(self.folder.segments) <= _MAX_SEGMENTS or len(small) < 2:
            return
        known = sum(len(segment.texts("key")) for segment in small)
        kept = current if known > 10 * len(current) else None
        self.folder.replace(small, _merged(small, kept))


def _add(batch: Batch, blob: str, language: Language | None, content: bytes) -> int:
    """Add one blob, and return the number of its postings."""
    batch.texts["key"].append(blob)
    posted = 0
    if language is not None:
        content = utf8_of(content)
        posted = _add_units(batch, language.outline(content).definitions, content)
    batch.numbers["first unit"].append(len(batch.texts["name"]))
    return posted


def _add_units(batch: Batch, definitions: Sequence[Definition], content: bytes) -> int:
    base, posted = len(batch.texts["name"]), 0
    numbers = batch.numbers
    texts = own_texts(definitions, content)
    for position, definition in enumerate(definitions):
        body = count_terms(texts[position])
        doc = count_terms(content[slice(*definition.doc)].decode("utf-8", "replace"))
        name = count_terms(definition.name)
        outer = count_terms(" ".join(_names_around(definitions, position)))
        unit = (base + position) << UNIT_SHIFT
        for term in body.keys() | name.keys() | outer.keys() if name else body:
            batch.note(
                term,
                unit
                | min(outer.get(term, 0), 15) << OUTER_SHIFT
                | min(name.get(term, 0), 15) << NAME_SHIFT
                | min(doc.get(term, 0), 255) << DOC_SHIFT
                | min(body.get(term, 0), 65535),
            )
        if definition.name:
            batch.note(DEFINED + definition.name, unit)
        posted += len(body) + 2
        batch.texts["name"].append(definition.name)
        for column in ("start", "end", "body", "kind", "parent"):
            numbers[column].append(getattr(definition, column))
        numbers["size"].append(sum(body.values()))
    return posted


def _names_around(definitions: Sequence[Definition], position: int) -> list[str]:
    names = []
    while position := definitions[position].parent:
        names.append(definitions[position].name)
    return names


def own_texts(definitions: Sequence[Definition], content: bytes) -> list[str]:
    """Text of each definition without that of the definitions below it; what is inside a function is its own."""
    pieces: list[list[bytes]] = [[] for _ in definitions]
    open_at: list[int] = []
    at = 0
    for position, definition in enumerate(definitions):
        if definition.kind is Kind.INNER:
            continue
        start = definition.span[0]
        while open_at and definitions[open_at[-1]].span[1] <= start:
            top = open_at.pop()
            end = definitions[top].span[1]
            pieces[top].append(content[at:end])
            at = max(at, end)
        if open_at:
            pieces[open_at[-1]].append(content[at:start])
        at = start
        open_at.append(position)
    while open_at:
        top = open_at.pop()
        end = definitions[top].span[1]
        pieces[top].append(content[at:end])
        at = max(at, end)
    return [b"\n".join(parts).decode("utf-8", "replace") for parts in pieces]


def _merged(segments: Sequence[Segment], kept: set[str] | None) -> Batch:
    """One batch with the blobs of several segments, each once; those not in `kept` are left out."""
    batch = new_batch()
    done: set[str] = set()
    for segment in segments:
        offsets = _copy_units(segment, batch, done, kept)
        firsts = segment.numbers("first unit")
        for term, postings in segment.all_postings():
            for posting in postings:
                unit = posting >> UNIT_SHIFT
                moved = offsets[bisect_right(firsts, unit) - 1]
                if moved is not None:
                    batch.note(term, posting + (moved << UNIT_SHIFT))
    return batch


def _copy_units(segment: Segment, batch: Batch, done: set[str], kept: set[str] | None) -> list[int | None]:
    """Copy the columns; how far the units of each document were moved, None for one that wasn't copied."""
    firsts, keys, names = segment.numbers("first unit"), segment.texts("key"), segment.texts("name")
    offsets: list[int | None] = []
    for document in range(len(keys)):
        key = keys[document]
        if key in done or (kept is not None and key not in kept):
            offsets.append(None)
            continue
        done.add(key)
        units = range(firsts[document], firsts[document + 1])
        offsets.append(len(batch.texts["name"]) - units.start)
        batch.texts["key"].append(key)
        batch.texts["name"].extend(names[unit] for unit in units)
        for column in ("start", "end", "body", "kind", "parent", "size"):
            batch.numbers[column].extend(segment.numbers(column)[units.start : units.stop])
        batch.numbers["first unit"].append(len(batch.texts["name"]))
    return offsets
