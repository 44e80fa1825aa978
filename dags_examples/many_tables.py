# SPDX-License-Identifier: Apache-2.0
"""The same work on many tables: one mapped task per table, waiting without a worker.

Each instance is named by its table in the UI, and each has a job of its own: a retry of one does
not touch the others.
"""

from __future__ import annotations

from airflow.sdk import AssetAlias, dag

from airflow_hudi.core import NewTable, TableType
from airflow_hudi.operators.compaction import HudiCompactionOperator
from airflow_hudi.operators.ingestion import HudiIngestOperator

TABLES = ["clicks", "views"]

EVENTS = """
select concat('e', id) as event, id % 2 as shard, id as seen_at, '{{ ds_nodash }}' as day
from range(1, 21)
"""


@dag(schedule=None, start_date=None, tags=["hudi"])
def hudi_many_tables() -> None:
    """Write to every table, then compact every table."""
    # [START many_tables]
    write = HudiIngestOperator.partial(
        task_id="write",
        sql=EVENTS,
        create=NewTable(
            type=TableType.MERGE_ON_READ,
            keys=("event",),
            ordering=("seen_at",),
            partitions=("shard",),
        ),
        outlets=[AssetAlias("hudi_events")],
    ).expand(table=TABLES)

    compact = HudiCompactionOperator.partial(
        task_id="compact",
        mode="both",
        deferrable=True,
        max_active_tis_per_dagrun=2,
        trigger_rule="none_failed",
    ).expand(table=TABLES)
    # [END many_tables]

    write >> compact


hudi_many_tables()
