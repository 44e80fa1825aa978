# SPDX-License-Identifier: Apache-2.0
"""The look at a table before a driver is started: milliseconds, no JVM, and nothing is changed."""

from __future__ import annotations

from datetime import datetime

from airflow_hudi.core.errors import TableNotFound
from airflow_hudi.core.heartbeat import heartbeat_policy
from airflow_hudi.core.ingestion import IngestWork, check_work
from airflow_hudi.core.job_errors import WrongTableType
from airflow_hudi.core.jobs import Work
from airflow_hudi.core.plans import load_plan
from airflow_hudi.core.properties import TableType
from airflow_hudi.core.reading import ReadWork
from airflow_hudi.core.services.choice import Claims, Execute, NothingToDo, Replan, choose
from airflow_hudi.core.services.kinds import Service
from airflow_hudi.core.services.view import ServicesView, load_view
from airflow_hudi.core.services.works import CleanWork, ServiceWork
from airflow_hudi.core.sources import check_source
from airflow_hudi.core.storage.base import Storage
from airflow_hudi.core.table import Table, load_table
from airflow_hudi.core.table_options import check_version
from airflow_hudi.core.verdicts import plan_size
from airflow_hudi.core.versions import Release


def look_before(
    work: Work,
    storage: Storage,
    release: Release,
    *,
    now: datetime,
    claims: Claims | None = None,
) -> NothingToDo | str:
    """What will be done, in words, or that there is nothing to do; raises where it cannot be done.

    :param storage: rooted at the table's base path
    :param claims: what each claim on an instant of the table is worth now
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
    if isinstance(work, CleanWork):
        return f"{table.uri} is to be cleaned"
    view = load_view(table, heartbeat_policy(work.options), now=now)
    return _look_before_service(work, table, view, claims or {})


def _table(storage: Storage) -> Table | None:
    try:
        return load_table(storage)
    except TableNotFound:
        return None


def _look_before_service(
    work: ServiceWork, table: Table, view: ServicesView, claims: Claims
) -> NothingToDo | str:
    noun = work.service.noun
    if (
        work.service is not Service.CLUSTERING
        and table.properties.type is not TableType.MERGE_ON_READ
    ):
        raise WrongTableType(
            table.uri,
            type=table.properties.type.value,
            needed=TableType.MERGE_ON_READ.value,
            needed_for=noun,
        )
    choice = choose(work, view, claims=claims)
    if isinstance(choice, NothingToDo):
        return choice
    if isinstance(choice, Execute):
        return f"{noun} {choice.instant.requested_at}: {_size(table, view, choice)}"
    if isinstance(choice, Replan):
        return f"{noun} {choice.instant.requested_at} was left half-way: it is to be planned anew"
    return f"a {noun} of {table.uri} is to be planned"


def _size(table: Table, view: ServicesView, choice: Execute) -> str:
    plan = load_plan(table, view.timeline, choice.instant)
    size = plan_size(plan)
    return f"its plan cannot be read ({plan})" if size is None else str(size)
