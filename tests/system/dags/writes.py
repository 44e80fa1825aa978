# SPDX-License-Identifier: Apache-2.0
"""One write per DAG, and one DAG per scenario, so that each can be paused without the others."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from airflow.sdk import DAG

from airflow_hudi.core.config import HeartbeatKey
from airflow_hudi.core.ingestion import NewTable
from airflow_hudi.operators.ingestion import HudiIngestOperator

# A row of the first try waits an hour between its instant's beginning and its commit, where the
# run asks for it; that is where a test can meet the driver, whatever the speed of the machine.
ROWS = """
select if(id = 0, 'a', 'b') as id, bigint(1) as version, replace(
  java_method('java.lang.Thread', 'sleep', id *
    {{ 3600000 if params.slow_at_first and ti.try_number == 1 else 0 }}L),
  'null', 'placed') as status
from range(0, 2, 1, 1)
"""

# What a dead first write left is rolled back when its heartbeat has expired: here after ten
# seconds, by default after two minutes.
BEATS = {
    HeartbeatKey.INTERVAL_MILLIS.value: "2000",
    HeartbeatKey.TOLERABLE_MISSES.value: "5",
}


def one_write(dag_id: str, **arguments: Any) -> DAG:
    """Two rows into a new table, named like the DAG."""
    with DAG(
        dag_id, schedule=None, params={"slow_at_first": False}, is_paused_upon_creation=False
    ) as dag:
        HudiIngestOperator(
            task_id="write",
            table=dag_id,
            operation="bulk_insert",
            sql=ROWS,
            create=NewTable(keys=("id",), ordering=("version",)),
            options=BEATS,
            retry_delay=timedelta(seconds=1),
            **arguments,
        )
    return dag


attached = one_write("attached", retries=1)
unheard = one_write("unheard", retries=1)
died = one_write("died", retries=1)
# No retries: whatever the clearing does to the first driver must not cost the new try its success.
cleared = one_write("cleared")
marked = one_write("marked")
cleared_deferred = one_write("cleared_deferred", deferrable=True)
marked_deferred = one_write("marked_deferred", deferrable=True)
