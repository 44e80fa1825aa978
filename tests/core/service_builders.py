# SPDX-License-Identifier: Apache-2.0
"""Plans as Hudi stores them, from plain arguments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tests.builders import avro_file

TEXT: Any = ["null", "string"]
TEXTS: dict[str, Any] = {"type": "array", "items": "string"}


def record(name: str, **fields: Any) -> dict[str, Any]:
    """An Avro schema."""
    return {
        "type": "record",
        "name": name,
        "fields": [{"name": key, "type": kind} for key, kind in fields.items()],
    }


def a_rollback_plan(target: str, action: str) -> bytes:
    kind = record("I", commitTime="string", action="string")
    value = {"instantToRollback": {"commitTime": target, "action": action}}
    return avro_file("R", {"instantToRollback": kind}, value)


def a_compaction_plan(*slices: tuple[str, str | None, Sequence[str]]) -> bytes:
    """Each slice: its partition, its base file, its log files; all as paths."""
    operation = record(
        "O", partitionPath=TEXT, fileId=TEXT, dataFilePath=TEXT, deltaFilePaths=["null", TEXTS]
    )
    operations = [
        {"partitionPath": p, "fileId": "f", "dataFilePath": base, "deltaFilePaths": list(logs)}
        for p, base, logs in slices
    ]
    kind = ["null", {"type": "array", "items": operation}]
    return avro_file("C", {"operations": kind}, {"operations": operations})


def a_clustering_plan(partition: str = "", base_file: str = "f_0_1.parquet") -> bytes:
    """The request of a replacecommit that is a clustering, of one slice."""
    piece = record("S", partitionPath=TEXT, fileId=TEXT, dataFilePath=TEXT)
    group = record("G", slices={"type": "array", "items": piece}, numOutputFileGroups="int")
    plan = record("P", inputGroups={"type": "array", "items": group})
    slices = [{"partitionPath": partition, "fileId": "f", "dataFilePath": base_file}]
    return avro_file(
        "Q",
        {"operationType": TEXT, "clusteringPlan": ["null", plan]},
        {
            "operationType": "CLUSTER",
            "clusteringPlan": {"inputGroups": [{"slices": slices, "numOutputFileGroups": 1}]},
        },
    )


def a_clean_plan(
    files: Mapping[str, Sequence[str]],
    *,
    partitions: Sequence[str] | None = None,
    by_name: bool = False,
) -> bytes:
    """A clean plan of today (paths), or one of Hudi before 0.6 (names)."""
    info = record("HoodieCleanFileInfo", filePath=TEXT, isBootstrapBaseFile=["null", "boolean"])
    by_path_kind = {"type": "map", "values": {"type": "array", "items": info}}
    infos = {
        partition: [{"filePath": path, "isBootstrapBaseFile": False} for path in paths]
        for partition, paths in files.items()
    }
    fields = {
        "policy": "string",
        "earliestInstantToRetain": ["null", record("HoodieActionInstant", timestamp="string")],
        "filesToBeDeletedPerPartition": ["null", {"type": "map", "values": TEXTS}],
        "filePathsToBeDeletedPerPartition": ["null", by_path_kind],
        "partitionsToBeDeleted": ["null", TEXTS],
    }
    value = {
        "policy": "KEEP_LATEST_COMMITS",
        "earliestInstantToRetain": {"timestamp": "20"},
        "filesToBeDeletedPerPartition": files if by_name else None,
        "filePathsToBeDeletedPerPartition": None if by_name else infos,
        "partitionsToBeDeleted": partitions,
    }
    return avro_file("HoodieCleanerPlan", fields, value)
