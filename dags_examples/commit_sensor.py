# SPDX-License-Identifier: Apache-2.0
"""Wait for new commits on a Hudi table, then work on what arrived.

No worker is held while waiting, and no Spark is started: one listing of the table's timeline per
look. The table is a name below the warehouse of the connection ``hudi_default``.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from airflow.sdk import Param, dag, task

from airflow_hudi.sensors.commit import HudiCommitSensor


# [START what_arrived]
@task
def what_arrived(found: Any) -> str:
    """Say which commits arrived; the newest is what the next wait may start after."""
    for commit in found["commits"]:
        print(f"{commit['requested_at']} {commit['action']}, visible at {commit['completed_at']}")
    return str(found["newest"])


# [END what_arrived]


@dag(
    schedule=None,
    params={"table": Param("orders", type="string", description="The table, by name or URI")},
    tags=["hudi"],
)
def hudi_commit_sensor() -> None:
    """Two tasks: wait for commits since the run was due, tell which came."""
    # [START commit_sensor]
    new_commits = HudiCommitSensor(
        task_id="new_commits",
        table="{{ params.table }}",
        deferrable=True,
        poke_interval=timedelta(seconds=30),
        timeout=timedelta(hours=6),
    )
    # [END commit_sensor]

    what_arrived(new_commits.output)


hudi_commit_sensor()
