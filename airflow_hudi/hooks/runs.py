# SPDX-License-Identifier: Apache-2.0
"""One task's job from its first look at the control folder to its settled report.

Knows the control folder, Spark's submit command and the table's timeline, and nothing of DAGs.
"""

from __future__ import annotations

import logging
import os
import tempfile
import time
from collections.abc import Mapping
from contextlib import AbstractContextManager, ExitStack, nullcontext, suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from pathlib import Path

from airflow_hudi.core.attempts import (
    Attach,
    Attempt,
    Dead,
    Deliver,
    Launched,
    Patience,
    Start,
    next_move,
)
from airflow_hudi.core.claims import PlanClaimed, Standing, TakeoverPolicy, standings, witness_of
from airflow_hudi.core.connection import HudiSettings
from airflow_hudi.core.control import AttemptFolder, JobFolder, job_folder
from airflow_hudi.core.errors import InvalidInput, ObjectExists, TableNotFound
from airflow_hudi.core.hosts import host_id
from airflow_hudi.core.ingestion import FileSource, IngestWork
from airflow_hudi.core.instants import InstantTime
from airflow_hudi.core.job_errors import DriverDied
from airflow_hudi.core.jobs import JobArguments, JobKey, JobReport, JobSpec, Outcome, Work
from airflow_hudi.core.locks import refuse_lock_options
from airflow_hudi.core.preflight import look_before
from airflow_hudi.core.properties import load_properties
from airflow_hudi.core.reading import ReadWork
from airflow_hudi.core.redaction import refuse_secret_settings
from airflow_hudi.core.services.choice import NothingToDo
from airflow_hudi.core.services.works import ServiceWork
from airflow_hudi.core.storage import LocalStorage, Storage, open_storage
from airflow_hudi.core.terms import (
    Record,
    TermsFolder,
    check_metadata_table,
    record_of,
    terms_of,
)
from airflow_hudi.core.verdicts import Evidence, load_evidence, settle
from airflow_hudi.core.versions import release
from airflow_hudi.hooks.driver_output import DriverOutput
from airflow_hudi.hooks.jobs import JobHandle, Sight, end_job, look
from airflow_hudi.hooks.processes import birth, end_session
from airflow_hudi.hooks.spark_submit import DetachedSparkSubmit
from airflow_hudi.spark.launch import driver_environment, plan_launch

log = logging.getLogger(__name__)

_LOG_FILE = "driver.log"
_PAUSE = 0.1
_LAST_WAIT = 2.0
# From the claim of an attempt to the record of its process; then its task must have died.
_LAUNCHING = timedelta(seconds=15)


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """A job of another task carries out what this one is to do."""

    handle: JobHandle


@dataclass(frozen=True, slots=True)
class JobRun:
    """What a task wants done, and where its job is recorded."""

    key: JobKey
    table: str
    work: Work
    script: str
    settings: HudiSettings
    spark_conf: Mapping[str, str] = field(default_factory=dict)
    patience: Patience = field(default_factory=Patience)
    conn_id: str = ""
    """The connection that the settings are from."""

    @property
    def control(self) -> Storage:
        """The control folder."""
        return open_storage(self.settings.control_uri)

    @property
    def folder(self) -> JobFolder:
        """The job's place in it."""
        return job_folder(self.control, self.key)

    def handle(self, files: AttemptFolder) -> JobHandle:
        """What a trigger needs to find the attempt again."""
        return JobHandle(self.settings.control_uri, self.key.folder, files.number)

    # --- begin ---------------------------------------------------------------------------------

    def begin(self) -> AttemptFolder | JobReport | Elsewhere:
        """Start a driver, or find the one that is at work, or the report that nobody has heard of.

        Whoever loses a race for an attempt looks again and finds the winner's. Where a job of
        another task is at the same plan, that one is to be waited for.
        """
        for settings in (self.spark_conf, self.work.options, _source_options(self.work)):
            refuse_secret_settings(settings)
        refuse_lock_options(self.work.options)
        while True:
            sight = self._look_at_latest()
            if sight is not None and _is_being_launched(sight.attempt):
                time.sleep(_PAUSE)
                continue
            move = next_move(None, None) if sight is None else next_move(sight.attempt, sight.life)
            if isinstance(move, Deliver):
                log.info("the job ended while nobody watched; returning its report")
                return self.conclude(self.folder.attempt(move.number))
            if isinstance(move, Attach):
                files = self.folder.attempt(move.attempt.number)
                if not move.attempt.is_cancelled:
                    log.info("attempt %s is running; watching it", files.number)
                    return files
                log.info("attempt %s was cancelled and is ending", files.number)
                end_job(files)
                time.sleep(_PAUSE)  # where only the driver itself can end, it takes until its beat
                continue
            begun = self._start(move)
            if begun is not None:
                return begun

    def _look_at_latest(self) -> Sight | None:
        number = self.folder.latest_number()
        return look(self.folder.attempt(number), self.patience) if number else None

    def _start(self, move: Start) -> AttemptFolder | JobReport | Elsewhere | None:
        """None: somebody else was faster, look again."""
        dead = move.supersedes
        if dead is not None and not self.folder.give_up(dead, host_id()):
            return None
        before = self._done_before(move)
        if before is not None:
            return before
        claims = self._claims()
        try:
            ahead = look_before(
                self.work,
                open_storage(self.table),
                release(self.settings.release),
                now=_now(),
                claims=claims,
            )
        except PlanClaimed as error:
            return self._elsewhere(error)
        if isinstance(ahead, NothingToDo):
            return self._report(move, Outcome.NOTHING_TO_DO, ahead.because, instant=ahead.instant)
        with self._on_common_terms(move.number):
            log.info("starting attempt %s, since %s: %s", move.number, move.because, ahead)
            return self._launch(move.number)

    def _claims(self) -> dict[InstantTime, Standing]:
        if not isinstance(self.work, ServiceWork):
            return {}
        witness = witness_of(self.settings.cluster_manager)
        return standings(self.control, self.table, TakeoverPolicy(), now=_now(), witness=witness)

    def _elsewhere(self, claimed: PlanClaimed) -> Elsewhere:
        """The job that is at the plan, to be waited for; one that has ended has left its claim, and
        how long that counts is in the error."""
        executor = claimed.claim.executor
        handle = JobHandle(self.settings.control_uri, executor.folder, executor.attempt)
        if look(handle.files, self.patience).has_ended:
            raise claimed
        log.info("%s is executed by %s; waiting for it", claimed.instant, executor)
        return Elsewhere(handle)

    def _on_common_terms(self, number: int) -> AbstractContextManager[None]:
        """Whoever writes or serves shares lock, heartbeat and metadata table with the others."""
        if isinstance(self.work, ReadWork):
            return nullcontext()
        terms = terms_of(self.work, self.settings.lock_for(self.table), self.table)
        with suppress(TableNotFound):
            check_metadata_table(terms, load_properties(open_storage(self.table)), self.table)
        now = _now()
        mine = record_of(self.key, number, self.conn_id, terms, now=now)
        return TermsFolder(self.control, self.table, self._is_running).declared(mine, now=now)

    def _is_running(self, recorded: Record) -> bool:
        """Whether a job runs or is about to; what cannot be told counts."""
        folder = JobFolder(self.control, recorded.folder)
        number = folder.latest_number()
        if number < recorded.attempt:
            return _now() - recorded.recorded_at < self.patience.launch
        try:
            sight = look(folder.attempt(number), self.patience)
        except InvalidInput:  # of another version, or damaged
            return True
        return not sight.has_ended or _is_being_launched(sight.attempt)

    def _done_before(self, move: Start) -> JobReport | None:
        """The work may be done although nobody could report it, or in an earlier run of the task.

        A compaction that was cleared looks at the table anew; only one that died unheard is asked.
        """
        if not isinstance(self.work, IngestWork) and move.supersedes is None:
            return None
        asked = move.number if move.supersedes is None else move.supersedes.number
        evidence = self._evidence(asked)
        if evidence is None:
            return None
        said = f"{evidence.instant} was made by this job"
        if move.is_again:
            return self._report(move, Outcome.NOTHING_TO_DO, f"{said} in an earlier run", evidence)
        return self._report(move, Outcome.DONE, said, evidence)

    def _launch(self, number: int) -> AttemptFolder | None:
        settings = self.settings
        launch = plan_launch(self.script, self.work, settings, self.spark_conf)
        arguments = JobArguments(settings.control_uri, self.key.folder, number)
        submit = DetachedSparkSubmit.of(
            launch,
            conn_id=settings.spark_conn_id,
            name=str(self.key),
            arguments=arguments.to_argv(),
        )
        environ = driver_environment(os.environ)
        files = self.folder.attempt(number)
        try:
            files.submit(self._spec(number))
        except ObjectExists:
            return None
        with ExitStack() as undo:
            undo.callback(self._abandon, files)
            output = self._output_file(files)
            pid = submit.start(launch.script, output, environ)
            undo.callback(end_session, pid, first=None, patience=0, last_wait=_LAST_WAIT)
            files.record_launch(
                Launched(host_id(), pid, str(output), submit.runs_elsewhere, born=birth(pid))
            )
            undo.pop_all()
        log.info("the driver is process %s, its output is in %s", pid, output)
        return files

    def _abandon(self, files: AttemptFolder) -> None:
        """No driver may run unrecorded, whatever came in between: a full disk, a timeout."""
        files.close(host_id())
        files.cancel()

    def _spec(self, number: int) -> JobSpec:
        return JobSpec(
            key=self.key,
            attempt=number,
            table=self.table,
            release=self.settings.release,
            work=self.work,
            lock=self.settings.lock_for(self.table),
            created_at=_now(),
            cluster_manager=self.settings.cluster_manager,
        )

    def _output_file(self, files: AttemptFolder) -> Path:
        """Beside the attempt's files where that is on this disk, else in a place of our own."""
        own = Path(tempfile.gettempdir(), f"airflow-hudi-{os.getuid()}")
        root = Path(files.storage.uri) if isinstance(files.storage, LocalStorage) else own
        folder = root / files.path
        folder.mkdir(parents=True, exist_ok=True)
        return folder / _LOG_FILE

    # --- end -----------------------------------------------------------------------------------

    def conclude(self, files: AttemptFolder) -> JobReport:
        """The settled report of an attempt that has ended; raises where the job failed."""
        sight = look(files, self.patience)
        if sight.attempt.report is None and not self.folder.give_up(sight.attempt, host_id()):
            sight = look(files, self.patience)  # it was not dead at all, and has said how it ended
        evidence = self._evidence(files.number)
        report = sight.attempt.report
        if report is None and evidence is None:
            raise self._driver_died(sight)
        files.deliver()  # before it is judged: a failure that was raised is a result, too
        if report is not None:
            return settle(report, self.work, evidence)
        said = f"{evidence.instant} is there" if evidence else ""
        return self._report(Start(files.number, ""), Outcome.DONE, said, evidence)

    def _evidence(self, attempt: int) -> Evidence | None:
        reports = self.folder.load_reports()
        table = open_storage(self.table)
        return load_evidence(table, self.work, str(self.key), reports, attempt=attempt)

    def _driver_died(self, sight: Sight) -> DriverDied:
        because = sight.life.because if isinstance(sight.life, Dead) else "it was given up"
        launched = sight.attempt.launched
        here = launched is not None and launched.host == host_id()
        output = DriverOutput(Path(launched.log)).last_lines() if launched and here else ""
        return DriverDied(str(self.key), because=because, output=output)

    def _report(
        self,
        move: Start,
        outcome: Outcome,
        summary: str,
        evidence: Evidence | None = None,
        *,
        instant: str | None = None,
    ) -> JobReport:
        """A report of what was found without a driver."""
        return JobReport(
            outcome=outcome,
            summary=summary,
            table=self.table,
            job=str(self.key),
            attempt=move.number,
            release=self.settings.release,
            instant=evidence.instant.requested_at if evidence else instant,
            rows=evidence.rows if evidence else None,
            plan=evidence.plan if evidence else None,
        )


def _is_being_launched(attempt: Attempt) -> bool:
    """Whether somebody has just claimed it and is about to start its driver."""
    is_bare = attempt.launched is None and attempt.seat is None and attempt.report is None
    return is_bare and abs(_now() - attempt.submitted_at) < _LAUNCHING


def _source_options(work: Work) -> Mapping[str, str]:
    source = work.source if isinstance(work, IngestWork) else None
    return source.options if isinstance(source, FileSource) else {}


def _now() -> datetime:
    return datetime.now(tz=timezone.utc)
