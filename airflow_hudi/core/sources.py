# SPDX-License-Identifier: Apache-2.0
"""A source as far as it can be seen without Spark: is it there, is it empty, has it the columns?

Columns are looked up in one file, and only on the local disk, where that costs nothing; the driver
checks them again, for every source, before it writes.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from airflow_hudi.core.errors import MissingPackage, StorageError
from airflow_hudi.core.ingestion import (
    FileSource,
    IngestWork,
    SourceFormat,
    WhenEmpty,
    check_columns,
)
from airflow_hudi.core.job_errors import InvalidWork, SourceEmpty, SourceMissing
from airflow_hudi.core.properties import TableProperties
from airflow_hudi.core.services.choice import NothingToDo
from airflow_hudi.core.storage import LocalStorage, open_storage
from airflow_hudi.core.storage.base import FileInfo, Storage
from airflow_hudi.core.uris import LOCAL, is_absolute, place

_OURS = (LOCAL, "s3")
_GLOB = frozenset("*?[{")
_DEEPEST = 8
_LINES_LOOKED_AT = 1000
# Options that change which line the header is, or how it is read.
_ODD_CSV = frozenset({"comment", "quote", "escape", "linesep", "skiprows", "multiline"})


def check_source(work: IngestWork, table: TableProperties | None) -> NothingToDo | str:
    """What would be read, in words; raises where it is missing, empty or lacks a needed column."""
    source = work.source
    if source is None:
        return f"{work.operation.value} of {', '.join(work.partitions)}"
    said = f"{work.operation.value} of {source}"
    if not isinstance(source, FileSource):
        return said
    if not is_absolute(source.path):
        cure = "the driver runs in another folder: pass an absolute path or a URI"
        raise InvalidWork(f"{source.path!r} is a relative path", cure=cure)
    if _GLOB & set(source.path) or place(source.path).scheme not in _OURS:
        return said
    try:
        storage, files = _files(source.path)
    except (StorageError, MissingPackage) as error:  # the driver may have rights that we have not
        return f"{said}, which cannot be looked at from here ({error})"
    if not files:
        return _nothing(work, SourceMissing(source.path))
    megabytes = sum(file.size for file in files) / 1_000_000
    if megabytes:
        _check_local_columns(work, table, source, storage, files)
    elif work.when_empty is not WhenEmpty.COMMIT:
        return _nothing(work, SourceEmpty(source.path))
    return f"{said}: {len(files)} files, {megabytes:.1f} MB"


def _nothing(work: IngestWork, problem: SourceMissing | SourceEmpty) -> NothingToDo:
    if work.when_empty is WhenEmpty.SKIP:
        return NothingToDo(str(problem))
    raise problem


def _files(path: str) -> tuple[Storage, list[FileInfo]]:
    """The data files at a path: those below it, or itself, as Spark would see them."""
    storage = open_storage(path)
    below = list(_below(storage, "", _DEEPEST))
    # The folder first: beside a single day's folder there may be years of others to list.
    parent, _, name = path.rstrip("/").rpartition("/")
    if below or not is_absolute(f"{parent}/"):
        return storage, below
    beside = open_storage(f"{parent}/")
    return beside, [file for file in beside.list_folder("").files if file.name == name]


def _below(storage: Storage, folder: str, depth: int) -> Iterator[FileInfo]:
    listing = storage.list_folder(folder)
    yield from (file for file in listing.files if not _is_hidden(file.name))
    if depth:
        for name in listing.folders:
            if not _is_hidden(name):
                yield from _below(storage, f"{folder}/{name}".lstrip("/"), depth - 1)


def _is_hidden(name: str) -> bool:
    """As Spark sees it: a partition's folder may begin with an underscore."""
    return name.startswith(".") or (name.startswith("_") and "=" not in name)


def _check_local_columns(
    work: IngestWork,
    table: TableProperties | None,
    source: FileSource,
    storage: Storage,
    files: list[FileInfo],
) -> None:
    # Spark takes the columns of JSON from all files together, and of others if it is told to.
    is_merged = source.format is SourceFormat.JSON or _is_on(
        _lowered(source.options), "mergeschema"
    )
    if not isinstance(storage, LocalStorage) or (is_merged and len(files) > 1):
        return
    filled = next(file for file in files if file.size > 0)
    columns = local_columns(source, Path(storage.uri, filled.path))
    if columns is not None:
        check_columns(work, table, columns)


def local_columns(source: FileSource, path: Path) -> tuple[str, ...] | None:
    """The columns of one file, with those of partition folders; None where only Spark can tell."""
    try:
        own = _READERS[source.format](path, _lowered(source.options))
    except Exception:  # noqa: BLE001 - foreign bytes: Spark will say what is wrong with them
        return None
    if own is None:
        return None
    folders = (part.partition("=")[0] for part in path.parts if "=" in part)
    return (*own, *folders)


def _lowered(options: Mapping[str, str]) -> dict[str, str]:
    return {key.lower(): value for key, value in options.items()}


def _is_on(options: Mapping[str, str], key: str) -> bool:
    return options.get(key, "").lower() == "true"


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
    if not _is_on(options, "header") or _ODD_CSV & set(options):
        return None
    separator = options.get("sep") or options.get("delimiter") or ","
    encoding = options.get("encoding") or options.get("charset") or "utf-8"
    # A byte order mark is no part of the first column's name. What is compressed is no text.
    encoding = "utf-8-sig" if encoding.lower() in ("utf-8", "utf8") else encoding
    with path.open(newline="", encoding=encoding) as stream:
        rows = csv.reader(stream, delimiter=separator)
        return tuple(next(row for row in rows if row))


def _json(path: Path, options: Mapping[str, str]) -> tuple[str, ...] | None:
    if _is_on(options, "multiline"):
        return None
    names: dict[str, None] = {}
    with path.open(encoding="utf-8-sig") as stream:
        for number, line in enumerate(stream):
            if number >= _LINES_LOOKED_AT:
                return None  # a later line may have what the others lack
            if line.strip():
                names.update(dict.fromkeys(_object(line)))
    return tuple(names) or None


def _object(line: str) -> Mapping[str, object]:
    row = json.loads(line)
    if not isinstance(row, dict):
        raise TypeError("a row of JSON that is no object")
    return row


_READERS = {
    SourceFormat.PARQUET: _parquet,
    SourceFormat.AVRO: _avro,
    SourceFormat.CSV: _csv,
    SourceFormat.JSON: _json,
}
