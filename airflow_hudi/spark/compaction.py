# SPDX-License-Identifier: Apache-2.0
"""Compaction in the driver: plan, execute, and commit only what is still ours to commit."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timezone
from typing import TYPE_CHECKING

from airflow_hudi.core.compaction import (
    CompactionWork,
    Execute,
    Mode,
    NothingToDo,
    Signs,
    choose,
    why_no_plan,
)
from airflow_hudi.core.defects import Defect
from airflow_hudi.core.heartbeat import heartbeat_policy, load_heartbeats
from airflow_hudi.core.ingestion import JOB_METADATA_KEY
from airflow_hudi.core.instants import Action, Instant, InstantTime
from airflow_hudi.core.job_errors import JobSuperseded, PlanNotFound
from airflow_hudi.core.jobs import JobReport, PlanSize
from airflow_hudi.core.plans import load_plan
from airflow_hudi.core.table import Table, open_table
from airflow_hudi.core.table_options import table_options
from airflow_hudi.core.timeline import load_timeline
from airflow_hudi.core.verdicts import load_evidence, plan_size
from airflow_hudi.core.versions import release
from airflow_hudi.spark.engine.locks import lock_options
from airflow_hudi.spark.engine.protocol import Service, TableClient

if TYPE_CHECKING:
    from airflow_hudi.spark.runner import Job


def compact(job: Job) -> JobReport:
    """Schedule a compaction, execute one, or both."""
    work = job.spec.work
    if not isinstance(work, CompactionWork):
        raise TypeError(f"this script compacts; {work.KIND} has a script of its own")
    table = open_table(job.spec.table)
    policy = heartbeat_policy(work.options)
    signs = Signs(load_heartbeats(table), now=datetime.now(tz=timezone.utc), policy=policy)
    choice = choose(work, job.spec.table, load_timeline(table), signs)
    if isinstance(choice, NothingToDo):
        return job.nothing_to_do(choice.because, instant=choice.instant)
    with _client(job, work, table) as client:
        if isinstance(choice, Execute):
            return _execute(job, client, table, choice.instant)
        return _plan(job, client, table, work)


@contextmanager
def _client(job: Job, work: CompactionWork, table: Table) -> Iterator[TableClient]:
    options = {
        **table_options(table.properties, release(job.spec.release)),
        **lock_options(job.spec.lock, job.spec.table),
        **work.policy.options(),
        **work.options,
    }
    with job.engine.client(job.spec.table, options) as client:
        yield client


def _plan(job: Job, client: TableClient, table: Table, work: CompactionWork) -> JobReport:
    job.say(f"planning a compaction of {job.spec.table}")
    job.check_seat()
    time = client.schedule(Service.COMPACTION, extra={JOB_METADATA_KEY: str(job.spec.key)})
    if time is None:
        return job.nothing_to_do(why_no_plan(load_timeline(table), work.policy))
    planned = _planned(job, table, time)
    if work.mode is Mode.BOTH:
        return _execute(job, client, table, planned)
    size = _size(table, planned)
    return job.done(f"compaction {time} scheduled: {size}", instant=time, plan=size)


def _planned(job: Job, table: Table, time: str) -> Instant:
    """The plan as the timeline has it: an answer of Hudi's alone is not enough."""
    planned = load_timeline(table).find(InstantTime(time), Action.COMPACTION)
    if planned is None:
        because = "Hudi said that it was scheduled, and the timeline does not show it"
        raise PlanNotFound(job.spec.table, time, because=because)
    return planned


def _execute(job: Job, client: TableClient, table: Table, instant: Instant) -> JobReport:
    time = instant.requested_at
    size = _size(table, instant)
    job.say(f"executing compaction {time}: {size}")
    job.check_seat()
    executed = client.execute(Service.COMPACTION, time)
    _check_before_commit(job, table, time, executed.files)
    job.say(f"{len(executed.files)} base files are written, committing")
    client.commit(executed)
    evidence = load_evidence(table.storage, CompactionWork(Mode.EXECUTE, time), str(job.spec.key))
    rows = None if evidence is None else evidence.rows
    return job.done(f"compaction {time} executed: {size}", instant=time, plan=size, rows=rows)


def _check_before_commit(job: Job, table: Table, time: str, files: tuple[str, ...]) -> None:
    """Two executions of one plan delete each other's files: commit only what is all still there."""
    job.check_seat()
    for folder in {path.rpartition("/")[0] for path in files}:
        there = {file.path for file in table.storage.list_folder(folder).files}
        gone = [path for path in files if path.rpartition("/")[0] == folder and path not in there]
        if gone:
            because = f"{gone[0]}, written for {time}, is gone: somebody else executes this plan"
            raise JobSuperseded(str(job.spec.key), because=because)


def _size(table: Table, instant: Instant) -> PlanSize | None:
    plan = load_plan(table, load_timeline(table), instant)
    return None if plan is None or isinstance(plan, Defect) else plan_size(plan)
