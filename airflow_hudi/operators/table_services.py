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
    **task_arguments: Any,
) -> TaskGroup:
    """A task group that runs a table's services one after another, each once.

    Only the services with a policy run; the clean always does, and comes last: a clean before a
    compaction would plan around files that the compaction is about to make needless. A service with
    nothing to do is skipped and the next one runs; after one that failed nothing more runs.

    :param table: as for every operator
    :param task_arguments: for every task in it: ``pool``, ``hudi_conn_id``, ``deferrable``,
        ``retries``, ``max_active_tis_per_dag``, ``options``, …
    """
    tasks: list[Any] = []
    common = {"table": table, **task_arguments}
    with TaskGroup(group_id=group_id) as group:
        if log_compaction is not None:
            tasks.append(
                HudiLogCompactionOperator(
                    task_id="log_compaction", policy=log_compaction, **_after(tasks), **common
                )
            )
        if compaction is not None:
            tasks.append(
                HudiCompactionOperator(
                    task_id="compaction", policy=compaction, **_after(tasks), **common
                )
            )
        if clustering is not None:
            tasks.append(
                HudiClusteringOperator(
                    task_id="clustering", policy=clustering, **_after(tasks), **common
                )
            )
        tasks.append(
            HudiCleanOperator(
                task_id="clean",
                policy=clean,
                rollback_delay=rollback_delay,
                **_after(tasks),
                **common,
            )
        )
        for before, after in pairwise(tasks):
            before >> after
    return group


def _after(tasks: list[Any]) -> dict[str, Any]:
    """A service that had nothing to do is no reason for the next one not to run."""
    return {"trigger_rule": TriggerRule.NONE_FAILED} if tasks else {}
