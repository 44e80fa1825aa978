# SPDX-License-Identifier: Apache-2.0
"""Cleaning in the driver: first what dead writers left, then the file slices no reader needs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from airflow_hudi.core.claims import PlanClaimed
from airflow_hudi.core.heartbeat import HeartbeatPolicy, heartbeat_policy
from airflow_hudi.core.instants import Action, Instant, InstantTime, State
from airflow_hudi.core.job_errors import PlanNotFound
from airflow_hudi.core.jobs import Cleaning, JobReport, RolledBack
from airflow_hudi.core.plans import CleanerPlan, decode_plan, load_plan
from airflow_hudi.core.services.cleaning import NeededFiles, load_needed_files, overlap, spare
from airflow_hudi.core.services.rollback import Hold
from airflow_hudi.core.services.view import load_view
from airflow_hudi.core.services.works import CleanWork
from airflow_hudi.core.storage.base import Storage
from airflow_hudi.core.table import Table, open_table
from airflow_hudi.core.timeline import Timeline, load_timeline
from airflow_hudi.spark.claiming import claimed, discard, left_behind
from airflow_hudi.spark.clients import service_client
from airflow_hudi.spark.engine.protocol import TableClient
from airflow_hudi.spark.rollbacks import decide, roll_back_the_dead

if TYPE_CHECKING:
    from airflow_hudi.spark.runner import Job


def clean(job: Job) -> JobReport:
    """Roll back the dead, then clean."""
    work = job.spec.work
    if not isinstance(work, CleanWork):
        raise TypeError(f"this script cleans; {work.KIND} has a script of its own")
    table = open_table(job.spec.table)
    beats = heartbeat_policy(work.options)
    with service_client(job, work, table) as client:
        if work.dry_run:
            return _preview(job, client, table, work)
        job.say(f"looking for what dead writers left on {table.uri}")
        job.check_seat()
        undone, holds = roll_back_the_dead(job, client, table, work.rollback, beats)
        for hold in holds:
            job.say(str(hold))
        cleaned = _Clean(job, client, table).run()
        _sweep(job, client, table, beats)
        return _report(job, cleaned, undone, holds)


def _sweep(job: Job, client: TableClient, table: Table, beats: HeartbeatPolicy) -> None:
    """Remove what the dead left of instants that are done: it blocks nobody, and only grows."""
    view = load_view(table, beats)
    pending = {instant.requested_at for instant in view.timeline.pending()}
    for time, beat in view.signs.heartbeats.items():
        if time not in pending and beat.is_expired(beats, now=view.now):
            client.stop_heartbeat(time)
    for time in left_behind(job) - pending:
        discard(job, time)


class _Clean:
    """The second half: clean plans that are there already are ended first, then a new one."""

    def __init__(self, job: Job, client: TableClient, table: Table) -> None:
        self._job = job
        self._client = client
        self._table = table

    def run(self) -> tuple[str | None, Cleaning]:
        """The last instant of a clean that was carried out, and what was deleted."""
        done = Cleaning()
        last: str | None = None
        for instant in load_timeline(self._table).of(Action.CLEAN).pending():
            last, done = self._carry_out(instant.requested_at, last, done)
        self._job.check_seat()
        with self._client.lock():
            planned = self._client.schedule_clean()
            # Before the lock is given back: from then on anybody may carry it out.
            if planned is not None:
                done = self._spare(InstantTime(planned), done)
        return (last, done) if planned is None else self._carry_out(planned, last, done)

    def _carry_out(
        self, time: str, last: str | None, done: Cleaning
    ) -> tuple[str | None, Cleaning]:
        try:
            with claimed(self._job, time):
                with self._client.lock():
                    there = load_timeline(self._table).find(InstantTime(time), Action.CLEAN)
                    if there is None or not there.is_pending:
                        return last, done
                    done = self._spare(InstantTime(time), done)
                self._job.say(f"clean {time}: deleting files")
                deleted = self._client.clean(time) or 0
        except PlanClaimed as error:
            self._job.say(str(error))
            return last, done
        return time, replace(done, files_deleted=done.files_deleted + deleted)

    def _spare(self, time: InstantTime, done: Cleaning) -> Cleaning:
        """Take out of a clean plan what pending plans need; under the table's lock."""
        timeline = load_timeline(self._table)
        instant = timeline.find(time, Action.CLEAN)
        plan = None if instant is None else load_plan(self._table, timeline, instant)
        if instant is None or not isinstance(plan, CleanerPlan):
            return done
        retain = plan.retain_from or done.retain_from
        needed = load_needed_files(self._table, timeline)
        named = overlap(plan, needed)
        if not named:
            return replace(done, retain_from=retain)
        path = _requested_path(timeline, instant)
        rewrite(self._table.storage, path, needed)
        self._job.say(f"clean {time} spares {', '.join(named)}: a pending plan names them")
        return replace(done, retain_from=retain, spared=(*done.spared, *named))


def rewrite(storage: Storage, path: str, needed: NeededFiles) -> None:
    """Replace a clean plan by one that spares the needed files."""
    before = storage.read_versioned(path)
    folder, _, name = path.rpartition("/")
    # Hadoop's checksum of the old bytes, on local disks; without one, nothing is compared.
    storage.delete(f"{folder}/.{name}.crc")
    storage.replace(path, spare(before.data, needed).data, expected=before.version)


def _requested_path(timeline: Timeline, instant: Instant) -> str:
    file = timeline.file_of(instant, State.REQUESTED)
    if file is None:
        raise PlanNotFound(str(instant), instant.requested_at, because="its request is gone")
    return file.path


# --- what is said ------------------------------------------------------------------------------


def _report(
    job: Job,
    cleaned: tuple[str | None, Cleaning],
    undone: tuple[RolledBack, ...],
    holds: tuple[Hold, ...],
) -> JobReport:
    instant, done = cleaned
    cleaning = replace(done, rolled_back=undone, holds=holds)
    if instant is None and not undone:
        held = f"; {len(holds)} pending instants are held" if holds else ""
        because = f"no dead write to roll back, and no file slice that may go{held}"
        return job.nothing_to_do(because, cleaning=cleaning)
    said = f"{len(undone)} instants rolled back, {done.files_deleted} files deleted"
    if holds:
        said = f"{said}, {len(holds)} pending instants held"
    return job.done(said, instant=instant, cleaning=cleaning)


def _preview(job: Job, client: TableClient, table: Table, work: CleanWork) -> JobReport:
    decision = decide(job, table, work.rollback, heartbeat_policy(work.options))
    for instant in decision.schedule:
        job.say(f"would roll back {instant}")
    for again in decision.carry_out:
        job.say(f"would carry out rollback {again.instant.requested_at} of {again.target}")
    for hold in decision.holds:
        job.say(str(hold))
    text = client.preview_clean()
    plan = None if text is None else decode_plan(Action.CLEAN, text.encode())
    due = sum(map(len, plan.files.values())) if isinstance(plan, CleanerPlan) else 0
    needed = load_needed_files(table, load_timeline(table))
    spared = overlap(plan, needed) if isinstance(plan, CleanerPlan) else ()
    undo = len(decision.schedule) + len(decision.carry_out)
    said = f"dry run: would roll back {undo} instants and delete {due - len(spared)} files"
    return job.done(said, cleaning=Cleaning(holds=decision.holds, spared=spared))
