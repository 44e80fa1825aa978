# SPDX-License-Identifier: Apache-2.0
"""A source as far as it can be seen without Spark: is it there, is it empty, has it the columns?

Columns are looked up in one file, and only on the local disk, where that costs nothing; the driver
checks them again, for every source, before it writes.
"""

from __future__ import annotations

import contextlib
import csv
import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from airflow_hudi.core.compaction import NothingToDo
from airflow_hudi.core.errors import MissingPackage
from airflow_hudi.core.ingestion import (
    FileSource,
    IngestWork,
    SourceFormat,
    WhenEmpty,
    check_columns,
)
from airflow_hudi.core.job_errors import InvalidWork, SourceEmpty, SourceMissing
from airflow_hudi.core.properties import TableProperties
from airflow_hudi.core.storage import LocalStorage, open_storage
from airflow_hudi.core.storage.base import FileInfo, Storage
from airflow_hudi.core.uris import is_absolute

_HIDDEN = ("_", ".")
_GLOB = frozenset("*?[{")
_DEEPEST = 8


def check_source(work: IngestWork, table: TableProperties | None) -> NothingToDo | str:
    """What would be read, in words; raises where it is missing, empty or lacks a needed column."""
    source = work.source
    if source is None:
        return f"{work.operation.value} of {', '.join(work.partitions)}"
    if not isinstance(source, FileSource) or _GLOB & set(source.path):
        return f"{work.operation.value} of {source}"
    if not is_absolute(source.path):
        cure = "the driver runs in another folder: pass an absolute path or a URI"
        raise InvalidWork(f"{source.path!r} is a relative path", cure=cure)
    storage, files = _files(source.path)
    if not files:
        return _nothing(work, SourceMissing(source.path))
    filled = [file for file in files if file.size > 0]
    if not filled:
        return _nothing(work, SourceEmpty(source.path))
    if isinstance(storage, LocalStorage):
        columns = local_columns(source, Path(storage.uri, filled[0].path))
        if columns is not None:
            check_columns(work, table, columns)
    megabytes = sum(file.size for file in files) / 1_000_000
    return f"{work.operation.value} of {source}: {len(files)} files, {megabytes:.1f} MB"


def _nothing(work: IngestWork, problem: SourceMissing | SourceEmpty) -> NothingToDo:
    if work.when_empty is WhenEmpty.SKIP:
        return NothingToDo(str(problem))
    raise problem


def _files(path: str) -> tuple[Storage, list[FileInfo]]:
    """The data files at a path: itself, or those below it, as Spark would see them."""
    place, _, name = path.rstrip("/").rpartition("/")
    parent = open_storage(place or "/")
    itself = [file for file in parent.list_folder("").files if file.name == name]
    if itself:
        return parent, itself
    storage = open_storage(path)
    return storage, list(_below(storage, "", _DEEPEST))


def _below(storage: Storage, folder: str, depth: int) -> Iterator[FileInfo]:
    listing = storage.list_folder(folder)
    yield from (file for file in listing.files if not file.name.startswith(_HIDDEN))
    if depth:
        for name in listing.folders:
            if not name.startswith(_HIDDEN):
                yield from _below(storage, f"{folder}/{name}".lstrip("/"), depth - 1)


def local_columns(source: FileSource, path: Path) -> tuple[str, ...] | None:
    """The columns of one file, with those of partition folders; None where only Spark can tell."""
    try:
        own = _READERS[source.format](path, source.options)
    except (OSError, ValueError, StopIteration, MissingPackage):
        return None  # a damaged or odd file: Spark will say what is wrong with it
    if own is None:
        return None
    folders = (part.partition("=")[0] for part in path.parts if "=" in part)
    return (*own, *folders)


def _parquet(path: Path, _: Mapping[str, str]) -> tuple[str, ...]:
    from pyarrow import parquet  # noqa: PLC0415 - heavy, and only for this format

    return tuple(parquet.read_schema(path).names)


def _avro(path: Path, _: Mapping[str, str]) -> tuple[str, ...] | None:
    import fastavro  # noqa: PLC0415 - only for this format

    with path.open("rb") as stream:
        schema = fastavro.reader(stream).writer_schema
    if not isinstance(schema, dict) or schema.get("type") != "record":
        return None
    return tuple(column["name"] for column in schema["fields"])


def _csv(path: Path, options: Mapping[str, str]) -> tuple[str, ...] | None:
    given = {key.lower(): value for key, value in options.items()}
    if given.get("header", "false").lower() != "true" or path.suffix in (".gz", ".bz2", ".zst"):
        return None
    separator = given.get("sep") or given.get("delimiter") or ","
    if len(separator) != 1:
        return None
    with path.open(newline="", encoding=given.get("encoding", "utf-8-sig")) as stream:
        return tuple(next(csv.reader(stream, delimiter=separator)))


def _json(path: Path, options: Mapping[str, str]) -> tuple[str, ...] | None:
    if {key.lower(): value for key, value in options.items()}.get("multiline") == "true":
        return None
    # A later line may have more columns, so only a file of one line is certain to lack one.
    names: dict[str, None] = {}
    with path.open(encoding="utf-8") as stream:
        for number, line in enumerate(stream):
            if number >= 1000:
                return None
            with contextlib.suppress(ValueError):
                names.update(dict.fromkeys(json.loads(line)))
    return tuple(names)


_READERS = {
    SourceFormat.PARQUET: _parquet,
    SourceFormat.AVRO: _avro,
    SourceFormat.CSV: _csv,
    SourceFormat.JSON: _json,
}
