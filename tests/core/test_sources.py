# SPDX-License-Identifier: Apache-2.0
"""A source as far as it can be seen without Spark; and where it cannot, nobody is stopped."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from airflow_hudi.core import sources
from airflow_hudi.core.errors import MissingPackage, StorageError, UnknownStorage
from airflow_hudi.core.ingestion import (
    FileSource,
    IngestWork,
    NewTable,
    Operation,
    QuerySource,
    SourceFormat,
    WhenEmpty,
)
from airflow_hudi.core.job_errors import InvalidWork, MissingColumns, SourceEmpty, SourceMissing
from airflow_hudi.core.services.choice import NothingToDo
from airflow_hudi.core.sources import check_source, local_columns
from airflow_hudi.core.storage import InMemoryStorage
from tests.builders import avro_file

PARQUET, CSV, JSON, AVRO = (SourceFormat(name) for name in ("parquet", "csv", "json", "avro"))
HEADER = {"header": "true"}


def looked(
    path: str | Path,
    format_: SourceFormat = CSV,
    options: dict[str, str] | None = None,
    *,
    keys: str = "id",
    when_empty: WhenEmpty = WhenEmpty.FAIL,
) -> NothingToDo | str:
    source = FileSource(str(path), format_, options or {})
    create = NewTable(tuple(keys.split(",")))
    return check_source(IngestWork(Operation.UPSERT, source, create, when_empty=when_empty), None)


def write(path: Path, data: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return path


def write_parquet(path: Path, **columns: list[Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    parquet.write_table(pa.table(columns), path)
    return path


def write_avro(path: Path) -> Path:
    return write(path, avro_file("row", {"id": "long", "v": "string"}, {"id": 1, "v": "a"}))


# --- what is seen ---------------------------------------------------------------------------------


def test_a_file_is_counted_and_weighed(tmp_path: Path) -> None:
    path = write(tmp_path / "in.csv", "id\n" + "1\n" * 600_000)
    assert looked(path, options=HEADER) == f"upsert of {path}: 1 files, 1.2 MB"
    assert looked(f"file://{path}", options=HEADER) == f"upsert of file://{path}: 1 files, 1.2 MB"


def test_a_folder_is_all_its_files_as_spark_sees_them(tmp_path: Path) -> None:
    for name in (
        "a.csv",
        "region=eu/b.csv",
        "_day=1/c.csv",
        "deep/er/d.csv",
        "_SUCCESS",
        ".hidden.csv",
        "_temporary/0/e.csv",
        ".staging/f.csv",
    ):
        write(tmp_path / "in" / name, "id\n1\n")
    said = looked(tmp_path / "in", options=HEADER)
    assert said == f"upsert of {tmp_path}/in: 4 files, 0.0 MB"
    assert looked(f"{tmp_path}/in/", options=HEADER) == f"upsert of {tmp_path}/in/: 4 files, 0.0 MB"


def test_queries_and_partitions_are_named_only() -> None:
    query = IngestWork(Operation.INSERT, QuerySource("SELECT 1"))
    assert check_source(query, None) == "insert of the query 'SELECT 1'"
    drop = IngestWork(Operation.DELETE_PARTITION, partitions=("eu", "us"))
    assert check_source(drop, None) == "delete_partition of eu, us"


@pytest.mark.parametrize("path", ["/nowhere/*.csv", "/nowhere/{a,b}", "s3://in/day=?", "/in/[ab]"])
def test_globs_are_left_to_spark(path: str) -> None:
    assert looked(path) == f"upsert of {path}"


@pytest.mark.parametrize(
    "path", ["hdfs://name:8020/in", "gs://bucket/in", "abfss://in@lake.dfs.core.windows.net/x"]
)
def test_storages_that_only_spark_reaches_are_left_to_it(path: str) -> None:
    assert looked(path) == f"upsert of {path}"


@pytest.mark.parametrize("path", ["in.csv", "data/*.csv", "./x", "~/in.csv"])
def test_a_relative_path_is_refused(path: str) -> None:
    with pytest.raises(InvalidWork, match="relative path; the driver runs in another folder"):
        looked(path)


def test_keys_in_a_uri_are_refused_and_not_repeated() -> None:
    with pytest.raises(UnknownStorage) as raised:
        looked("s3a://AKIA:hunter2@bucket/in.csv")
    assert "hunter2" not in str(raised.value)


@pytest.mark.parametrize(
    "error", [StorageError("access denied"), MissingPackage("boto3", needed_for="S3", extra="s3")]
)
def test_a_source_that_only_the_driver_may_read_stops_nobody(
    error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: str) -> None:
        raise error

    monkeypatch.setattr(sources, "open_storage", refuse)
    said = looked("s3://landing/in.csv")
    assert str(said).startswith(
        "upsert of s3://landing/in.csv, which cannot be looked at from here"
    )


class Bucket:
    """What opens URIs of one bucket in memory, and remembers which."""

    def __init__(self, *paths: str) -> None:
        self._storage = InMemoryStorage("s3://in")
        self.opened: list[str] = []
        for path in paths:
            self._storage.put(path, b"id\n1\n")

    def __call__(self, uri: str) -> InMemoryStorage:
        self.opened.append(uri)
        return self._storage.child(uri.removeprefix("s3://in").strip("/"))


@pytest.mark.parametrize(
    ("path", "files"),
    [("s3://in", 3), ("s3://in/day", 2), ("s3://in/day/", 2), ("s3://in/day/a.csv", 1)],
)
def test_a_source_in_a_bucket_is_counted(
    path: str, files: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "open_storage", Bucket("day/a.csv", "day/b.csv", "c.csv"))
    # Columns are not looked up there: that would cost a download.
    assert looked(path, options=HEADER, keys="other") == f"upsert of {path}: {files} files, 0.0 MB"


def test_the_neighbours_of_a_folder_are_not_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    bucket = Bucket("day/a.csv")
    monkeypatch.setattr(sources, "open_storage", bucket)
    looked("s3://in/day")
    assert bucket.opened == ["s3://in/day"]


@pytest.mark.parametrize("path", ["s3://in/none", "s3://in/day/none.csv"])
def test_a_source_that_is_not_in_the_bucket_is_missing(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "open_storage", Bucket("day/a.csv"))
    with pytest.raises(SourceMissing):
        looked(path)


def test_an_empty_bucket_is_missing_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "open_storage", Bucket())
    with pytest.raises(SourceMissing):
        looked("s3://in")


# --- nothing there --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["none.csv", "folder", "hidden"])
def test_a_missing_source_fails_or_is_skipped_as_asked(name: str, tmp_path: Path) -> None:
    (tmp_path / "folder" / "empty").mkdir(parents=True)
    write(tmp_path / "hidden" / "_SUCCESS", "x")
    path = tmp_path / name
    for when_empty in (WhenEmpty.FAIL, WhenEmpty.COMMIT):  # without columns there is no commit
        with pytest.raises(SourceMissing, match="check the path, or wait for the files"):
            looked(path, when_empty=when_empty)
    skipped = looked(path, when_empty=WhenEmpty.SKIP)
    assert isinstance(skipped, NothingToDo)
    assert str(path) in skipped.because


def test_files_without_a_byte_are_an_empty_source(tmp_path: Path) -> None:
    write(tmp_path / "in/a.csv", "")
    write(tmp_path / "in/b.csv", "")
    with pytest.raises(SourceEmpty, match="when_source_empty='skip'"):
        looked(tmp_path / "in")
    assert isinstance(looked(tmp_path / "in", when_empty=WhenEmpty.SKIP), NothingToDo)
    said = looked(tmp_path / "in", when_empty=WhenEmpty.COMMIT)
    assert said == f"upsert of {tmp_path}/in: 2 files, 0.0 MB"


def test_an_empty_file_among_others_is_passed_over(tmp_path: Path) -> None:
    write(tmp_path / "in/a.csv", "")
    write(tmp_path / "in/b.csv", "other\n1\n")
    with pytest.raises(MissingColumns):
        looked(tmp_path / "in", options=HEADER)


# --- columns --------------------------------------------------------------------------------------


def columns(path: Path, format_: SourceFormat, **options: str) -> tuple[str, ...] | None:
    return local_columns(FileSource(str(path), format_, options), path)


def test_the_columns_of_each_format_are_found(tmp_path: Path) -> None:
    assert columns(write_parquet(tmp_path / "a", id=[1], v=["a"]), PARQUET) == ("id", "v")
    assert columns(write_avro(tmp_path / "b"), AVRO) == ("id", "v")
    assert columns(write(tmp_path / "c", "id,v\n1,a\n"), CSV, header="true") == ("id", "v")
    assert columns(write(tmp_path / "d", '{"id": 1}\n\n{"v": 2}\n'), JSON) == ("id", "v")


@pytest.mark.parametrize("format_", list(SourceFormat))
def test_a_missing_key_is_found_before_any_compute(format_: SourceFormat, tmp_path: Path) -> None:
    path = tmp_path / "in"
    if format_ is PARQUET:
        write_parquet(path, id=[1])
    elif format_ is AVRO:
        write_avro(path)
    else:
        write(path, "id,v\n1,2\n" if format_ is CSV else '{"id": 1}')
    looked(path, format_, HEADER)
    with pytest.raises(MissingColumns, match=r"no column order_id \(key\)"):
        looked(path, format_, HEADER, keys="id,order_id")


def test_the_names_of_partition_folders_are_columns(tmp_path: Path) -> None:
    path = write_parquet(tmp_path / "in/region=eu/day=1/a.parquet", id=[1])
    assert columns(path, PARQUET) == ("id", "region", "day")
    looked(tmp_path / "in", PARQUET, keys="id,region,day")


@pytest.mark.parametrize(
    ("data", "options", "found"),
    [
        ("id;v\n", {"header": "True", "sep": ";"}, ("id", "v")),
        ("id\tv\n", {"HEADER": "true", "delimiter": "\t"}, ("id", "v")),
        ('"id","a,b"\n', HEADER, ("id", "a,b")),
        ("\ufeffid,v\n", HEADER, ("id", "v")),
        ("\ufeffid,v\n", {**HEADER, "encoding": "UTF-8"}, ("id", "v")),
        ("\n\nid,v\n", HEADER, ("id", "v")),
        (b"i\xe4d,v\n", {**HEADER, "encoding": "ISO-8859-1"}, ("iäd", "v")),
        ("id,v\n", {}, None),
        ("id,v\n", {"header": "false"}, None),
        ("id||v\n", {**HEADER, "sep": "||"}, None),
        ("#c\nid,v\n", {**HEADER, "comment": "#"}, None),
        (b"i\xe4d,v\n", HEADER, None),
        ("id,v\n", {**HEADER, "encoding": "klingon"}, None),
        (gzip.compress(b"id,v\n", mtime=0), HEADER, None),
        ("", HEADER, None),
    ],
)
def test_a_csv_header_is_read_as_spark_reads_it_or_not_at_all(
    data: str | bytes, options: dict[str, str], found: tuple[str, ...] | None, tmp_path: Path
) -> None:
    path = write(tmp_path / "in.csv", data)
    assert local_columns(FileSource(str(path), CSV, options), path) == found


@pytest.mark.parametrize(
    ("data", "options", "found"),
    [
        ('{"id": 1}\n{"id": 2, "v": 3}', {}, ("id", "v")),
        ('\ufeff{"id": 1}', {}, ("id",)),
        ('{\n"id": 1}', {"multiLine": "TRUE"}, None),
        ('[{"id": 1}]', {}, None),
        ("5\n", {}, None),
        ('"abc"\n', {}, None),
        ("null\n", {}, None),
        ('{"id": 1}\nnot json\n', {}, None),
        ('{"id": 1}\n' * 1001, {}, None),
        (gzip.compress(b'{"id": 1}', mtime=0), {}, None),
    ],
)
def test_json_is_sure_only_where_every_line_was_seen(
    data: str | bytes, options: dict[str, str], found: tuple[str, ...] | None, tmp_path: Path
) -> None:
    path = write(tmp_path / "in.json", data)
    assert local_columns(FileSource(str(path), JSON, options), path) == found


@pytest.mark.parametrize("format_", [PARQUET, AVRO, JSON])
@pytest.mark.parametrize(
    "data", [b"\n", b"\x00\xff", b"PAR1", b"Obj\x01", b"Obj\x01\x02\x16avro", b""]
)
def test_damaged_files_are_left_to_spark(
    format_: SourceFormat, data: bytes, tmp_path: Path
) -> None:
    assert columns(write(tmp_path / "in", data), format_) is None


@pytest.mark.parametrize("cut", [10, 40, 80, 120])
def test_files_cut_short_are_left_to_spark(cut: int, tmp_path: Path) -> None:
    for path, format_ in (
        (write_avro(tmp_path / "a"), AVRO),
        (write_parquet(tmp_path / "p", id=[1]), PARQUET),
    ):
        path.write_bytes(path.read_bytes()[:cut])
        assert columns(path, format_) in (None, ("id", "v"))


def test_avro_that_holds_no_records_is_left_to_spark(tmp_path: Path) -> None:
    import fastavro  # noqa: PLC0415

    path = tmp_path / "in.avro"
    with path.open("wb") as stream:
        fastavro.writer(stream, {"type": "string"}, ["a"])
    assert columns(path, AVRO) is None


def test_columns_that_another_file_may_have_are_not_missed(tmp_path: Path) -> None:
    for name, row in (("a", {"v": 1}), ("b", {"id": 1})):
        write(tmp_path / f"json/{name}.json", json.dumps(row))
        write_parquet(tmp_path / f"parquet/{name}.parquet", **{key: [1] for key in row})
    looked(tmp_path / "json", JSON)
    looked(tmp_path / "parquet", PARQUET, {"mergeSchema": "true"})
    with pytest.raises(MissingColumns):
        looked(tmp_path / "parquet", PARQUET)
