# SPDX-License-Identifier: Apache-2.0
"""A table's first write that died: undone before anything else is written.

On tables of version 6, Hudi takes every file older than the first completed instant for committed:
with a dead first write left pending, the next commit would make its rows visible (seen on 0.15.0).
So a table's first commit is never raced by us, and what a dead one left is rolled back first.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING

from airflow_hudi.core.heartbeat import Signs, heartbeat_policy, load_heartbeats
from airflow_hudi.core.instants import Instant
from airflow_hudi.core.job_errors import FirstWriteInProgress
from airflow_hudi.core.table import Table
from airflow_hudi.core.timeline import load_timeline

if TYPE_CHECKING:
    from airflow_hudi.spark.runner import Job

_PAUSE = 1.0
_SPARE = timedelta(seconds=30)


def undo_dead_first_write(job: Job, table: Table, options: Mapping[str, str]) -> None:
    """Roll back what is pending on a table that has no completed write.

    Somebody alive on it is waited for, as long as a dead writer's heartbeat would last; then it is
    :class:`FirstWriteInProgress`.
    """
    pending = _pending(table)
    if not pending:
        return
    patience = heartbeat_policy(options).tolerance + _SPARE
    until = time.monotonic() + patience.total_seconds()
    awaited = ""
    while pending and (alive := _alive(table, pending, options)):
        if time.monotonic() > until:
            raise FirstWriteInProgress(table.uri, alive[0].requested_at)
        if alive[0].requested_at != awaited:
            awaited = alive[0].requested_at
            job.say(f"waiting for the first write {awaited} to commit or to fall silent")
        time.sleep(_PAUSE)
        pending = _pending(table)
    for instant in pending:
        _roll_back(job, table, instant, options)


def _pending(table: Table) -> tuple[Instant, ...]:
    timeline = load_timeline(table)
    if len(timeline.completed().writes()):
        return ()
    return timeline.pending().writes().instants


def _alive(table: Table, pending: tuple[Instant, ...], options: Mapping[str, str]) -> list[Instant]:
    now = datetime.now(tz=timezone.utc)
    signs = Signs(load_heartbeats(table), now=now, policy=heartbeat_policy(options))
    return [instant for instant in pending if signs.live_beat(instant) is not None]


def _roll_back(job: Job, table: Table, instant: Instant, options: Mapping[str, str]) -> None:
    job.say(f"rolling back {instant}, a first write whose writer is dead")
    job.check_seat()
    with job.engine.client(table.uri, options) as client:
        with client.lock():
            rollback = client.schedule_rollback(instant.requested_at)
        client.execute_rollback(rollback, instant.requested_at)
