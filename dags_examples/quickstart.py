# SPDX-License-Identifier: Apache-2.0
"""The first whole slice: three batches into a merge-on-read table, one compaction, one look.

Needs the connections ``hudi_default`` and ``spark_default``, and nothing else; `make demo` runs it
on this machine's disk with a local Spark, `make ui` shows it in Airflow. To run it on a cluster,
change the Spark connection.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from airflow.sdk import Param, dag, task

from airflow_hudi.core import TableType
from airflow_hudi.core.checksums import content_of
from airflow_hudi.core.ingestion import NewTable
from airflow_hudi.hooks.hudi import HudiHook
from airflow_hudi.operators.compaction import HudiCompactionOperator
from airflow_hudi.operators.ingestion import HudiIngestOperator
from airflow_hudi.operators.reading import HudiReadOperator

COLUMNS = ("order_id", "region", "version", "status")
BATCHES = {
    "placed": [(f"o{n}", ("eu", "us")[n % 2], 1, "placed") for n in range(1, 9)],
    "changed": [("o1", "us", 2, "paid"), ("o2", "eu", 2, "paid"), ("o9", "us", 1, "placed")],
    "cancelled": [("o3", "us", 2, "cancelled"), ("o4", "eu", 2, "cancelled")],
}


def expected_orders() -> list[dict[str, Any]]:
    """What a reader must see in the end, computed without Spark."""
    orders = {order[0]: order for order in (*BATCHES["placed"], *BATCHES["changed"])}
    for cancelled in BATCHES["cancelled"]:
        del orders[cancelled[0]]
    return [dict(zip(COLUMNS, order, strict=True)) for order in orders.values()]


@task
def land_batches() -> dict[str, str]:
    """Some files, as another system would leave them: one folder per batch."""
    landing = Path(HudiHook().settings.warehouse, "landing")
    for name, batch in BATCHES.items():
        folder = landing / name
        folder.mkdir(parents=True, exist_ok=True)
        rows = (json.dumps(dict(zip(COLUMNS, order, strict=True))) for order in batch)
        (folder / "orders.json").write_text("\n".join(rows))
    return {name: str(landing / name) for name in BATCHES}


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
    params={"table": Param("orders", type="string", description="A name below the warehouse")},
)
def hudi_quickstart() -> None:
    """Ingest, update, delete; plan a compaction and execute it; read what is there."""
    table = "{{ params.table }}"
    landed = land_batches()

    # [START ingest]
    place = HudiIngestOperator(
        task_id="place_orders",
        table=table,
        operation="upsert",
        source="{{ ti.xcom_pull(task_ids='land_batches')['placed'] }}",
        source_format="json",
        create=NewTable(
            type=TableType.MERGE_ON_READ,
            keys=("order_id",),
            ordering=("version",),
            partitions=("region",),
        ),
    )
    change = HudiIngestOperator(
        task_id="change_orders",
        table=table,
        operation="upsert",
        source="{{ ti.xcom_pull(task_ids='land_batches')['changed'] }}",
        source_format="json",
    )
    cancel = HudiIngestOperator(
        task_id="cancel_orders",
        table=table,
        operation="delete",
        source="{{ ti.xcom_pull(task_ids='land_batches')['cancelled'] }}",
        source_format="json",
    )
    # [END ingest]

    # [START compact]
    schedule = HudiCompactionOperator(task_id="schedule_compaction", table=table, mode="schedule")
    execute = HudiCompactionOperator(
        task_id="execute_compaction",
        table=table,
        mode="execute",
        instant="{{ ti.xcom_pull(task_ids='schedule_compaction')['instant'] }}",
    )
    # [END compact]

    # [START read]
    read = HudiReadOperator(task_id="read_orders", table=table, show=3)
    # [END read]

    landed >> place >> change >> cancel >> schedule >> execute >> read
    compare(read.output)  # type: ignore[arg-type]


hudi_quickstart()
