# SPDX-License-Identifier: Apache-2.0
"""A small sample table made by real writes: orders that are placed, changed and cancelled."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from airflow_hudi.core.config import WriteKey
from airflow_hudi.core.properties import TableType

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Order = tuple[str, str, int, str]
"""Order id, region, version of the order, status."""

COLUMNS = "order_id string, region string, version long, status string"

BATCHES: tuple[tuple[str, tuple[Order, ...]], ...] = (
    ("insert", tuple((f"o{n}", ("eu", "us")[n % 2], 1, "placed") for n in range(1, 9))),
    ("upsert", (("o1", "us", 2, "paid"), ("o2", "eu", 2, "paid"), ("o9", "us", 1, "placed"))),
    ("delete", (("o3", "us", 2, "cancelled"), ("o4", "eu", 2, "cancelled"))),
)

_OPTIONS = {
    WriteKey.TABLE_NAME: "orders",
    WriteKey.TABLE_TYPE: TableType.MERGE_ON_READ.value,
    WriteKey.RECORD_KEY_FIELD: "order_id",
    WriteKey.PARTITION_FIELD: "region",
    WriteKey.PRECOMBINE_FIELD: "version",
    # plan a compaction after the third write, and leave its execution to somebody else
    WriteKey.COMPACT_INLINE: "false",
    WriteKey.COMPACT_SCHEDULE_INLINE: "true",
    WriteKey.COMPACT_AFTER_DELTA_COMMITS: str(len(BATCHES)),
}


def write_batch(spark: SparkSession, path: str, operation: str, orders: Iterable[Order]) -> None:
    """One commit on the sample table; the first one creates it."""
    options = {key.value: value for key, value in _OPTIONS.items()}
    frame = spark.createDataFrame(list(orders), COLUMNS).coalesce(1)
    writer = frame.write.format("hudi").options(**options)
    writer.option(WriteKey.OPERATION.value, operation).mode("append").save(path)


def read_orders(spark: SparkSession, path: str) -> list[Order]:
    """What a reader sees, sorted."""
    columns = [column.split()[0] for column in COLUMNS.split(", ")]
    rows = spark.read.format("hudi").load(path).select(*columns).collect()
    return sorted((row[0], row[1], row[2], row[3]) for row in rows)


def expected_orders() -> list[Order]:
    """What a reader must see, computed without Spark."""
    orders: dict[str, Order] = {}
    for operation, batch in BATCHES:
        for order in batch:
            if operation == "delete":
                orders.pop(order[0], None)
            else:
                orders[order[0]] = order
    return sorted(orders.values())


def checksum(orders: Iterable[Order]) -> str:
    """A short name for the content, whatever order it comes in."""
    return hashlib.sha256(repr(sorted(orders)).encode()).hexdigest()[:12]


def counts(orders: Iterable[Order]) -> Mapping[str, int]:
    """How many orders have each status."""
    return dict(sorted(Counter(order[3] for order in orders).items()))
