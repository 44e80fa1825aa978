# SPDX-License-Identifier: Apache-2.0
"""The driver's side of the job contract: take the seat, beat, work, report, end with a meaning.

::

    spark-submit … spark_jobs/ingestion.py --control URI --job FOLDER --attempt N

A script of ``spark_jobs/`` is a call of :func:`main` with the function that does the work. Whatever
happens in there, a report is written, and the exit code only repeats it: 0 done, 3 nothing to do,
4 not worth retrying, 1 failed.
"""

from __future__ import annotations

import os
import signal
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from functools import partial
from types import FrameType
from typing import TYPE_CHECKING, NoReturn

from airflow_hudi import __version__
from airflow_hudi.core.control import AttemptFolder, JobFolder
from airflow_hudi.core.errors import AirflowHudiError, StorageError
from airflow_hudi.core.hosts import host_id
from airflow_hudi.core.job_errors import JobCancelled, JobSuperseded
from airflow_hudi.core.jobs import (
    EXIT_NOT_WORTH_RETRYING,
    PROGRESS,
    JobArguments,
    JobReport,
    JobSpec,
    Outcome,
    ReportedError,
)
from airflow_hudi.core.redaction import redacted
from airflow_hudi.core.storage import Storage, open_storage
from airflow_hudi.spark.beating import Beating

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from airflow_hudi.spark.engine.protocol import Engine

_PAUSES = (1, 5, 15, 30)


@dataclass(frozen=True, slots=True)
class Job:
    """What the function that does the work is given."""

    spec: JobSpec
    spark: SparkSession
    engine: Engine
    beating: Beating
    control: Storage
    """The control folder."""

    def say(self, line: str) -> None:
        """One line of progress, for the task's log and for whoever looks at the heartbeat."""
        say(line)
        self.beating.progress = line

    def check_seat(self) -> None:
        """Raise unless this driver may still act for its job; asked right before a commit."""
        self.beating.check()

    def done(self, summary: str, **facts: object) -> JobReport:
        """A report of work that was done."""
        return _report(self.spec, Outcome.DONE, summary, **facts)

    def nothing_to_do(self, because: str, **facts: object) -> JobReport:
        """A report that there was nothing to do."""
        return _report(self.spec, Outcome.NOTHING_TO_DO, because, **facts)


Run = Callable[[Job], JobReport]


def main(run: Run, argv: Sequence[str] | None = None) -> NoReturn:
    """Run one attempt at a job and end the process."""
    arguments = sys.argv[1:] if argv is None else list(argv)
    if arguments in (["-h"], ["--help"]):
        say(__doc__ or "")
        sys.exit(0)
    try:
        code = run_attempt(JobArguments.from_argv(arguments), run).exit_code
        _stop_spark()
    except AirflowHudiError as error:
        say(f"failed: {redacted(str(error))}")
        code = EXIT_NOT_WORTH_RETRYING
    sys.stdout.flush()
    sys.exit(code)


def say(line: str) -> None:
    """One line of progress on standard output."""
    sys.stdout.write(f"{PROGRESS}{line}\n")
    sys.stdout.flush()


def run_attempt(arguments: JobArguments, run: Run) -> JobReport:
    """Take the seat of an attempt, work, and leave a report; the process goes on."""
    folder = JobFolder(open_storage(arguments.control), arguments.folder).attempt(arguments.attempt)
    if not folder.take_seat(host_id(), os.getpid()):
        raise JobSuperseded(arguments.folder, because="this attempt has a driver, or was given up")
    started_at = _now()
    beating = Beating(folder)
    before = signal.signal(signal.SIGTERM, partial(_end_here, beating))
    report = replace(
        _attempt(arguments, folder, beating, run),
        started_at=started_at,
        ended_at=_now(),
        application_id=beating.application_id,
        tracking_url=beating.tracking_url,
    )
    _leave(folder, report)
    beating.stop()
    say(f"{report.outcome.value.replace('_', ' ')}: {report.summary}")
    signal.signal(signal.SIGTERM, before)
    return report


def _leave(folder: AttemptFolder, report: JobReport) -> None:
    """Write the report, also where the storage is away for a while: it is all that Airflow sees."""
    for pause in (*_PAUSES, None):
        try:
            folder.write_report(report)
        except StorageError as error:  # noqa: PERF203 - a few tries
            if pause is None:
                raise
            say(f"the report could not be written, trying again in {pause} s: {error}")
            time.sleep(pause)
        else:
            return


def _attempt(
    arguments: JobArguments, folder: AttemptFolder, beating: Beating, run: Run
) -> JobReport:
    """The report, whatever happens; once there is something to report, no signal interrupts."""
    spec: JobSpec | None = None
    try:
        try:
            spec = folder.load_spec()
            beating.start(spec.beat_seconds)
            return run(_begin(spec, beating, folder.storage))
        finally:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
    except BaseException as error:  # noqa: BLE001 - the report is all that Airflow sees in cluster mode
        # Again: a second signal (we send one to ourselves) may have interrupted the line above.
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        if beating.is_told_to_stop and not isinstance(error, JobSuperseded):
            error = JobCancelled(arguments.folder)
        return _failed(spec, arguments, error)


def _begin(spec: JobSpec, beating: Beating, control: Storage) -> Job:
    from pyspark.sql import SparkSession  # noqa: PLC0415 - after the spec was found good

    from airflow_hudi.spark.engine.adapters import engine_of  # noqa: PLC0415

    say(f"starting Spark for {spec.key} (attempt {spec.attempt}) with Hudi {spec.release}")
    spark = SparkSession.builder.getOrCreate()
    context = spark.sparkContext
    beating.announce(context.applicationId, context.uiWebUrl)
    beating.on_stop = context.cancelAllJobs
    say(f"Spark {spark.version} is up as {context.applicationId}")
    return Job(spec, spark, engine_of(spark, spec.release), beating, control)


def _failed(spec: JobSpec | None, arguments: JobArguments, error: BaseException) -> JobReport:
    from airflow_hudi.spark.failures import explained  # noqa: PLC0415 - knows Java's exceptions

    said = explained(error)
    if not isinstance(error, (AirflowHudiError, KeyboardInterrupt)):
        sys.stderr.write(redacted("".join(traceback.format_exception(error))))
        sys.stderr.flush()
    reported = ReportedError(said.kind, redacted(said.message), retryable=said.retryable)
    if spec is not None:
        return _report(spec, Outcome.FAILED, reported.message, error=reported)
    return JobReport(
        outcome=Outcome.FAILED,
        summary=reported.message,
        table="",
        job=arguments.folder,
        attempt=arguments.attempt,
        release="",
        error=reported,
    )


def _report(spec: JobSpec, outcome: Outcome, summary: str, **facts: object) -> JobReport:
    report = JobReport(
        outcome=outcome,
        summary=summary,
        table=spec.table,
        job=str(spec.key),
        attempt=spec.attempt,
        release=spec.release,
        package=__version__,
    )
    return replace(report, **facts)  # type: ignore[arg-type]


def _end_here(beating: Beating, _: int, __: FrameType | None) -> NoReturn:
    # Noted, for py4j turns whatever is raised while it waits for Java into an error of its own.
    beating.is_told_to_stop = True
    raise JobCancelled("this job")


def _stop_spark() -> None:
    from pyspark import SparkContext  # noqa: PLC0415 - it may never have been started

    context = SparkContext._active_spark_context  # noqa: SLF001 - asking must not start one
    if context is not None:
        context.stop()


def _now() -> datetime:
    return datetime.now(tz=timezone.utc)
