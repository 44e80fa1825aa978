# SPDX-License-Identifier: Apache-2.0
"""The look before a driver is started: real tables, no JVM, and nothing is changed."""

from __future__ import annotations

from datetime import datetime, timezone
from pathlib import Path

import pytest

from airflow_hudi.core.errors import TableNotFound, UnsupportedFeature
from airflow_hudi.core.ingestion import (
    FileSource,
    IngestWork,
    NewTable,
    Operation,
    SourceFormat,
)
from airflow_hudi.core.instants import Action
from airflow_hudi.core.job_errors import (
    MissingColumns,
    OptionsContradictTable,
    SourceMissing,
    WrongTableType,
)
from airflow_hudi.core.jobs import Work
from airflow_hudi.core.preflight import look_before
from airflow_hudi.core.reading import ReadWork
from airflow_hudi.core.services.choice import NothingToDo, PlanInUse
from airflow_hudi.core.services.kinds import Mode
from airflow_hudi.core.services.policies import CompactionPolicy
from airflow_hudi.core.services.works import ServiceWork
from airflow_hudi.core.storage import InMemoryStorage, LocalStorage, Storage
from airflow_hudi.core.table import load_table
from airflow_hudi.core.timeline import load_timeline
from airflow_hudi.core.versions import release
from tests.builders import a_table
from tests.jobs import WORK
from tests.tables.fixtures import StoredTable

EXECUTE = ServiceWork(CompactionPolicy(), Mode.EXECUTE)


def looked(work: Work, storage: Storage, name: str = "1.2.0") -> NothingToDo | str:
    return look_before(work, storage, release(name), now=datetime.now(tz=timezone.utc))


@pytest.fixture
def pending(tmp_path: Path) -> LocalStorage:
    return LocalStorage(StoredTable("1.2.0", "mor_pending").unpack(tmp_path))


def test_a_compaction_that_waits_is_named_with_its_size(pending: LocalStorage) -> None:
    oldest = load_timeline(load_table(pending)).of(Action.COMPACTION).first()
    assert oldest is not None
    said = looked(EXECUTE, pending)
    assert said == (f"compaction {oldest.requested_at}: 2 file groups in 2 partitions, 3 log files")


def test_a_heartbeat_on_the_disk_is_seen(pending: LocalStorage) -> None:
    for instant in load_timeline(load_table(pending)).of(Action.COMPACTION):
        pending.create(f".hoodie/.heartbeat/{instant.requested_at}", b"")
        with pytest.raises(PlanInUse):
            looked(ServiceWork(CompactionPolicy(), Mode.EXECUTE, instant.requested_at), pending)
    assert isinstance(looked(EXECUTE, pending), NothingToDo)


def test_a_plan_that_cannot_be_read_is_said_to_be_so() -> None:
    table = a_table({"10.compaction.requested": b"{damaged"})
    assert str(looked(EXECUTE, table.storage)).startswith("compaction 10: its plan cannot be read")


def test_a_plan_is_to_be_made(pending: LocalStorage) -> None:
    said = looked(ServiceWork(CompactionPolicy(), Mode.SCHEDULE), pending)
    assert said == f"a compaction of {pending.uri} is to be planned"


def test_with_nothing_to_compact_there_is_nothing_to_do(tmp_path: Path) -> None:
    storage = LocalStorage(StoredTable("1.2.0", "mor_done").unpack(tmp_path))
    assert looked(EXECUTE, storage) == NothingToDo("no compaction is pending")


def test_a_copy_on_write_table_is_not_compacted(tmp_path: Path) -> None:
    storage = LocalStorage(StoredTable("1.2.0", "cow_history").unpack(tmp_path))
    with pytest.raises(WrongTableType) as raised:
        looked(EXECUTE, storage)
    assert str(raised.value) == (
        f"compaction needs a MERGE_ON_READ table, and {storage.uri} is COPY_ON_WRITE; a table keeps"
        " its type, so drop the task or name another table"
    )


def test_a_release_that_cannot_serve_the_table_is_refused_before_compute(
    pending: LocalStorage,
) -> None:
    with pytest.raises(UnsupportedFeature, match=r"it needs Hudi 1\.1\.1 or 1\.2\.0"):
        looked(EXECUTE, pending, "0.15.0")


@pytest.mark.parametrize("work", [WORK, EXECUTE, ReadWork()])
def test_no_table_is_said_to_be_none(work: Work) -> None:
    with pytest.raises(TableNotFound):
        looked(work, InMemoryStorage())


def test_a_table_that_is_there_can_be_read(pending: LocalStorage) -> None:
    assert looked(ReadWork(), pending) == f"{pending.uri} is to be read"


def test_a_write_is_looked_at_with_its_source(pending: LocalStorage, tmp_path: Path) -> None:
    source = tmp_path / "rows.csv"
    work = IngestWork(
        Operation.UPSERT, FileSource(str(source), SourceFormat.CSV, {"header": "true"})
    )
    with pytest.raises(SourceMissing):
        looked(work, pending)
    source.write_text("id,ts\n1,1\n")
    with pytest.raises(MissingColumns, match=r"region \(partition\)"):
        looked(work, pending)
    source.write_text("id,region,ts\n1,eu,1\n")
    assert looked(work, pending) == f"upsert of {source}: 1 files, 0.0 MB"
    with pytest.raises(OptionsContradictTable):
        looked(IngestWork(Operation.UPSERT, work.source, NewTable(("other",))), pending)


def test_a_new_table_is_checked_by_its_definition(tmp_path: Path) -> None:
    source = tmp_path / "rows.csv"
    source.write_text("id\n1\n")
    files = FileSource(str(source), SourceFormat.CSV, {"header": "true"})
    looked(IngestWork(Operation.INSERT, files, NewTable(("id",))), InMemoryStorage())
    with pytest.raises(MissingColumns):
        looked(IngestWork(Operation.INSERT, files, NewTable(("k",))), InMemoryStorage())
