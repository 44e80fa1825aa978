# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
from typing import Any

import pytest

from airflow_hudi.core.commits import CommitMetadata, WriteStat, load_commit
from airflow_hudi.core.datafiles import FileGroupId
from airflow_hudi.core.defects import Defect, DefectKind
from airflow_hudi.core.schemas import TableSchema, load_schema
from airflow_hudi.core.timeline import load_timeline
from airflow_hudi.core.values import from_json, to_json
from tests.builders import a_table

COMMIT: dict[str, Any] = {
    "partitionToWriteStats": {
        "p": [
            {
                "fileId": "f",
                "path": "p/f_0_10.parquet",
                "prevCommit": "null",
                "numWrites": 3,
                "numDeletes": 1,
                "numUpdateWrites": 1,
                "numInserts": 2,
                "totalWriteBytes": 100,
                "fileSizeInBytes": 90,
                "partitionPath": "p",
                "someNewerField": {"a": 1},
            }
        ]
    },
    "compacted": False,
    "extraMetadata": {"schema": "{}"},
    "operationType": "UPSERT",
    "partitionToReplaceFileIds": {"q": ["g"]},
}


def the_commit(data: bytes, name: str = "10.replacecommit") -> CommitMetadata | Defect:
    table = a_table({name: data}, version="6")
    timeline = load_timeline(table)
    return load_commit(table, timeline, timeline.instants[0])


def test_json_metadata() -> None:
    commit = the_commit(json.dumps(COMMIT).encode())
    assert isinstance(commit, CommitMetadata)
    assert commit.operation == "UPSERT"
    assert commit.stats == (WriteStat("p", "f", "p/f_0_10.parquet", 3, 2, 1, 1, 0, 100, 90),)
    assert commit.replaced == {"q": ("g",)}
    assert commit.file_groups_replaced == 1
    assert commit.file_groups == (FileGroupId("p", "f"), FileGroupId("q", "g"))
    assert from_json(CommitMetadata, to_json(commit)) == commit


def test_metadata_without_anything() -> None:
    assert the_commit(b"{}") == CommitMetadata(None)


@pytest.mark.parametrize(
    "data",
    [
        b"{",
        b"[]",
        b"null",
        b"\xff\xfe",
        b'{"partitionToWriteStats": {"p": {}}}',
        b'{"partitionToWriteStats": []}',
        b'{"extraMetadata": {"a": 1}}',
        b'{"partitionToReplaceFileIds": {"p": [1]}}',
        b"[" * 100_000,
    ],
)
def test_damaged_metadata_is_a_value(data: bytes) -> None:
    defect = the_commit(data)
    assert isinstance(defect, Defect)
    assert defect.kind is DefectKind.UNREADABLE


def test_the_file_of_the_instants_state_is_read() -> None:
    table = a_table(
        {"10.inflight": b'{"operationType": "UPSERT"}', "10.commit.requested": b""}, version="6"
    )
    timeline = load_timeline(table)
    assert load_commit(table, timeline, timeline.instants[0]) == CommitMetadata("UPSERT")


def test_an_archived_instants_file_has_vanished() -> None:
    table = a_table({"10.commit": b"{}"}, version="6")
    timeline = load_timeline(table)
    table.storage.delete(".hoodie/10.commit")
    defect = load_commit(table, timeline, timeline.instants[0])
    assert isinstance(defect, Defect)
    assert defect.kind is DefectKind.VANISHED


def commit_with(schema: str | None, operation: str = "UPSERT") -> bytes:
    extra = {} if schema is None else {"schema": schema}
    return json.dumps({"operationType": operation, "extraMetadata": extra}).encode()


def avro(*names: str) -> str:
    fields = [{"name": name, "type": "int"} for name in names]
    return json.dumps({"type": "record", "name": "r", "namespace": "n", "fields": fields})


def schema_of(files: dict[str, bytes], **changes: str) -> TableSchema | Defect | None:
    table = a_table(files, version="6", **changes)
    return load_schema(table, load_timeline(table))


def test_schema_is_that_of_the_newest_write_that_recorded_one() -> None:
    schema = schema_of(
        {
            "10.commit": commit_with(avro("id")),
            "20.deltacommit": commit_with(avro("_hoodie_commit_time", "id", "name")),
            "30.commit": commit_with(avro("id"), "COMPACT"),
            "40.replacecommit": commit_with(avro("id"), "CLUSTER"),
            "50.commit": commit_with(None),
            "60.inflight": commit_with(avro("later")),
        }
    )
    assert isinstance(schema, TableSchema)
    assert schema.field_names == ("id", "name")
    assert schema.recorded_by == "20"
    assert schema.avro["namespace"] == "n"
    assert from_json(TableSchema, to_json(schema)) == schema


def test_schema_falls_back_to_the_one_the_table_was_created_with() -> None:
    schema = schema_of({}, table__create__schema=avro("id"))
    assert isinstance(schema, TableSchema)
    assert (schema.field_names, schema.recorded_by) == (("id",), None)


def test_schema_gets_back_the_partition_columns_its_files_lack() -> None:
    schema = schema_of(
        {"10.commit": commit_with(avro("id"))},
        datasource__write__drop__partition__columns="true",
        table__partition__fields="day",
    )
    assert isinstance(schema, TableSchema)
    assert schema.avro["fields"][-1] == {"name": "day", "type": ["null", "string"], "default": None}


def test_no_schema_recorded_is_none_and_a_bad_one_is_said() -> None:
    assert schema_of({"10.commit": commit_with(None)}) is None
    for text in ("{", '"string"', '{"fields": [{}]}', "[]"):
        defect = schema_of({"10.commit": commit_with(text)})
        assert isinstance(defect, Defect), text
        assert defect.kind is DefectKind.UNREADABLE


def test_an_empty_commit_recorded_nothing() -> None:
    schema = schema_of({"10.commit": commit_with(avro("id")), "20.commit": b""})
    assert isinstance(schema, TableSchema)
    assert schema.recorded_by == "10"


def test_partition_columns_that_are_dropped_in_part_are_said() -> None:
    defect = schema_of(
        {"10.commit": commit_with(avro("id", "day"))},
        datasource__write__drop__partition__columns="true",
        table__partition__fields="day,hour",
    )
    assert isinstance(defect, Defect)
    assert "only hour are dropped" in defect.because


def test_schema_behind_an_unreadable_commit_is_not_guessed() -> None:
    defect = schema_of({"10.commit": commit_with(avro("id")), "20.commit": b"{"})
    assert isinstance(defect, Defect)
    assert defect.path == ".hoodie/20.commit"
