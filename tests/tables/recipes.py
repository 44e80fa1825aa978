# SPDX-License-Identifier: Apache-2.0
"""How the small real tables are made: one plain function per table, run on a real engine.

A recipe is called as ``fn(spark, base, …)``, uses fixed rows, and returns its steps as text lines.
`RECIPES` names them all, with the release each one needs at least.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.tables.building import (
    ARCHIVING,
    BY_REGION,
    BY_REGION_AND_DAY,
    BY_REGION_HIVE_STYLE,
    COMPACT_TWO_LOGS,
    COW,
    EVOLVED,
    MOR,
    NO_SERVICES,
    NOT_PARTITIONED,
    TableInProgress,
    rows,
    table_version,
)
from tests.tables.races import killed_writer

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.spark.engines import EngineProcess


def cow_history(spark: SparkSession, base: str) -> list[str]:
    """COW, nested hive-style partitions: every kind of write, a savepoint, a rollback, a clean;
    then a clean plan and a rollback plan left pending."""
    table = TableInProgress(spark, base, COW, BY_REGION_AND_DAY)
    table.write(rows("123") + rows("45", region="us", day="d2"), "insert")
    table.write(rows("12", ts=2, v="b"))
    table.write(rows("3"), "delete")
    table.savepoint()
    table.write(rows("4", region="us", day="d2", ts=3), "upsert")
    table.clean()
    table.rollback(table.write(rows("5", region="us", day="d2", ts=3, v="wrong")))
    table.write(rows("78", day="d3"), "bulk_insert")
    table.write(rows("9", day="d3", ts=4), "insert_overwrite")
    table.delete_partition("region=us/day=d2")
    table.write(rows("ab") + rows("c", region="asia", day="d4"), "insert_overwrite_table")
    table.write(
        [("a", "eu", "d1", 5, "d", None), ("d", "eu", "d1", 5, "d", "new")], columns=EVOLVED
    )
    table.schedule_clean()
    table.schedule_rollback_of_last()
    return table.steps


def cow_restored(spark: SparkSession, base: str) -> list[str]:
    """COW, not partitioned: restored to a savepoint, written on, and to be restored again."""
    table = TableInProgress(spark, base, COW, NOT_PARTITIONED)
    table.write(rows("12"), "insert")
    table.write(rows("1", ts=2))
    kept = table.savepoint()
    table.write(rows("2", ts=2))
    table.write(rows("3", ts=2))
    table.restore(kept)
    table.write(rows("4", ts=3))
    table.schedule_restore(kept)
    return table.steps


def mor_done(spark: SparkSession, base: str) -> list[str]:
    """MOR, not partitioned: all services done once, a rollback, an evolved schema, deletes; then
    a rollback plan of a delta commit left pending.

    The savepoint has the requested time of a write before the compaction and completes after it;
    it keeps the log files of that time from being cleaned.
    """
    table = TableInProgress(spark, base, MOR, NOT_PARTITIONED)
    table.write(rows("1234"), "insert")
    table.write(rows("1", ts=2))
    table.cluster()
    table.write(rows("12", ts=3))
    kept = table.write(rows("23", ts=4))
    table.log_compact()
    table.write(rows("4"), "delete")
    table.compact(table.schedule_compaction())
    table.savepoint(kept)
    table.write(
        [("5", "eu", "d1", 5, "e", "new"), ("1", "eu", "d1", 5, "e", None)], columns=EVOLVED
    )
    table.rollback(
        table.write([("2", "eu", "d1", 6, "wrong", None)], columns=EVOLVED),
    )
    table.clean()
    table.write([("2", "eu", "d1", 7, "f", "more")], columns=EVOLVED)
    table.schedule_rollback_of_last()
    return table.steps


def mor_replaced(spark: SparkSession, base: str) -> list[str]:
    """MOR by region: file groups with log files replaced by an overwrite and by a dropped
    partition, and written again; then a log compaction left inflight."""
    table = TableInProgress(spark, base, MOR, BY_REGION)
    regions = ["r1", "r2", "r3", "r4"]
    table.write([row for region in regions for row in rows("12", region=region)], "insert")
    table.write([row for region in regions for row in rows("1", region=region, ts=2)])
    table.write(rows("3", region="r1", ts=3), "insert_overwrite")
    table.delete_partition("r2")
    table.write(rows("3", region="r1", ts=4) + rows("1", region="r2", ts=4))
    table.write(rows("2", region="r4", ts=5))
    table.begin_log_compaction(table.schedule_log_compaction())
    table.write(rows("1", region="r3", ts=6) + rows("1", region="r4", ts=6))
    return table.steps


def mor_pending(spark: SparkSession, base: str, version: int | None = None) -> list[str]:
    """MOR by region: each service left pending on a region of its own, written on meanwhile."""
    settings = {**BY_REGION, **(table_version(version) if version else {})}
    table = TableInProgress(spark, base, MOR, settings)
    regions = ["r1", "r2", "r3", "r4/north", "r5", "r6"]
    table.write([row for region in regions for row in rows("12", region=region)], "insert")
    table.write(rows("1", region="r3", ts=2))
    table.write(rows("2", region="r3", ts=3))
    table.schedule_log_compaction()
    table.write(rows("1", region="r4/north", ts=3))
    table.begin_compaction(table.schedule_compaction())
    table.write(rows("2", region="r4/north", ts=4) + rows("3", region="r5", ts=4))
    table.write(rows("1", region="r5", ts=5))
    table.schedule_compaction()
    table.write(rows("1", region="r1", ts=5))
    # Last: on table version 6 a single writer gets no compaction, of files or of logs, scheduled
    # behind a pending clustering (seen on 0.15.0, 1.0.2 and 1.2.0; no error, an empty answer).
    table.schedule_clustering("r1")
    table.begin_clustering(table.schedule_clustering("r2"))
    table.write(rows("1", region="r6", ts=6))
    return table.steps


def archived(spark: SparkSession, base: str, version: int | None = None) -> list[str]:
    """COW by region, hive style: a long history, most of it archived."""
    settings = {
        **BY_REGION_HIVE_STYLE,
        **(table_version(version) if version else {}),
        **ARCHIVING,
    }
    table = TableInProgress(spark, base, COW, settings)
    table.write(rows("12") + rows("3", region="us"), "insert")
    table.write(rows("1", ts=2))
    table.rollback(table.write(rows("2", ts=2, v="wrong")))
    table.write(rows("3", region="us", ts=3), "insert_overwrite")
    for ts in range(4, 18):
        table.write(rows("1", ts=ts))
    return table.steps


def mor_archived(spark: SparkSession, base: str) -> list[str]:
    """MOR by region: log files of archived writes, kept by a savepoint, and in quiet regions."""
    settings = {**BY_REGION, **ARCHIVING, **COMPACT_TWO_LOGS}
    table = TableInProgress(spark, base, MOR, settings)
    regions = ["eu", "us", "asia"]
    table.write([row for region in regions for row in rows("12", region=region)], "insert")
    table.write(rows("1", region="us", ts=2) + rows("1", ts=2))
    table.write(rows("2", ts=3))
    table.savepoint()
    table.compact(table.schedule_compaction())
    table.write(rows("1", region="asia", ts=4))
    _two_writes_and_a_compaction(table, times=3)
    table.write(rows("1", ts=20))
    return table.steps


def upgraded(spark: SparkSession, base: str, *, archives: str = "one") -> list[str]:
    """MOR by region: made at table version 6, with archived history, and upgraded in place.

    From several archive files, newest first, an upgrade makes one whose name gives a minimum above
    its maximum. Hudi then overlooks it when it asks for the completion of an archived write: at
    once from 1.1 on, after three days on 1.0.
    """
    archive = {"hoodie.archive.automatic": str(archives == "several").lower()}
    settings = {**BY_REGION, **table_version(6), **ARCHIVING, **COMPACT_TWO_LOGS, **archive}
    table = TableInProgress(spark, base, MOR, settings)
    table.write(rows("12") + rows("1", region="us"), "insert")
    table.write(rows("1", region="us", ts=2))
    table.rollback(table.write(rows("2", ts=2, v="wrong")))
    _two_writes_and_a_compaction(table, times=3)
    table.write(rows("1", ts=20), extra={"hoodie.archive.automatic": "true"})
    table.upgrade()
    table.write(rows("2", ts=21), extra=NO_SERVICES)  # or the upgraded instants were archived
    return table.steps


def _two_writes_and_a_compaction(table: TableInProgress, *, times: int) -> None:
    for ts in range(5, 5 + times):
        table.write(rows("1", ts=ts))
        table.write(rows("2", ts=ts))
        table.compact(table.schedule_compaction())


def with_metadata(spark: SparkSession, base: str) -> list[str]:
    """COW by region with its metadata table (a table of its own), timeline in UTC; one index is
    built later, another one only planned."""
    settings = {
        **BY_REGION,
        "hoodie.metadata.enable": "true",
        "hoodie.metadata.index.column.stats.enable": "false",
        "hoodie.metadata.index.partition.stats.enable": "false",
        "hoodie.table.timeline.timezone": "UTC",
    }
    table = TableInProgress(spark, base, COW, settings)
    table.write(rows("12") + rows("3", region="us"), "insert")
    table.write(rows("1", ts=2))
    table.write(rows("2"), "delete")
    table.clean()
    table.index(table.schedule_indexing("BLOOM_FILTERS"))
    table.schedule_indexing("COLUMN_STATS")
    return table.steps


@dataclass(frozen=True)
class Recipe:
    """One table: its name, the function that makes it, and the release it needs."""

    name: str
    function: str
    since: tuple[int, int] = (0, 15)
    arguments: dict[str, Any] = field(default_factory=dict)

    def fits(self, release: str) -> bool:
        major, minor, *_ = release.split(".")
        return (int(major), int(minor)) >= self.since

    def build(self, engine: EngineProcess, folder: Path) -> tuple[Path, list[str]]:
        """Make the table and return its base folder and steps."""
        base = folder / self.name
        if self.function == KILLED_WRITER:
            return base, killed_writer(engine, base)
        steps: list[str] = engine.call(self.function, base=str(base), **self.arguments)
        return base, steps


KILLED_WRITER = "tests.tables.races:killed_writer"

_HERE = "tests.tables.recipes"
RECIPES = (
    Recipe("cow_history", f"{_HERE}:cow_history"),
    Recipe("cow_restored", f"{_HERE}:cow_restored"),
    Recipe("mor_done", f"{_HERE}:mor_done"),
    Recipe("mor_replaced", f"{_HERE}:mor_replaced"),
    Recipe("mor_pending", f"{_HERE}:mor_pending"),
    Recipe("archived", f"{_HERE}:archived"),
    Recipe("mor_archived", f"{_HERE}:mor_archived"),
    Recipe("with_metadata", f"{_HERE}:with_metadata"),
    Recipe("killed_writer", KILLED_WRITER),
    Recipe("lockless_writers", "tests.tables.races:lockless_writers", since=(1, 0)),
    Recipe("upgraded", f"{_HERE}:upgraded", since=(1, 0)),
    Recipe("upgraded_misnamed", f"{_HERE}:upgraded", (1, 1), {"archives": "several"}),
    Recipe("mor_pending_v6", f"{_HERE}:mor_pending", (1, 0), {"version": 6}),
    Recipe("archived_v6", f"{_HERE}:archived", (1, 2), {"version": 6}),
    Recipe("mor_pending_v8", f"{_HERE}:mor_pending", (1, 1), {"version": 8}),
    Recipe("archived_v8", f"{_HERE}:archived", (1, 2), {"version": 8}),
)


def recipes_for(release: str) -> tuple[Recipe, ...]:
    """The tables that a release can make."""
    return tuple(recipe for recipe in RECIPES if recipe.fits(release))
