# SPDX-License-Identifier: Apache-2.0
"""Wait until a table has new commits, and hand on which."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta, timezone
from typing import Any, NoReturn

from airflow.providers.common.compat.sdk import (
    AirflowFailException,
    AirflowSensorTimeout,
    AirflowSkipException,
    BaseSensorOperator,
    Context,
    PokeReturnValue,
    conf,
)

from airflow_hudi.core.arrivals import Wait, parse_after
from airflow_hudi.core.errors import (
    AirflowHudiError,
    InvalidSetting,
    InvalidWait,
    TableUnreachable,
)
from airflow_hudi.core.instants import InstantTime, Zone
from airflow_hudi.core.values import from_json
from airflow_hudi.hooks.hudi import HudiHook
from airflow_hudi.links.table import HudiTableLink, table_page
from airflow_hudi.triggers.commit import HudiCommitTrigger
from airflow_hudi.triggers.watching import CommitWatch, Ending, MissingTable, Watched, WatchEnd

RUN_DUE = "{{ dag_run.run_after }}"
"""When the DAG run was due. Unlike its start it stays the same when a run is cleared."""

_GRACE = timedelta(minutes=5)  # the trigger ends by itself and says why; Airflow's limit is the net


class HudiCommitSensor(BaseSensorOperator):
    """Waits for new commits on a Hudi table, with one listing of its timeline per look.

    New is what became visible after ``after``. Commits of table services (compaction, log
    compaction, clustering) rewrite rows without changing them and do not count. A commit file that
    is damaged and has to be read (by partition; replace commits) does not count either, and the log
    says so.

    Returns ``{"table", "after", "newest", "commit_count", "commits", "defects"}``: ``newest`` is
    the instant to pass as the next ``after``, and each of ``commits`` (the last hundred) has
    ``requested_at``, ``completed_at`` and ``action``; where its file had to be read also
    ``operation``, ``partitions``, ``partition_count``, ``inserts``, ``updates`` and ``deletes``.

    :param table: the table's name below the connection's warehouse, or its path or URI (templated)
    :param hudi_conn_id: the Hudi connection (templated)
    :param after: an instant such as ``20260131093000123``, a time (UTC without an offset), or
        nothing, for which every commit is new (templated). The default is when the DAG run was due,
        so that retrying, rescheduling and clearing ask the same question again
    :param partitions: partitions as the table names them, or folders above some: a commit counts if
        it changed one of them (templated)
    :param every_partition: wait until each of the partitions has been changed
    :param min_commits: how many new commits to wait for
    :param missing_table: ``wait`` until there is a table, or ``fail``
    :param table_timezone: where the writers run, such as ``Europe/Berlin``, for tables that keep
        local time and are watched from elsewhere
    :param deferrable: wait in the triggerer, without holding a worker
    """

    template_fields: Sequence[str] = ("table", "hudi_conn_id", "after", "partitions")
    operator_extra_links = (HudiTableLink(),)
    ui_color = "#e3f1f8"

    def __init__(  # noqa: PLR0913 - an operator's arguments are what its users write
        self,
        *,
        table: str,
        hudi_conn_id: str = HudiHook.default_conn_name,
        after: str | datetime | None = RUN_DUE,
        partitions: Sequence[str] | str | None = None,
        every_partition: bool = False,
        min_commits: int = 1,
        missing_table: str = MissingTable.WAIT.value,
        table_timezone: str | None = None,
        deferrable: bool = conf.getboolean("operators", "default_deferrable", fallback=False),
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.table = table
        self.hudi_conn_id = hudi_conn_id
        self.after = after
        self.partitions = partitions
        self.every_partition = every_partition
        self.min_commits = Wait(min_commits=min_commits).min_commits
        self.missing_table = _missing_table(missing_table)
        self.table_timezone = Zone(table_timezone).name if table_timezone else None
        self.deferrable = deferrable
        self._watched: Watched | None = None
        self._watch: CommitWatch | None = None

    def execute(self, context: Context) -> Any:
        """Look, and wait here or in the triggerer."""
        page = table_page(self.hudi_conn_id, self.table)
        context["ti"].xcom_push(key=HudiTableLink().xcom_key, value=page)
        if not self.deferrable:
            return super().execute(context)
        found = self._first_look(context)
        if not found.is_done:
            self._wait_in_triggerer()
        return found.xcom_value

    def poke(self, context: Context) -> PokeReturnValue:
        """One look; what cannot be cured by looking again fails the task at once."""
        try:
            watched = self._look_at()
            self._watch = self._watch or CommitWatch(watched, self.log)
            arrivals = self._watch.look()
        except AirflowHudiError as error:
            if error.retryable:
                raise
            raise AirflowFailException(str(error)) from error
        self.log.info("%s: %d new commits", watched.uri, len(arrivals.commits))
        done = arrivals.satisfies(watched.wait)
        return PokeReturnValue(done, watched.result(arrivals) if done else None)

    def execute_complete(self, context: Context, event: dict[str, Any]) -> Any:
        """What the trigger found, as the task's result or its error."""
        end = from_json(WatchEnd, event)
        if end.ending is Ending.ARRIVED:
            return end.result
        if end.ending is Ending.TIMED_OUT:
            raise AirflowSensorTimeout(end.because)
        if end.retryable:
            raise TableUnreachable(self.table, end.because)
        raise AirflowFailException(end.because)

    def _first_look(self, context: Context) -> PokeReturnValue:
        try:
            return self.poke(context)
        except AirflowFailException as error:
            if self.soft_fail or self.never_fail:  # as the base class does when it waits here
                raise AirflowSkipException(str(error)) from error
            raise

    def _wait_in_triggerer(self) -> NoReturn:
        limit = timedelta(seconds=self.timeout)
        self.defer(
            trigger=HudiCommitTrigger.of(
                self._look_at(),
                poke_interval=self.poke_interval,
                deadline=datetime.now(tz=timezone.utc) + limit,
            ),
            method_name="execute_complete",
            timeout=limit + _GRACE,
        )

    def _look_at(self) -> Watched:
        # not in the constructor: arguments are rendered, and connections known, only now
        if self._watched is None:
            wait = Wait(
                _after(self.after),
                _partitions(self.partitions),
                self.every_partition,
                self.min_commits,
            )
            self._watched = Watched(
                HudiHook(self.hudi_conn_id).table_uri(self.table),
                wait,
                self.missing_table,
                Zone(self.table_timezone) if self.table_timezone else None,
            )
        return self._watched


def _missing_table(choice: str) -> MissingTable:
    try:
        return MissingTable(choice)
    except ValueError as error:
        raise InvalidSetting("missing_table", choice, allowed="'wait' or 'fail'") from error


def _after(value: object) -> InstantTime | datetime | None:
    if value is None:
        return None
    if isinstance(value, datetime):
        return value.replace(tzinfo=value.tzinfo or timezone.utc)
    return parse_after(str(value).strip())  # native rendering makes a number of an instant


def _partitions(value: object) -> tuple[str, ...] | None:
    if value is None:
        return None
    given = [value] if isinstance(value, str) else value
    if not isinstance(given, Sequence):
        raise InvalidWait(f"partitions must be texts, not {value!r:.100}")
    if not all(isinstance(partition, str) for partition in given):
        raise InvalidWait(f"partitions must be texts, not {value!r:.100}")
    return tuple(partition.strip("/") for partition in given)
