# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import io
import json

import pyarrow as pa
import pyarrow.parquet as pq

from airflow_hudi.core.datafiles import FileGroupId
from airflow_hudi.core.defects import DefectKind
from airflow_hudi.core.filegroups import FileSlice
from airflow_hudi.core.fileviews import TableFiles, load_file_groups, load_partitions
from airflow_hudi.core.table import Table
from airflow_hudi.core.timeline import load_timeline
from tests.builders import a_table, avro_file

F = FileGroupId("p", "f")


def files(*names: str, partition: str = "p") -> dict[str, bytes]:
    return {f"{partition}/{name}": b"" for name in (".hoodie_partition_metadata", *names)}


def groups_of(table: Table) -> TableFiles:
    return load_file_groups(table, load_timeline(table))


def slices_of(table: Table) -> list[tuple[str, str | None, tuple[str, ...]]]:
    (group,) = groups_of(table).groups
    return [(piece.base_instant, piece.base_file, piece.log_files) for piece in group.slices]


def a_compaction_plan() -> bytes:
    operation = {
        "type": "record",
        "name": "O",
        "fields": [{"name": n, "type": "string"} for n in ("fileId", "partitionPath")],
    }
    return avro_file(
        "P",
        {"operations": {"type": "array", "items": operation}},
        {"operations": [{"fileId": "f", "partitionPath": "p"}]},
    )


def test_before_version_8_a_log_file_names_its_slice() -> None:
    table = a_table(
        {"10.deltacommit": b"{}", "20.deltacommit": b"{}", "30.commit": b"{}"}
        | files(
            "f_0_10.parquet",
            ".f_10.log.2_0-0-0",
            ".f_10.log.1_0-0-0",
            "f_0_30.parquet",
            ".f_30.log.1",
        ),
        version="6",
    )
    assert slices_of(table) == [
        ("30", "f_0_30.parquet", (".f_30.log.1",)),
        ("10", "f_0_10.parquet", (".f_10.log.1_0-0-0", ".f_10.log.2_0-0-0")),
    ]


def test_from_version_8_a_log_file_belongs_to_the_slice_that_began_before_it_completed() -> None:
    table = a_table(
        {
            "10_12.deltacommit": b"x",
            "20_45.deltacommit": b"x",
            "30_35.commit": b"x",
            "40_42.deltacommit": b"x",
        }
        | files("f_0_10.parquet", "f_0_30.parquet", ".f_20.log.1_0-0-0", ".f_40.log.1_0-0-0")
    )
    # 20 was requested before the compaction at 30 and completed after it
    assert slices_of(table) == [
        ("30", "f_0_30.parquet", (".f_20.log.1_0-0-0", ".f_40.log.1_0-0-0")),
        ("10", "f_0_10.parquet", ()),
    ]


def test_a_pending_writes_log_file_sits_on_the_newest_slice_but_is_not_read() -> None:
    table = a_table(
        {"10_12.deltacommit": b"x", "20.deltacommit.inflight": b"", "30_35.commit": b"x"}
        | files("f_0_10.parquet", ".f_20.log.1_0-0-0", "f_0_30.parquet")
    )
    found = groups_of(table)
    assert found.groups[0].slices[0].log_files == (".f_20.log.1_0-0-0",)
    assert found.latest[F] == FileSlice(
        found.groups[0].slices[0].base_instant, "f_0_30.parquet", ()
    )


def test_a_pending_compaction_begins_a_slice_without_a_base_file() -> None:
    for version, names in (
        ("6", ("10.deltacommit", "30.deltacommit")),
        ("9", ("10_12.deltacommit", "30_32.deltacommit")),
    ):
        log = ".f_20.log.1_0-0-0" if version == "6" else ".f_30.log.1_0-0-0"
        table = a_table(
            dict.fromkeys(names, b"{}")
            | {"20.compaction.requested": a_compaction_plan(), "20.compaction.inflight": b""}
            | files("f_0_10.parquet", "f_0_20.parquet", log),
            version=version,
        )
        found = groups_of(table)
        assert [piece.base_instant for piece in found.groups[0].slices] == ["20", "10"]
        assert found.latest[F] == FileSlice(found.groups[0].slices[0].base_instant, None, (log,))


def test_a_write_archived_behind_a_savepoint_is_still_completed() -> None:
    # hoodie.archive.beyond.savepoint: the savepointed commit stays, later ones are archived
    history = io.BytesIO()
    rows = {"instantTime": ["20"], "completionTime": ["22"], "action": ["deltacommit"]}
    pq.write_table(pa.table(rows), history)
    table = a_table(
        {"10_12.deltacommit": b"x", "10_13.savepoint": b"x", "50_52.deltacommit": b"x"}
        | {".hoodie/timeline/history/_version_": b"1"}
        | {".hoodie/timeline/history/manifest_1": b'{"files": [{"fileName": "a"}]}'}
        | {".hoodie/timeline/history/a": history.getvalue()}
        | files("f_0_10.parquet", ".f_20.log.1_0-0-0", ".f_30.log.1_0-0-0")
    )
    # 20 is in the archive; 30 was rolled back and is nowhere
    assert groups_of(table).latest[F].log_files == (".f_20.log.1_0-0-0",)


def test_files_of_failed_writes_are_not_seen() -> None:
    table = a_table(
        {"10_12.commit": b"x", "20.inflight": b""}
        | files("f_0_10.parquet", "f_0_20.parquet", "g_0_20.parquet")
    )
    found = groups_of(table)
    assert [(str(g.id.file_id), len(g.slices)) for g in found.groups] == [("f", 1), ("g", 0)]
    assert list(found.latest) == [F]


def test_files_older_than_the_timeline_are_seen() -> None:
    table = a_table({"50_52.commit": b"x"} | files("f_0_10.parquet"))
    assert slices_of(table) == [("10", "f_0_10.parquet", ())]


def test_a_savepoint_does_not_move_its_writes_log_files() -> None:
    table = a_table(
        {"10_12.deltacommit": b"x", "20_22.deltacommit": b"x", "30_33.commit": b"x"}
        | {"20_40.savepoint": b"x"}
        | files("f_0_10.parquet", ".f_20.log.1_0-0-0", "f_0_30.parquet")
    )
    assert slices_of(table) == [
        ("30", "f_0_30.parquet", ()),
        ("10", "f_0_10.parquet", (".f_20.log.1_0-0-0",)),
    ]


def test_an_instant_of_seconds_is_known_by_its_last_millisecond() -> None:
    table = a_table(
        {"20190101000000.commit": b"{}", "20200101000000.commit": b"{}"}
        | {"20210101000000000.commit": b"{}"}
        | files("f_0_20200101000000999.parquet", "g_0_20200101000000998.parquet"),
        version="6",
    )
    found = groups_of(table)
    assert [len(group.slices) for group in found.groups] == [1, 0]


def test_an_empty_timeline_shows_nothing() -> None:
    assert slices_of(a_table(files("f_0_10.parquet"))) == []


def test_replaced_groups_are_gone() -> None:
    commit = json.dumps({"partitionToReplaceFileIds": {"p": ["f"]}}).encode()
    table = a_table(
        {"10.commit": b"{}", "20.replacecommit": commit}
        | files("f_0_10.parquet", "g_0_20.parquet"),
        version="6",
    )
    assert [group.id.file_id for group in groups_of(table).groups] == ["g"]


def test_what_cannot_be_read_is_said() -> None:
    table = a_table(
        {"10.compaction.requested": b"", "20.replacecommit": b"{"} | files("f_0_10.parquet"),
        version="6",
    )
    kinds = [defect.kind for defect in groups_of(table).defects]
    assert kinds == [DefectKind.EMPTY, DefectKind.UNREADABLE]


def test_partitions_at_any_depth_and_tables_without() -> None:
    table = a_table(
        files("f_0_10.parquet", partition="a=1/b=2")
        | files("_SUCCESS", partition="c")
        | {"plain/x": b""}
    )
    assert [found.partition for found in load_partitions(table)] == ["a=1/b=2", "c"]
    root = a_table({".hoodie_partition_metadata": b""} | {"./f_0_10.parquet": b""})
    (found,) = load_partitions(root)
    assert (found.partition, str(found.base_files[0])) == ("", "f_0_10.parquet")


def test_times_of_another_resolution_fall_back_to_the_requested_time() -> None:
    table = a_table(
        {"10_100.deltacommit": b"x", "20_21.commit": b"x"}
        | files("f_0_10.parquet", ".f_10.log.1_0-0-0", "f_0_20.parquet")
    )
    assert slices_of(table)[1] == ("10", "f_0_10.parquet", (".f_10.log.1_0-0-0",))


def test_log_files_are_in_the_order_they_are_merged_not_in_that_of_the_listing() -> None:
    logs = (".f_10.log.2_0-0-0", ".f_10.log.10_0-0-0")
    table = a_table({"10.deltacommit": b"{}"} | files("f_0_10.parquet", *logs), version="6")
    assert slices_of(table)[0][2] == logs
