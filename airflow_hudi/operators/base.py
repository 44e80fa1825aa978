# SPDX-License-Identifier: Apache-2.0
"""What all operators that start a Spark job have in common; the only place where errors of ours
become Airflow's.

How one task runs: look at the table without a JVM → find the job's record in the control folder →
start a driver, or attach to the one at work, or take the report nobody has heard of → watch report
and heartbeat → decide from the report *and* the table's timeline.
"""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from airflow.providers.common.compat.sdk import (
    AirflowFailException,
    AirflowSkipException,
    AirflowTaskTimeout,
    BaseOperator,
    conf,
)

from airflow_hudi.core.attempts import Attempt, Beat, Patience
from airflow_hudi.core.claims import PlanClaimed
from airflow_hudi.core.control import AttemptFolder
from airflow_hudi.core.errors import AirflowHudiError
from airflow_hudi.core.hosts import host_id
from airflow_hudi.core.job_errors import InvalidWork, JobCancelled, JobFailed
from airflow_hudi.core.jobs import NOT_MAPPED, JobKey, JobReport, Outcome, Work
from airflow_hudi.core.services.choice import PlanInUse
from airflow_hudi.core.storage import LocalStorage
from airflow_hudi.core.values import to_json
from airflow_hudi.hooks.driver_output import DriverOutput
from airflow_hudi.hooks.hudi import HudiHook
from airflow_hudi.hooks.jobs import JobHandle, Sight, Watcher, end_job, look
from airflow_hudi.hooks.processes import end_session, process_lives
from airflow_hudi.hooks.runs import Elsewhere, JobRun
from airflow_hudi.links.spark import HudiSparkLink
from airflow_hudi.links.table import HudiTableLink, table_page
from airflow_hudi.operators.asset_events import announce
from airflow_hudi.operators.rendered import texts
from airflow_hudi.triggers.job import TIMED_OUT, HudiJobTrigger

if TYPE_CHECKING:
    from airflow.sdk import Context

SKIP = "skip"
SUCCEED = "succeed"

_POLL_LOCAL = 0.5
_POLL_REMOTE = 5.0
_LAST_OUTPUT = 15.0
_LAST_WAIT = 2.0
_OVERTAKEN = (PlanClaimed.__name__, PlanInUse.__name__)


class HudiJobOperator(BaseOperator):
    """Runs one Spark job on one Hudi table, once, whatever happens to the task.

    :param table: a name below the connection's warehouse, an absolute path, or a URI
    :param hudi_conn_id: the connection, of type ``hudi``
    :param spark_conf: Spark settings for this job, laid over the ones it needs; no secrets
    :param options: Hudi settings for this job (``hoodie.…``); no secrets
    :param when_nothing_to_do: ``skip`` the task (and what depends on it), or let it ``succeed``
    :param deferrable: wait in the triggerer instead of on a worker
    :param poll_interval: seconds between two looks; None: half a second where the control folder is
        on this machine's disk, else five
    """

    template_fields: Sequence[str] = ("table", "hudi_conn_id", "spark_conf", "options")
    template_fields_renderers: ClassVar[dict[str, str]] = {"spark_conf": "json", "options": "json"}
    operator_extra_links = (HudiTableLink(), HudiSparkLink())
    ui_color = "#e3f1fb"

    script: ClassVar[str]
    """The name of the job's script in ``spark_jobs``."""

    def __init__(  # noqa: PLR0913 - all by name
        self,
        *,
        table: str,
        hudi_conn_id: str = HudiHook.default_conn_name,
        spark_conf: Mapping[str, str] | None = None,
        options: Mapping[str, str] | None = None,
        when_nothing_to_do: str = SKIP,
        deferrable: bool = conf.getboolean("operators", "default_deferrable", fallback=False),
        poll_interval: float | None = None,
        # By name, not in kwargs: that is where Airflow looks for a mapped operator's default.
        map_index_template: str | None = "{{ task.table }}",
        **kwargs: Any,
    ) -> None:
        super().__init__(map_index_template=map_index_template, **kwargs)
        self.table = table
        self.hudi_conn_id = hudi_conn_id
        self.spark_conf = spark_conf or {}
        self.options = options or {}
        self.when_nothing_to_do = when_nothing_to_do
        self.deferrable = deferrable
        self.poll_interval = poll_interval
        self._running: AttemptFolder | None = None
        self._shown: str | None = None
        self._is_killed = False
        self._was_overtaken = False
        if when_nothing_to_do not in (SKIP, SUCCEED):
            cure = f"choose {SKIP!r} or {SUCCEED!r}"
            raise InvalidWork(f"when_nothing_to_do is {when_nothing_to_do!r}", cure=cure)

    @abstractmethod
    def work(self) -> Work:
        """What the job is to do; called when templates are rendered, raises on bad input."""

    def plain_options(self) -> dict[str, str]:
        """Hudi's settings as rendered, as the strings Hudi takes."""
        return texts("options", self.options)

    def execute(self, context: Context) -> Any:
        """Run the job, or find out that it has been run."""
        with _errors_as_airflow_knows_them():
            run = self._run_of(context)
            self._push(context, HudiTableLink().xcom_key, table_page(self.hudi_conn_id, self.table))
            while True:
                begun = run.begin()
                if isinstance(begun, JobReport):
                    return self._finish(context, begun)
                if isinstance(begun, Elsewhere):
                    self._wait_for(begun)
                    continue
                self._running = begun
                if self.deferrable:
                    self._check_not_killed(begun)
                    self._defer(run, begun)
                sight = self._watch(context, begun)
                if sight.was_cancelled:
                    self.log.info("the driver was ended by an earlier run of this task, so again")
                    continue
                with self._look_again_if_overtaken():
                    return self._finish(context, run.conclude(begun))

    def execute_complete(self, context: Context, event: Mapping[str, Any]) -> Any:
        """Back from the triggerer: show what the driver said, and decide."""
        with _errors_as_airflow_knows_them():
            is_own, is_late = event.get("is_own", True), event["event"] == TIMED_OUT
            if not is_own and not is_late:
                return self.execute(context)
            run = self._run_of(context)
            files = run.folder.attempt(event["attempt"])
            if is_late:
                if is_own:
                    end_job(files)
                raise AirflowTaskTimeout(f"{run.key} was ended: {event['because']}")
            sight = look(files, run.patience)
            self._await_exit(sight, self._output_of(sight.attempt))
            if not sight.was_cancelled:
                with self._look_again_if_overtaken():
                    return self._finish(context, run.conclude(files))
            return self.execute(context)

    def on_kill(self) -> None:
        """End the driver: asked first, then made to; airflow gives us five seconds."""
        self._is_killed = True
        if self._running is not None:
            end_job(self._running)  # before anything is logged: we may be in the middle of a line
            self.log.info("the driver of %s was ended", self._running.path)

    # --- before --------------------------------------------------------------------------------

    def _run_of(self, context: Context) -> JobRun:
        hook = HudiHook(self.hudi_conn_id)
        return JobRun(
            key=_key_of(context),
            table=hook.table_uri(self.table),
            work=self.work(),
            script=self.script,
            settings=hook.settings,
            spark_conf=texts("spark_conf", self.spark_conf),
            conn_id=self.hudi_conn_id,
        )

    @contextmanager
    def _look_again_if_overtaken(self) -> Iterator[None]:
        """Two tasks may start drivers for one plan at the same moment; the slower one then waits
        for the other's job, as it would have if it had come a little later."""
        try:
            yield
        except JobFailed as error:
            if error.kind not in _OVERTAKEN or self._was_overtaken:
                raise
            self._was_overtaken = True
            self.log.info("%s", error)

    def _wait_for(self, elsewhere: Elsewhere) -> None:
        """Until the job of another task has ended; it is not ours to end."""
        files = elsewhere.handle.files
        if self.deferrable:
            self._defer_on(elsewhere.handle, files, is_own=False)
        watcher, output = Watcher(files, Patience()), None
        while not self._is_killed:
            sight = watcher.look()
            if sight is not None:
                output = output or self._output_of(sight.attempt)
                self._show_output(output)
                if sight.has_ended:
                    return
            self._sleep(self._pause(files))
        raise JobCancelled("the wait for it")

    def _defer(self, run: JobRun, files: AttemptFolder) -> None:
        self._defer_on(run.handle(files), files, is_own=True)

    def _defer_on(self, handle: JobHandle, files: AttemptFolder, *, is_own: bool) -> None:
        deadline = None
        if self.execution_timeout is not None:
            deadline = (datetime.now(tz=timezone.utc) + self.execution_timeout).isoformat()
        trigger = HudiJobTrigger(
            **handle.serialize(),
            poll_interval=self._pause(files),
            deadline=deadline,
            is_own=is_own,
        )
        self.defer(trigger=trigger, method_name="execute_complete")

    # --- meanwhile -----------------------------------------------------------------------------

    def _check_not_killed(self, files: AttemptFolder) -> None:
        """Airflow calls :meth:`on_kill` in the middle of whatever we do, and then we go on: a
        driver that was being started just then must not be left behind."""
        if self._is_killed:
            end_job(files)
            raise JobCancelled(files.path)

    def _watch(self, context: Context, files: AttemptFolder) -> Sight:
        """Until the driver has reported or is dead; its output goes into this task's log."""
        output: DriverOutput | None = None
        watcher = Watcher(files, Patience())
        while True:
            sight = watcher.look()
            self._check_not_killed(files)
            if sight is not None:
                output = output or self._output_of(sight.attempt)
                self._show_output(output)
                self._show_application(context, sight.attempt.beat)
                if sight.has_ended:
                    self._await_exit(sight, output)
                    return sight
            self._sleep(self._pause(files))

    def _sleep(self, seconds: float) -> None:
        """In short naps: Python goes on sleeping when a signal's handler has returned."""
        until = time.monotonic() + seconds
        while not self._is_killed and (left := until - time.monotonic()) > 0:
            time.sleep(min(left, _POLL_LOCAL))

    def _await_exit(self, sight: Sight, output: DriverOutput | None) -> None:
        """The JVM takes a moment to go once the report is written; its last words belong here."""
        until = time.monotonic() + _LAST_OUTPUT
        launched = sight.attempt.launched
        while process_lives(launched) and time.monotonic() < until and not self._is_killed:
            time.sleep(0.05)
        self._show_output(output)
        if launched is not None and process_lives(launched):
            self.log.warning("the driver does not end by itself; ending process %s", launched.pid)
            end_session(launched.pid, first=None, patience=0, last_wait=_LAST_WAIT)

    def _pause(self, files: AttemptFolder) -> float:
        if self.poll_interval is not None:
            return self.poll_interval
        return _POLL_LOCAL if isinstance(files.storage, LocalStorage) else _POLL_REMOTE

    def _output_of(self, attempt: Attempt) -> DriverOutput | None:
        launched = attempt.launched
        if launched is None or launched.host != host_id():
            return None
        return DriverOutput(Path(launched.log))

    def _show_output(self, output: DriverOutput | None) -> None:
        for line in output.new_lines() if output is not None else ():
            self.log.info("%s", line)

    def _show_application(self, context: Context, said_by: Beat | JobReport | None) -> None:
        """Once per application; a short job may only name it in its report."""
        if said_by is None or said_by.application_id in (None, self._shown):
            return
        self._shown = said_by.application_id
        self._push(context, "application_id", said_by.application_id)
        if said_by.tracking_url:
            self._push(context, "tracking_url", said_by.tracking_url)
            self._push(context, HudiSparkLink().xcom_key, said_by.tracking_url)
        where = said_by.tracking_url or "no web page"
        self.log.info("Spark application %s (%s)", said_by.application_id, where)

    # --- after ---------------------------------------------------------------------------------

    def _finish(self, context: Context, report: JobReport) -> Any:
        self._show_application(context, report)
        for note in report.notes:
            self.log.warning("%s", note)
        data = to_json(report)
        self._push(context, "report", data)
        if report.outcome is Outcome.NOTHING_TO_DO:
            said = f"nothing to do: {report.summary}"
            if self.when_nothing_to_do == SKIP:
                raise AirflowSkipException(said)
            self.log.info("%s", said)
            return data
        if self._running is None:  # no driver has said it
            self.log.info("done: %s", report.summary)
        elif report.instant is not None:
            self.log.info("the table's timeline confirms it: %s", report.instant)
        announce(context, report)
        return data

    def nothing_to_do(self, context: Context, because: str) -> Any:
        """End without having looked at the table, as where a look has found nothing to do."""
        with _errors_as_airflow_knows_them():
            hook = HudiHook(self.hudi_conn_id)
            report = JobReport(
                outcome=Outcome.NOTHING_TO_DO,
                summary=because,
                table=hook.table_uri(self.table),
                job=str(_key_of(context)),
                attempt=0,
                release=hook.settings.release,
            )
            return self._finish(context, report)

    def _push(self, context: Context, key: str, value: Any) -> None:
        context["ti"].xcom_push(key=key, value=value)


def _key_of(context: Context) -> JobKey:
    ti = context["ti"]
    index = getattr(ti, "map_index", None)
    return JobKey(ti.dag_id, ti.run_id, ti.task_id, NOT_MAPPED if index is None else index)


@contextmanager
def _errors_as_airflow_knows_them() -> Iterator[None]:
    """What retrying cannot cure fails at once; the rest is raised as it is, and retried."""
    try:
        yield
    except AirflowHudiError as error:
        if error.retryable:
            raise
        raise AirflowFailException(str(error)) from error
