# SPDX-License-Identifier: Apache-2.0
"""All services of a table, in the order that is safe."""

from __future__ import annotations

from datetime import timedelta
from itertools import pairwise
from typing import Any

from airflow.providers.common.compat.sdk import TaskGroup, TriggerRule

from airflow_hudi.core.services.policies import (
    CleanPolicy,
    ClusteringPolicy,
    CompactionPolicy,
    LogCompactionPolicy,
)
from airflow_hudi.operators.base import HudiJobOperator
from airflow_hudi.operators.cleaning import HudiCleanOperator
from airflow_hudi.operators.clustering import HudiClusteringOperator
from airflow_hudi.operators.compaction import HudiCompactionOperator, HudiLogCompactionOperator


def hudi_table_services(  # noqa: PLR0913 - all by name
    group_id: str = "table_services",
    *,
    table: str,
    compaction: CompactionPolicy | None = None,
    log_compaction: LogCompactionPolicy | None = None,
    clustering: ClusteringPolicy | None = None,
    clean: CleanPolicy | None = None,
    rollback_delay: timedelta | float | None = None,
    clustering_is_removable: bool = True,
    **task_arguments: Any,
) -> TaskGroup:
    """A task group that runs a table's services one after another, each once.

    Only the services with a policy run; the clean always does, and comes last: a clean before a
    compaction would plan around files that the compaction is about to make needless. A service with
    nothing to do is skipped and the next one runs; after one that failed nothing more runs.

    :param table: as for every operator
    :param clustering_is_removable: as for the clean; the clustering is told the same
    :param task_arguments: for every task in it: ``pool``, ``hudi_conn_id``, ``deferrable``,
        ``retries``, ``max_active_tis_per_dag``, ``options``, …
    """
    # A task that was skipped, in here or before, is no reason for the next one not to run.
    common = {"table": table, "trigger_rule": TriggerRule.NONE_FAILED, **task_arguments}
    tasks: list[HudiJobOperator] = []
    with TaskGroup(group_id=group_id) as group:
        if log_compaction is not None:
            tasks.append(
                HudiLogCompactionOperator(task_id="log_compaction", policy=log_compaction, **common)
            )
        if compaction is not None:
            tasks.append(HudiCompactionOperator(task_id="compaction", policy=compaction, **common))
        if clustering is not None:
            removable = {"removable": clustering_is_removable}
            tasks.append(
                HudiClusteringOperator(
                    task_id="clustering", policy=clustering, **removable, **common
                )
            )
        clean_task = HudiCleanOperator(
            task_id="clean",
            policy=clean,
            rollback_delay=rollback_delay,
            clustering_is_removable=clustering_is_removable,
            **common,
        )
        tasks.append(clean_task)
        for before, after in pairwise(tasks):
            before >> after
    return group
