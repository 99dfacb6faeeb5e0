"""A file of the cache: columns of numbers, texts and posting lists, written once, read through a memory map.

Layout: a magic line, the length of a JSON header, the header (where each section is, checksum), then the sections, each at a
multiple of eight bytes. Numbers are in this machine's byte order: a cache is not meant to travel.
"""

from __future__ import annotations

import json
import mmap
import os
import struct
import sys
import tempfile
import zlib
from array import array
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

_MAGIC = b"experepair segment 1 " + sys.byteorder.encode() + b"\n"
_LENGTH = struct.Struct("<Q")

WRITING = "writing-"
"""How the names of files begin that aren't complete yet."""

Numbers = Sequence[int]
"""A column, or part of one: an array or a view of mapped memory."""

Bytes = bytes | memoryview
"""A column on its way to the file; large ones are never copied."""


class SegmentDamaged(ValueError):
    """A file of the cache isn't what was written; it can be thrown away and built again."""


class Texts:
    """A column of texts, decoded when asked for."""

    def __init__(self, data: memoryview, offsets: Numbers) -> None:
        self._data, self._offsets = data, offsets

    def __len__(self) -> int:
        return len(self._offsets) - 1

    def __getitem__(self, position: int) -> str:
        start, end = self._offsets[position], self._offsets[position + 1]
        return bytes(self._data[start:end]).decode("utf-8", "surrogateescape")

    def find(self, text: str) -> int | None:
        """Position of a text in a sorted column; None if it isn't there."""
        wanted = text.encode("utf-8", "surrogateescape")
        low, high = 0, len(self)
        offsets, data = self._offsets, self._data
        while low < high:
            middle = (low + high) // 2
            if bytes(data[offsets[middle] : offsets[middle + 1]]) < wanted:
                low = middle + 1
            else:
                high = middle
        if low < len(self) and bytes(data[offsets[low] : offsets[low + 1]]) == wanted:
            return low
        return None


class Segment:
    """A read-only file of documents, each known by a key (the id of a blob or a commit).

    Raises:
        SegmentDamaged: the file is cut short or changed, or was written by another version.
        OSError: it can't be read, or is gone.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        with path.open("rb") as file:
            try:
                self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            except ValueError as error:
                raise SegmentDamaged(f"{path.name} is empty") from error
        view = memoryview(self._map)
        self.size = len(view)
        start = len(_MAGIC) + _LENGTH.size
        if view[: len(_MAGIC)] != _MAGIC or len(view) < start:
            raise SegmentDamaged(f"{path.name} is no segment of this version")
        (length,) = _LENGTH.unpack(view[len(_MAGIC) : start])
        try:
            header = json.loads(bytes(view[start : start + length]))
            body = view[_aligned(start + length) :]
            if len(body) != header["size"] or zlib.crc32(body) != header["crc"]:
                raise SegmentDamaged(f"{path.name} is damaged")
            if hasattr(mmap, "MADV_DONTNEED"):  # what was read for the checksum need not stay in memory
                self._map.madvise(mmap.MADV_DONTNEED)
            self._sections = {
                name: body[offset : offset + size].cast(code) if code != "B" else body[offset : offset + size]
                for name, (code, offset, size) in header["sections"].items()
            }
        except (ValueError, KeyError, TypeError) as error:
            raise SegmentDamaged(f"{path.name} is damaged") from error
        self._terms = self.texts("terms")
        self._posting_offsets = self.numbers("posting offsets")
        self._postings = self.numbers("postings")

    def numbers(self, name: str) -> Numbers:
        """A column of numbers."""
        return self._sections[name]

    def texts(self, name: str) -> Texts:
        """A column of texts."""
        return Texts(self._sections[name], self.numbers(f"{name} offsets"))

    def postings(self, term: str) -> Numbers:
        """What was noted under a term, in the order of writing; empty if nothing was."""
        position = self._terms.find(term)
        if position is None:
            return ()
        return self._postings[self._posting_offsets[position] : self._posting_offsets[position + 1]]

    def all_postings(self) -> Iterable[tuple[str, Numbers]]:
        """Every term, in order, with what was noted under it."""
        offsets = self._posting_offsets
        for position in range(len(self._terms)):
            yield self._terms[position], self._postings[offsets[position] : offsets[position + 1]]


def write_segment(
    folder: Path,
    numbers: Mapping[str, array[int]],
    texts: Mapping[str, Sequence[str]],
    postings: Mapping[str, array[int]],
) -> Path:
    """Write a segment so that readers see all of it or nothing, and return its path."""
    terms = sorted(postings, key=lambda term: term.encode("utf-8", "surrogateescape"))
    offsets = array("Q", [0])
    joined = array("Q")
    for term in terms:
        joined.extend(postings[term])
        offsets.append(len(joined))
    columns: dict[str, tuple[str, Bytes]] = {
        name: (column.typecode, memoryview(column).cast("B")) for name, column in numbers.items()
    }
    columns["posting offsets"] = ("Q", memoryview(offsets).cast("B"))
    columns["postings"] = ("Q", memoryview(joined).cast("B"))
    for name, values in {**texts, "terms": terms}.items():
        columns[name], columns[f"{name} offsets"] = _joined(values)
    return _write(folder, columns)


def _joined(values: Sequence[str]) -> tuple[tuple[str, Bytes], tuple[str, Bytes]]:
    encoded = [value.encode("utf-8", "surrogateescape") for value in values]
    offsets, total = array("Q", [0]), 0
    for value in encoded:
        total += len(value)
        offsets.append(total)
    return ("B", b"".join(encoded)), ("Q", memoryview(offsets).cast("B"))


def _write(folder: Path, columns: Mapping[str, tuple[str, Bytes]]) -> Path:
    sections, at, crc = {}, 0, 0
    chunks: list[Bytes] = []
    for name, (code, data) in columns.items():
        sections[name] = (code, at, len(data))
        for part in (data, bytes(_aligned(len(data)) - len(data))):
            chunks.append(part)
            at += len(part)
            crc = zlib.crc32(part, crc)
    header = json.dumps({"size": at, "crc": crc, "sections": sections}).encode()
    start = _MAGIC + _LENGTH.pack(len(header)) + header
    handle, name = tempfile.mkstemp(dir=folder, prefix=WRITING)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(start + b"\0" * (_aligned(len(start)) - len(start)))
            file.writelines(chunks)
        final = folder / f"{crc:08x}-{at:x}.segment"
        Path(name).replace(final)
    except BaseException:
        with suppress(OSError):
            Path(name).unlink()
        raise
    return final


def _aligned(size: int) -> int:
    return (size + 7) & ~7
