# SPDX-License-Identifier: Apache-2.0
"""Watching a DAG run in this process: people see its tasks and what they say, a file gets the rest.

Airflow is imported here, so this module must be imported after its environment has been set.
"""

from __future__ import annotations

import io
import logging
import re
import signal
import time
from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager, redirect_stdout
from typing import Any, NoReturn, TextIO

import structlog
from airflow.listeners import hookimpl
from airflow.sdk.listener import get_listener_manager

from airflow_hudi.cli.shared import duration
from airflow_hudi.core.jobs import JobReport, Outcome
from airflow_hudi.core.values import from_json
from demo.environment import short
from demo.story import DONE, FAILED, NOT_STARTED, NOTHING_TO_DO, SKIPPED, Told

_OURS = "airflow_hudi"
# Java's own lines, and what is said in other words a line above or below.
_UNSAID = re.compile(
    r"\d\d:\d\d:\d\d [A-Z]+ |Spark-Submit cmd: |the driver is process |Spark application |$"
)


class Show:
    """Lines for people, each as it comes."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._last = ""
        self.obvious = "\n"
        """What need not be repeated in each line."""

    def line(self, text: str = "") -> None:
        """One line."""
        self._out.write(f"{short(text)}\n")
        self._out.flush()
        self._last = text

    def said(self, text: str) -> None:
        """What a running task said; not twice in a row, for a driver and its task say the same."""
        line = f"      {text.replace(self.obvious, '')}"
        if not _UNSAID.match(text) and line != self._last:
            self.line(line)


class Watch:
    """Airflow tells it of each task; it remembers how they ended."""

    def __init__(self, show: Show) -> None:
        self._show = show
        self._told: dict[str, Told] = {}
        self._begun: dict[str, float] = {}
        self._running: Any = None
        self.is_stopped = False

    # --- what Airflow calls --------------------------------------------------------------------

    @hookimpl
    def on_task_instance_running(self, task_instance: Any) -> None:
        """A task starts, or comes back from its trigger."""
        if self.is_stopped:
            raise KeyboardInterrupt
        name = _name(task_instance)
        self._running = task_instance.task
        self._show.obvious = f"{task_instance.dag_id}/{task_instance.run_id}/"
        if name not in self._begun:
            self._begun[name] = time.monotonic()
            self._show.line(f"  … {name}")

    @hookimpl
    def on_task_instance_success(self, task_instance: Any) -> None:
        """A task ended well."""
        report = _report(task_instance)
        nothing = report is not None and report.outcome is Outcome.NOTHING_TO_DO
        self._tell(task_instance, NOTHING_TO_DO if nothing else DONE, report)

    @hookimpl
    def on_task_instance_skipped(self, task_instance: Any) -> None:
        """A task found nothing to do."""
        report = _report(task_instance)
        self._tell(task_instance, NOTHING_TO_DO if report else SKIPPED, report)

    @hookimpl
    def on_task_instance_failed(self, task_instance: Any, error: object) -> None:
        """A task failed; its error's own sentence is all that is needed."""
        sentence = str(error) or type(error).__name__
        self._tell(task_instance, FAILED, _report(task_instance), error=sentence)

    # --- what the demo calls -------------------------------------------------------------------

    def stop(self, *_: object) -> NoReturn:
        """On Ctrl-C: end the running task's driver, and let no other task start."""
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        self.is_stopped = True
        self._show.line("» stopping")
        if self._running is not None:
            self._running.on_kill()
        raise KeyboardInterrupt

    def told(self, dag_run: Any) -> Iterator[Told]:
        """How each task of a run ended, those last that never started."""
        yield from self._told.values()
        for instance in dag_run.get_task_instances():
            if _name(instance) not in self._told:
                skipped = instance.state == "skipped"
                yield Told(_name(instance), SKIPPED if skipped else NOT_STARTED)

    def _tell(
        self, task_instance: Any, outcome: str, report: JobReport | None, *, error: str = ""
    ) -> None:
        name = _name(task_instance)
        seconds = time.monotonic() - self._begun.get(name, time.monotonic())
        self._running = None
        self._told[name] = Told(name, outcome, seconds, report, error)
        mark = "✗" if outcome == FAILED else "✓"
        self._show.line(f"  {mark} {name}  {outcome} in {duration(seconds)}")


@contextmanager
def watched(show: Show, log: TextIO) -> Iterator[Watch]:
    """While in it, tasks and what our code and theirs say are shown; the rest goes to the log."""
    watch = Watch(show)
    get_listener_manager().add_listener(watch)  # type: ignore[no-untyped-call]
    _divert_logs(show, log)
    before = signal.signal(signal.SIGINT, watch.stop)
    try:
        with redirect_stdout(_Spoken(show)):
            yield watch
    finally:
        signal.signal(signal.SIGINT, before)


def _name(task_instance: Any) -> str:
    if task_instance.map_index < 0:
        return str(task_instance.task_id)
    return f"{task_instance.task_id} {task_instance.rendered_map_index or task_instance.map_index}"


def _report(task_instance: Any) -> JobReport | None:
    """What a job operator pushed; other tasks push none."""
    data = task_instance.xcom_pull(
        task_ids=task_instance.task_id, key="report", map_indexes=task_instance.map_index
    )
    return None if data is None else from_json(JobReport, data)


# --- what is said meanwhile ----------------------------------------------------------------------


def _divert_logs(show: Show, log: TextIO) -> None:
    """Lines of our own loggers to people, all others to the log, nothing to standard output."""
    *processors, render = structlog.get_config()["processors"]

    def divert(logger: Any, method: str, event: MutableMapping[str, Any]) -> NoReturn:
        if _OURS in str(event.get("logger", "")):
            show.said(str(event["event"]))
        log.write(f"{render(logger, method, event)}\n")
        raise structlog.DropEvent

    structlog.configure(processors=[*processors, divert])
    logging.getLogger(_OURS).addHandler(_Shown(show))


class _Shown(logging.Handler):
    """Lines of the standard library's loggers."""

    def __init__(self, show: Show) -> None:
        super().__init__(logging.INFO)
        self._show = show

    def emit(self, record: logging.LogRecord) -> None:
        """One line."""
        self._show.said(record.getMessage())


class _Spoken(io.TextIOBase):
    """What tasks print."""

    def __init__(self, show: Show) -> None:
        self._show = show
        self._rest = ""

    def write(self, text: str) -> int:
        """Whole lines are shown as they come."""
        *lines, self._rest = (self._rest + text).split("\n")
        for line in lines:
            self._show.said(line)
        return len(text)
