# SPDX-License-Identifier: Apache-2.0
"""Look at a Hudi table from a task: which plans are waiting to be executed?

No Spark is started; the timeline is read in milliseconds. Trigger it with the table's path.
"""

from __future__ import annotations

from typing import Any

from airflow.sdk import Param, dag, task

from airflow_hudi.core import load_pending_plans, load_timeline, open_table, to_json


# [START pending_plans]
@task
def pending_plans(path: str) -> Any:
    """Every pending plan of the table, for whoever comes next in the DAG."""
    table = open_table(path)
    planned = load_pending_plans(table, load_timeline(table))
    for item in planned:
        print(f"{item.instant} is waiting to be executed")
    return [to_json(item) for item in planned]


# [END pending_plans]


@dag(
    schedule=None,
    params={"path": Param("/lake/orders", type="string", description="The table's base path")},
    tags=["hudi"],
)
def hudi_pending_plans() -> None:
    """One task: read the timeline, return what is pending."""
    pending_plans("{{ params.path }}")


hudi_pending_plans()
