# SPDX-License-Identifier: Apache-2.0
"""Small writes, and the services that tidy up behind them: one executor per plan.

Such writes leave small base files, log files and old file slices. First a clustering is planned by
one task and executed by another; later all services run one after another, and a service that has
nothing to do is skipped.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from airflow.sdk import Param, chain, dag, task

import airflow_hudi
from airflow_hudi.core import TableType
from airflow_hudi.core.checksums import content_of
from airflow_hudi.core.ingestion import NewTable
from airflow_hudi.core.services.policies import CleanPolicy, ClusteringPolicy, CompactionPolicy
from airflow_hudi.operators.clustering import HudiClusteringOperator
from airflow_hudi.operators.ingestion import HudiIngestOperator
from airflow_hudi.operators.reading import HudiReadOperator

COLUMNS = ("order_id", "region", "version", "status")
PLACED = [(f"o{n}", ("eu", "us")[n % 2], 1, "placed") for n in range(1, 9)]
BATCHES = [
    PLACED[:4],
    [("o1", "us", 2, "paid"), ("o2", "eu", 2, "paid"), *PLACED[4:]],
    [("o1", "us", 3, "sent"), ("o5", "us", 2, "paid"), ("o9", "us", 1, "placed")],
    [("o2", "eu", 3, "sent"), ("o3", "us", 2, "paid"), ("o10", "eu", 1, "placed")],
]


def expected_orders() -> list[dict[str, Any]]:
    """What a reader must see in the end, computed without Spark."""
    orders = {order[0]: order for batch in BATCHES for order in batch}
    return [dict(zip(COLUMNS, order, strict=True)) for order in orders.values()]


def query(batch: list[tuple[str, str, int, str]]) -> str:
    """Spark SQL that gives these rows."""
    rows = ", ".join(map(str, batch))
    return f"from values {rows} as orders({', '.join(COLUMNS)}) select *"


@task
def compare(seen: dict[str, Any]) -> str:
    """Rows are compared by content, never by their number alone."""
    expected = content_of(expected_orders())
    reading = seen["reading"]
    said = f"{reading['rows']} orders, checksum {reading['checksum']}"
    if (reading["rows"], reading["checksum"]) != (expected.rows, expected.checksum):
        raise ValueError(f"{said}; expected {expected.rows} and {expected.checksum}")
    print(f"{said}, as expected")
    return said


@dag(
    schedule=None,
    tags=["hudi"],
    params={"table": Param("small_writes", type="string", description="A name in the warehouse")},
)
def hudi_services() -> None:
    """Write twice, cluster; write twice more, and run every service that is due."""
    table = "{{ params.table }}"
    first, second, third, fourth = (
        HudiIngestOperator(
            task_id=f"write_{number}",
            table=table,
            sql=query(batch),
            # New rows go into new files: quick to write, and laid out well later.
            options={"hoodie.parquet.small.file.limit": "0"},
            create=NewTable(
                type=TableType.MERGE_ON_READ,
                keys=("order_id",),
                ordering=("version",),
                partitions=("region",),
            ),
        )
        for number, batch in enumerate(BATCHES, 1)
    )

    # [START two_tasks]
    layout = ClusteringPolicy(sort_columns=("order_id",))
    schedule = HudiClusteringOperator(
        task_id="schedule_clustering", table=table, mode="schedule", policy=layout
    )
    execute = HudiClusteringOperator(
        task_id="execute_clustering",
        table=table,
        mode="execute",
        instant="{{ ti.xcom_pull(task_ids='schedule_clustering')['instant'] }}",
        policy=layout,
        retries=2,
    )
    # [END two_tasks]

    # [START all_services]
    services = airflow_hudi.hudi_table_services(
        table=table,
        compaction=CompactionPolicy(after_delta_commits=2),
        clustering=ClusteringPolicy(after_commits=2, sort_columns=("order_id",)),
        clean=CleanPolicy(keep_commits=1),
        rollback_delay=timedelta(minutes=30),
        retries=2,
        pool="default_pool",
    )
    # [END all_services]

    # [START after_services]
    read = HudiReadOperator(task_id="read_orders", table=table, show=3, trigger_rule="none_failed")
    # [END after_services]

    chain(first, second, schedule, execute, third, fourth, services, read)
    compare(read.output)  # type: ignore[arg-type]


hudi_services()
