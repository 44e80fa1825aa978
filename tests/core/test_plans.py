# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any

import pytest

from airflow_hudi.core.datafiles import FileGroupId
from airflow_hudi.core.defects import Defect, DefectKind
from airflow_hudi.core.instants import InstantTime
from airflow_hudi.core.plans import (
    CleanerPlan,
    ClusteringPlan,
    IndexPlan,
    Plan,
    PlannedIndex,
    ReplacePlan,
    RestorePlan,
    RollbackPlan,
    RollbackRequest,
    load_pending_plans,
    load_plan,
)
from airflow_hudi.core.timeline import load_timeline
from tests.builders import a_table, avro_file

STRINGS: dict[str, Any] = {"type": "array", "items": "string"}


def record(name: str, **fields: Any) -> dict[str, Any]:
    return {
        "type": "record",
        "name": name,
        "fields": [{"name": key, "type": kind} for key, kind in fields.items()],
    }


def the_plan(name: str, data: bytes, version: str = "9") -> Plan | Defect | None:
    table = a_table({name: data}, version=version)
    timeline = load_timeline(table)
    return load_plan(table, timeline, timeline.instants[0])


def test_old_cleaner_plans_name_files_not_paths() -> None:
    data = avro_file(
        "P",
        {
            "policy": "string",
            "filesToBeDeletedPerPartition": {"type": "map", "values": STRINGS},
        },
        {"policy": "KEEP_LATEST_COMMITS", "filesToBeDeletedPerPartition": {"p": ["a", "b"]}},
    )
    assert the_plan("10.clean.requested", data, "6") == CleanerPlan(
        "KEEP_LATEST_COMMITS", None, {"p": ("a", "b")}
    )


def test_restore_plan() -> None:
    info = record("I", commitTime="string", action="string")
    data = avro_file(
        "P",
        {
            "instantsToRollback": {"type": "array", "items": info},
            "savepointToRestoreTimestamp": ["null", "string"],
        },
        {
            "instantsToRollback": [{"commitTime": "30", "action": "commit"}],
            "savepointToRestoreTimestamp": "20",
        },
    )
    assert the_plan("40.restore.requested", data) == RestorePlan(
        (InstantTime("30"),), InstantTime("20")
    )


def test_rollback_plan_tells_files_to_delete_from_log_blocks_to_undo() -> None:
    request = record(
        "R",
        partitionPath="string",
        fileId=["null", "string"],
        latestBaseInstant=["null", "string"],
        filesToBeDeleted=STRINGS,
        logBlocksToBeDeleted=["null", {"type": "map", "values": "long"}],
    )
    data = avro_file(
        "P",
        {
            "instantToRollback": record("I", commitTime="string", action="string"),
            "RollbackRequests": {"type": "array", "items": request},
        },
        {
            "instantToRollback": {"commitTime": "30", "action": "deltacommit"},
            "RollbackRequests": [
                {
                    "partitionPath": "p",
                    "fileId": "",
                    "latestBaseInstant": "10",
                    "filesToBeDeleted": [
                        "file:/lake/t/p/f_0_30.parquet",
                        "/lake/t/p/g_0_30.parquet",
                    ],
                    "logBlocksToBeDeleted": {"/lake/t/p/.f_10.log.1_0-0-0": 1},
                }
            ],
        },
    )
    assert the_plan("40.rollback.requested", data, "6") == RollbackPlan(
        InstantTime("30"),
        "deltacommit",
        (
            RollbackRequest(
                "p",
                None,
                InstantTime("10"),
                ("f_0_30.parquet", "g_0_30.parquet"),
                (".f_10.log.1_0-0-0",),
            ),
        ),
    )


def test_index_plan() -> None:
    texts = ["null", "string"]
    info = record("I", metadataPartitionPath=texts, indexUptoInstant=texts)
    data = avro_file(
        "P",
        {"indexPartitionInfos": {"type": "array", "items": info}},
        {
            "indexPartitionInfos": [
                {"metadataPartitionPath": "column_stats", "indexUptoInstant": "30"}
            ]
        },
    )
    assert the_plan("40.indexing.requested", data) == IndexPlan(
        (PlannedIndex("column_stats", InstantTime("30")),)
    )


def a_replace_request(operation: str | None, *, has_plan: bool) -> bytes:
    piece = record("S", dataFilePath=["null", "string"], fileId="string", partitionPath="string")
    group = record(
        "G", slices={"type": "array", "items": piece}, numOutputFileGroups=["int", "null"]
    )
    plan = record("C", inputGroups={"type": "array", "items": group})
    return avro_file(
        "P",
        {"operationType": ["null", "string"], "clusteringPlan": ["null", plan]},
        {
            "operationType": operation,
            "clusteringPlan": {
                "inputGroups": [
                    {
                        "slices": [
                            {
                                "dataFilePath": "s3a://b/t/p/f_0_1.parquet",
                                "fileId": "f",
                                "partitionPath": "p",
                            }
                        ],
                        "numOutputFileGroups": 1,
                    }
                ]
            }
            if has_plan
            else None,
        },
    )


def test_layout_1_tells_clustering_from_other_replacements_by_the_request() -> None:
    clustering = the_plan(
        "10.replacecommit.requested", a_replace_request("CLUSTER", has_plan=True), "6"
    )
    assert isinstance(clustering, ClusteringPlan)
    assert clustering.file_groups == (FileGroupId("p", "f"),)
    assert clustering.groups[0].slices[0].base_file == "f_0_1.parquet"
    overwrite = the_plan(
        "10.replacecommit.requested", a_replace_request("INSERT_OVERWRITE", has_plan=False), "6"
    )
    assert overwrite == ReplacePlan("INSERT_OVERWRITE")
    assert the_plan("10.replacecommit.requested", b"", "6") == ReplacePlan()


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b"", DefectKind.EMPTY),
        (b"Obj\x01nonsense", DefectKind.UNREADABLE),
        (b"[1]", DefectKind.UNREADABLE),
    ],
    ids=["empty", "cut short", "other JSON"],
)
def test_a_damaged_plan_is_a_value(data: bytes, kind: DefectKind) -> None:
    defect = the_plan("10.compaction.requested", data)
    assert isinstance(defect, Defect)
    assert defect.kind is kind
    assert defect.path == ".hoodie/timeline/10.compaction.requested"


def test_an_inflight_service_without_its_request_misses_its_plan() -> None:
    defect = the_plan("10.compaction.inflight", b"")
    assert isinstance(defect, Defect)
    assert defect.kind is DefectKind.MISSING
    assert defect.path == ".hoodie/timeline/10.compaction.requested"


def test_a_rollback_plan_without_a_target_is_damage() -> None:
    data = avro_file("P", {"version": "int"}, {"version": 1})
    defect = the_plan("40.rollback.requested", data)
    assert isinstance(defect, Defect)
    assert "does not say what it rolls back" in defect.because


def test_a_cleaner_plan_of_another_shape_is_damage() -> None:
    defect = the_plan("40.clean.requested", b'{"filePathsToBeDeletedPerPartition": {"p": 5}}')
    assert isinstance(defect, Defect)
    assert defect.kind is DefectKind.UNREADABLE


def test_a_plan_that_vanishes_between_listing_and_reading_is_a_value() -> None:
    table = a_table({"10.clean.requested": b"x"})
    timeline = load_timeline(table)
    table.storage.delete(".hoodie/timeline/10.clean.requested")
    (planned,) = load_pending_plans(table, timeline)
    assert isinstance(planned.plan, Defect)
    assert planned.plan.kind is DefectKind.VANISHED


def test_only_actions_with_plans_are_opened() -> None:
    table = a_table(
        {"10.commit.requested": b"", "20.deltacommit.inflight": b"{", "30_31.savepoint": b"x"}
    )
    timeline = load_timeline(table)
    assert load_pending_plans(table, timeline) == ()
    assert load_plan(table, timeline, timeline.instants[2]) is None
