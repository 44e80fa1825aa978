# SPDX-License-Identifier: Apache-2.0
"""Every decoder of foreign bytes: it decodes, or says `Undecodable`; it does nothing else."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from airflow_hudi.core.commits import CommitMetadata, decode_commit
from airflow_hudi.core.decoding import Record, Undecodable, decode_record
from airflow_hudi.core.history import _lsm_rows, _manifest_files
from airflow_hudi.core.markers import parse_marker
from airflow_hudi.core.plans import _DECODERS
from tests.builders import avro_file

SLICE = {
    "type": "record",
    "name": "S",
    "fields": [
        {"name": "partitionPath", "type": "string"},
        {"name": "fileId", "type": "string"},
        {"name": "deltaFilePaths", "type": {"type": "array", "items": "string"}},
    ],
}
A_PLAN = avro_file(
    "P",
    {
        "operations": {"type": "array", "items": SLICE},
        "extraMetadata": {"type": "map", "values": "string"},
        "policy": "string",
    },
    {
        "operations": [{"partitionPath": "p", "fileId": "f", "deltaFilePaths": ["a", "b"]}],
        "extraMetadata": {"k": "v"},
        "policy": "KEEP",
    },
)
A_COMMIT = json.dumps(
    {
        "partitionToWriteStats": {"p": [{"fileId": "f", "path": "p/f", "numWrites": 3}]},
        "extraMetadata": {"schema": "{}"},
        "operationType": "UPSERT",
    }
).encode()
_rows = pa.table({"instantTime": ["1"], "completionTime": ["2"], "action": ["commit"]})
_buffer = io.BytesIO()
pq.write_table(_rows, _buffer)
A_PARQUET = _buffer.getvalue()


@st.composite
def spoiled(draw: Any, whole: bytes) -> bytes:
    data = bytearray(whole)
    for _ in range(draw(st.integers(0, 5))):
        data[draw(st.integers(0, len(data) - 1))] = draw(st.integers(0, 255))
    start = draw(st.integers(0, 3))
    return bytes(data[start if start == 3 else 0 : draw(st.integers(0, len(data)))])


def decodes(decode: Callable[[bytes], object], data: bytes) -> object:
    try:
        return decode(data)
    except Undecodable as error:
        return error


@pytest.mark.parametrize("action", _DECODERS, ids=lambda action: action.value)
@given(
    data=spoiled(A_PLAN) | st.binary(max_size=60) | st.binary(max_size=60).map(b"Obj\x01".__add__)
)
@settings(max_examples=60)
def test_plans(action: Any, data: bytes) -> None:
    decoder = _DECODERS[action]
    assert decodes(lambda raw: decoder(decode_record(raw)), data) is not None


JSON = st.recursive(
    st.none() | st.integers() | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from(
                [
                    "operations",
                    "clusteringPlan",
                    "inputGroups",
                    "slices",
                    "strategy",
                    "policy",
                    "RollbackRequests",
                    "instantToRollback",
                    "instantsToRollback",
                    "operationType",
                    "filePathsToBeDeletedPerPartition",
                    "filesToBeDeletedPerPartition",
                    "partitionToWriteStats",
                    "partitionToReplaceFileIds",
                    "extraMetadata",
                    "fileId",
                    "indexPartitionInfos",
                    "earliestInstantToRetain",
                    "logBlocksToBeDeleted",
                ]
            ),
            inner,
            max_size=3,
        )
    ),
    max_leaves=12,
)


@given(JSON)
def test_records_of_any_shape(shape: object) -> None:
    for decoder in _DECODERS.values():
        assert decodes(lambda _, decode=decoder: decode(Record(shape)), b"") is not None  # type: ignore[misc]
    assert decodes(decode_commit, json.dumps(shape).encode()) is not None


@given(spoiled(A_COMMIT) | spoiled(A_PLAN) | st.binary(max_size=60))
def test_commits(data: bytes) -> None:
    assert isinstance(decodes(decode_commit, data), (CommitMetadata, Undecodable))


@given(spoiled(A_PARQUET) | st.binary(max_size=60))
def test_history_files(data: bytes) -> None:
    assert isinstance(decodes(_lsm_rows, data), (tuple, Undecodable))


@given(st.binary(max_size=60) | JSON.map(lambda value: json.dumps({"files": value}).encode()))
def test_manifests(data: bytes) -> None:
    assert isinstance(decodes(_manifest_files, data), (tuple, Undecodable))


@given(st.text(max_size=40))
def test_markers(path: str) -> None:
    marker = parse_marker(path)
    assert marker is None or str(marker) == path
