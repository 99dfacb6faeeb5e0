"""Rows of a dataset from files: JSON, JSON Lines, or Parquet, also a folder of Parquet files as the hub keeps them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from experepair.errors import UsageError

Row = Mapping[str, Any]

EXTRA = "pip install 'experepair[bench]'"
"""What brings the libraries that are imported here."""


def read_file(path: Path) -> Iterator[Row]:
    """Rows of one file, by its suffix: .jsonl, .json (a list, or an object by id), .parquet.

    Raises:
        UsageError: it can't be read, or isn't what its suffix says.
    """
    readers = {".jsonl": _lines, ".ndjson": _lines, ".json": _json, ".parquet": _parquet}
    reader = readers.get(path.suffix.lower())
    if reader is None:
        raise UsageError(f"the dataset {str(path)!r} is none of {', '.join(readers)}, nor a folder")
    try:
        for place, row in reader(path):
            if not isinstance(row, Mapping):
                raise UsageError(f"{place} of {str(path)!r} is not an object with columns")
            yield row
    except OSError as error:
        raise UsageError(f"can't read the dataset {str(path)!r}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise UsageError(
            f"the dataset {str(path)!r} is not text in UTF-8 (byte {error.start}); save it as UTF-8"
        ) from error


def read_folder(folder: Path, split: str) -> Iterator[Row]:
    """Rows of one split from a folder of Parquet files: SPLIT.parquet, or SPLIT-*.parquet, also below data/.

    Raises:
        UsageError: there is no file of this split.
    """
    places = (folder, folder / "data")
    files = [file for place in places for file in sorted(place.glob("*.parquet")) if _split_of(file) == split]
    if not files:
        seen = sorted({_split_of(file) for place in places for file in place.glob("*.parquet")})
        there = f"there are {', '.join(seen)}" if seen else "there are no Parquet files"
        raise UsageError(f"no split {split!r} in {str(folder)!r}: {there}")
    for file in files:
        yield from read_file(file)


def download(dataset: str, split: str, revision: str | None) -> Path:
    """Fetch the Parquet files of one split from the hub, once; the folder that holds them.

    Raises:
        UsageError: the library is not installed, or the hub doesn't give them.
    """
    try:
        from huggingface_hub import snapshot_download
        from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError
    except ImportError as error:
        raise UsageError(f"datasets of the hub need more libraries: {EXTRA}") from error
    try:
        return Path(
            snapshot_download(
                dataset,
                repo_type="dataset",
                revision=revision,
                allow_patterns=[f"{split}*.parquet", f"data/{split}*.parquet"],
            )
        )
    except (HfHubHTTPError, LocalEntryNotFoundError, OSError, ValueError) as error:
        said = str(error).strip().splitlines() or [type(error).__name__]
        raise UsageError(
            f"the dataset {dataset!r} can't be had from the hub: {said[0]}; give a local .jsonl, .json or .parquet file"
        ) from error


def _split_of(file: Path) -> str:
    return file.stem.split("-", 1)[0]


def _lines(path: Path) -> Iterator[tuple[str, Any]]:
    with path.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            if line.strip():
                try:
                    yield f"line {number}", json.loads(line)
                except ValueError as error:
                    raise UsageError(f"line {number} of {str(path)!r} is not JSON: {error}") from error


def _json(path: Path) -> Iterator[tuple[str, Any]]:
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except UnicodeDecodeError:
        raise
    except ValueError as error:
        raise UsageError(f"{str(path)!r} is not JSON: {error}") from error
    rows = [_named(name, row) for name, row in value.items()] if isinstance(value, dict) else value
    if not isinstance(rows, list):
        raise UsageError(f"{str(path)!r} holds neither a list of rows nor an object of them")
    for number, row in enumerate(rows, 1):
        yield f"entry {number}", row


def _named(name: str, row: Any) -> Any:
    """A row of an object by instance, which need not say its id again."""
    return {"instance_id": name, **row} if isinstance(row, dict) else row


def _parquet(path: Path) -> Iterator[tuple[str, Any]]:
    try:
        import pyarrow  # type: ignore[import-untyped]
        from pyarrow import parquet
    except ImportError as error:
        raise UsageError(f"Parquet files need one more library: {EXTRA}") from error
    try:
        with parquet.ParquetFile(path) as file:
            for batch in file.iter_batches():
                for row in batch.to_pylist():
                    yield "a row", row
    except pyarrow.ArrowException as error:
        raise UsageError(f"{str(path)!r} is not a Parquet file: {error}") from error
