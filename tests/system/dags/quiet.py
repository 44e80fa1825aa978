# SPDX-License-Identifier: Apache-2.0
"""Runs that need nobody: a table's life with waiting done in the triggerer, mapped writes, a source
without its key, and somebody who waits for news of a table."""

from __future__ import annotations

import os
from typing import Any

from airflow.sdk import DAG, AssetAlias, task

from airflow_hudi.assets import hudi_asset
from airflow_hudi.core import TableType
from airflow_hudi.core.ingestion import NewTable
from airflow_hudi.core.services.policies import CompactionPolicy
from airflow_hudi.operators.compaction import HudiCompactionOperator
from airflow_hudi.operators.ingestion import HudiIngestOperator

WAREHOUSE = os.environ["TESTED_WAREHOUSE"]
ORDERS = hudi_asset(f"{WAREHOUSE}/orders")
KEYED = NewTable(keys=("id",), ordering=("version",))


def rows(version: int, status: str, *ids: str) -> str:
    """The query that gives these rows."""
    values = ", ".join(f"('{id_}', bigint({version}), '{status}')" for id_ in ids)
    return f"select * from values {values} as t(id, version, status)"


with DAG("life", schedule=None, is_paused_upon_creation=False):
    place = HudiIngestOperator(
        task_id="place",
        table="orders",
        operation="insert",
        sql=rows(1, "placed", "a", "b"),
        create=NewTable(KEYED.keys, TableType.MERGE_ON_READ, ordering=KEYED.ordering),
        outlets=[ORDERS],
        deferrable=True,
    )
    pay = HudiIngestOperator(
        task_id="pay", table="orders", sql=rows(2, "paid", "b"), deferrable=True
    )
    schedule = HudiCompactionOperator(
        task_id="schedule",
        table="orders",
        mode="schedule",
        policy=CompactionPolicy(after_delta_commits=1),
    )
    execute = HudiCompactionOperator(
        task_id="execute",
        table="orders",
        mode="execute",
        instant="{{ ti.xcom_pull(task_ids='schedule')['instant'] }}",
        deferrable=True,
    )
    place >> pay >> schedule >> execute

with DAG("mapped", schedule=None, is_paused_upon_creation=False):
    HudiIngestOperator.partial(
        task_id="fill",
        operation="insert",
        sql=rows(1, "placed", "a"),
        create=KEYED,
        outlets=[AssetAlias("filled")],
    ).expand(table=["north", "south"])

with DAG("no_key", schedule=None, is_paused_upon_creation=False):
    HudiIngestOperator(
        task_id="write",
        table="never_made",
        source=f"{WAREHOUSE}/landing/no_key.parquet",
        create=KEYED,
        retries=2,
    )

with DAG("news", schedule=[ORDERS], is_paused_upon_creation=False):

    @task
    def read_news(triggering_asset_events: Any = None) -> dict[str, Any]:
        """What the event says of the commit."""
        (event,) = triggering_asset_events[ORDERS]
        return dict(event.extra)

    read_news()
