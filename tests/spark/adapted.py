# SPDX-License-Identifier: Apache-2.0
"""A small table that is driven through our adapters only, beside a model of its rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow_hudi.core.commits import CommitMetadata, load_commit
from airflow_hudi.core.heartbeat import load_heartbeats
from airflow_hudi.core.instants import InstantTime
from airflow_hudi.core.plans import load_plan
from airflow_hudi.core.table import Table, open_table
from airflow_hudi.core.table_options import table_options
from airflow_hudi.core.timeline import Timeline, load_timeline
from airflow_hudi.core.versions import release
from airflow_hudi.spark.engine.adapters import engine_of
from airflow_hudi.spark.engine.protocol import BeforeCommit, Engine, TableClient
from airflow_hudi.spark.engine.session_conf import RELEASE_PROPERTY

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Row = tuple[str, str, int, str]
COW = "COPY_ON_WRITE"
MOR = "MERGE_ON_READ"
COLUMNS = "id string, region string, ts long, v string"

_QUICK = {
    "hoodie.embed.timeline.server": "false",
    "hoodie.time.generator.max_expected_clock_skew_ms": "1",
    **{
        f"hoodie.{kind}.shuffle.parallelism": "1"
        for kind in ("insert", "upsert", "delete", "bulkinsert")
    },
    # Services are called, and never run by themselves.
    "hoodie.clean.automatic": "false",
    "hoodie.archive.automatic": "false",
    "hoodie.compact.inline": "false",
}
SHARED = {
    "hoodie.write.concurrency.mode": "optimistic_concurrency_control",
    "hoodie.cleaner.policy.failed.writes": "LAZY",
    "hoodie.write.lock.provider": (
        "org.apache.hudi.client.transaction.lock.FileSystemBasedLockProvider"
    ),
    # Whoever waits gives up at once.
    "hoodie.write.lock.wait_time_ms": "100",
    "hoodie.write.lock.num_retries": "1",
    "hoodie.write.lock.wait_time_ms_between_retry": "50",
    "hoodie.write.lock.client.num_retries": "1",
    "hoodie.write.lock.client.wait_time_ms_between_retry": "50",
}
WITHOUT_METADATA = {"hoodie.metadata.enable": "false"}


def engine_here(spark: SparkSession) -> Engine:
    jvm: Any = spark.sparkContext._jvm
    return engine_of(spark, str(jvm.java.lang.System.getProperty(RELEASE_PROPERTY)))


@dataclass
class Adapted:
    """One table; `model` is what a reader must see."""

    spark: SparkSession
    base: str
    kind: str
    settings: Mapping[str, str] = field(default_factory=dict)
    model: dict[str, Row] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.engine = engine_here(self.spark)
        self.settings = {**_QUICK, **SHARED, **self.settings}

    # --- doing -------------------------------------------------------------------------------

    def create(self, rows: Sequence[Row]) -> str:
        new = {
            "hoodie.table.name": Path(self.base).name,
            "hoodie.datasource.write.table.type": self.kind,
            "hoodie.datasource.write.recordkey.field": "id",
            "hoodie.datasource.write.partitionpath.field": "region",
            "hoodie.datasource.write.precombine.field": "ts",
            "hoodie.datasource.write.operation": "insert",
        }
        self.expect(rows)
        return self.engine.write(self.frame(rows), self.base, {**self.settings, **new})

    def write(
        self,
        rows: Sequence[Row],
        operation: str = "upsert",
        *,
        before_commit: BeforeCommit | None = None,
        **more: str,
    ) -> str:
        told = {"hoodie.datasource.write.operation": operation, **more}
        options = {**self.options(), **told}
        frame = self.frame(rows)
        return self.engine.write(frame, self.base, options, before_commit=before_commit)

    def upsert(self, *rows: Row) -> str:
        self.expect(rows)
        return self.write(rows)

    def expect(self, rows: Sequence[Row]) -> None:
        self.model.update({row[0]: row for row in rows})

    def client(self, **more: str) -> AbstractContextManager[TableClient]:
        return self.engine.client(self.base, {**self.options(), **more})

    def options(self) -> dict[str, str]:
        properties = self.table().properties
        return {**table_options(properties, release(self.engine.release)), **self.settings}

    def frame(self, rows: Sequence[Row]) -> DataFrame:
        return self.spark.createDataFrame(list(rows), COLUMNS).coalesce(1)

    # --- looking -----------------------------------------------------------------------------

    def table(self) -> Table:
        return open_table(self.base)

    def timeline(self) -> Timeline:
        return load_timeline(self.table())

    def state(self, instant: str) -> str:
        """Action and state of an instant, as our own core reads them."""
        found = self.timeline().find(InstantTime(instant))
        return "gone" if found is None else f"{found.action.value} {found.state.value}"

    def plan(self, instant: str) -> Any:
        timeline = self.timeline()
        found = timeline.find(InstantTime(instant))
        assert found is not None
        return load_plan(self.table(), timeline, found)

    def commit(self, instant: str) -> CommitMetadata:
        timeline = self.timeline()
        found = timeline.find(InstantTime(instant))
        assert found is not None
        metadata = load_commit(self.table(), timeline, found)
        assert isinstance(metadata, CommitMetadata), metadata
        return metadata

    def is_as_modelled(self) -> bool:
        """Whether a reader with this table's settings sees what it must."""
        return self._read(self.settings.get("hoodie.metadata.enable", "true"))

    def is_as_modelled_either_way(self) -> bool:
        """Whether files found by the metadata table, and by listing folders, have the same rows."""
        return self._read("true") and self._read("false")

    def _read(self, metadata: str) -> bool:
        reader = self.spark.read.format("hudi").option("hoodie.metadata.enable", metadata)
        found = reader.load(self.base).select("id", "region", "ts", "v").collect()
        rows = sorted((row[0], row[1], row[2], row[3]) for row in found)
        return rows == sorted(self.model.values())

    def beats(self) -> list[str]:
        return sorted(load_heartbeats(self.table()))

    def heartbeat_files(self) -> list[str]:
        return sorted(path.name for path in Path(self.base, ".hoodie/.heartbeat").glob("*"))

    def files(self) -> set[str]:
        """All data and log files, seen or not."""
        found = {path.relative_to(self.base) for path in Path(self.base).glob("[!.]*/*")}
        hidden = {".crc", ".hoodie_partition_metadata"}
        return {str(path) for path in found if not {path.suffix, path.name} & hidden}

    def files_of(self, instant: str) -> list[str]:
        """Those that carry an instant in their names."""
        return sorted(path for path in self.files() if instant in path)

    def has(self, files: Sequence[str]) -> bool:
        return bool(files) and all(Path(self.base, path).is_file() for path in files)


def some_rows(ids: str, *, region: str = "eu", ts: int = 1, v: str = "a") -> list[Row]:
    """One row per letter or digit."""
    return [(key, region, ts, v) for key in ids]
