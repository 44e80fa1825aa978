# SPDX-License-Identifier: Apache-2.0
"""The look at a table before a driver is started: milliseconds, no JVM, and nothing is changed."""

from __future__ import annotations

from datetime import datetime

from airflow_hudi.core.compaction import CompactionWork, Execute, NothingToDo, Signs, choose
from airflow_hudi.core.defects import Defect
from airflow_hudi.core.errors import TableNotFound
from airflow_hudi.core.heartbeat import heartbeat_policy, load_heartbeats
from airflow_hudi.core.ingestion import IngestWork, check_work
from airflow_hudi.core.job_errors import WrongTableType
from airflow_hudi.core.jobs import Work
from airflow_hudi.core.plans import load_plan
from airflow_hudi.core.properties import TableType
from airflow_hudi.core.reading import ReadWork
from airflow_hudi.core.sources import check_source
from airflow_hudi.core.storage.base import Storage
from airflow_hudi.core.table import Table, load_table
from airflow_hudi.core.table_options import check_version
from airflow_hudi.core.timeline import Timeline, load_timeline
from airflow_hudi.core.verdicts import plan_size
from airflow_hudi.core.versions import Release


def look_before(
    work: Work, storage: Storage, release: Release, *, now: datetime
) -> NothingToDo | str:
    """What will be done, in words, or that there is nothing to do; raises where it cannot be done.

    :param storage: rooted at the table's base path
    """
    table = _table(storage)
    if isinstance(work, IngestWork):
        properties = None if table is None else table.properties
        check_work(work, release, properties, storage.uri)
        return check_source(work, properties)
    if table is None:
        raise TableNotFound(storage.uri)
    if isinstance(work, ReadWork):
        return f"{table.uri} is to be read"
    check_version(table.properties, release)
    return _look_before_compaction(work, table, now=now)


def _table(storage: Storage) -> Table | None:
    try:
        return load_table(storage)
    except TableNotFound:
        return None


def _look_before_compaction(
    work: CompactionWork, table: Table, *, now: datetime
) -> NothingToDo | str:
    if table.properties.type is not TableType.MERGE_ON_READ:
        raise WrongTableType(
            table.uri,
            type=table.properties.type.value,
            needed=TableType.MERGE_ON_READ.value,
            needed_for="compaction",
        )
    timeline = load_timeline(table)
    signs = Signs(load_heartbeats(table), now=now, policy=heartbeat_policy(work.options))
    choice = choose(work, table.uri, timeline, signs)
    if isinstance(choice, NothingToDo):
        return choice
    if isinstance(choice, Execute):
        return f"compaction {choice.instant.requested_at}: {_size(table, timeline, choice)}"
    return f"a compaction of {table.uri} is to be planned"


def _size(table: Table, timeline: Timeline, choice: Execute) -> str:
    plan = load_plan(table, timeline, choice.instant)
    if plan is None or isinstance(plan, Defect):
        return f"its plan cannot be read ({plan})"
    return str(plan_size(plan))
