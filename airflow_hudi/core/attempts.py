# SPDX-License-Identifier: Apache-2.0
"""Retry, clear and crash: what a task that starts has to do about the job it may have had before.

A job (:class:`JobKey`) has attempts, numbered from 1; each has one driver at most. What is known of
an attempt is a handful of files, each written once, in the control folder:

===============  ==========  ======================================================================
File             Written by  Says
===============  ==========  ======================================================================
``spec``         operator    what is to be done; whoever creates it may launch this attempt
``launched``     operator    the process that was started, and on which host
``seat``         driver      "I am the driver"; or the operator: "nobody may be, any more"
``beat``         driver      proof of life, replaced every few seconds
``cancel``       anybody     the driver is to stop
``report``       driver      how it ended
``delivered``    operator    the report has become the task's result
===============  ==========  ======================================================================

The *seat* is what makes two drivers impossible: it can be taken once. A task that must give up on a
driver which has not started yet takes the seat itself; the driver, should it start after all, finds
it taken and ends without having touched anything.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TypeAlias

from airflow_hudi.core.jobs import JobReport, Outcome


@dataclass(frozen=True, slots=True)
class Launched:
    """The process that was started for an attempt."""

    host: str
    """Which machine, boot and process space: a pid means nothing elsewhere."""
    pid: int
    """The leader of the process session that holds spark-submit, the JVM and the driver."""
    log: str
    """The file with its output, on that host."""
    runs_elsewhere: bool = False
    """Cluster mode: the process only submits, and its end says nothing about the driver."""
    born: float | None = None
    """When that process began, by its host's clock: a restarted container counts pids anew."""


@dataclass(frozen=True, slots=True)
class Seat:
    """Who holds an attempt's one seat: its driver, or nobody for ever."""

    host: str
    pid: int | None
    """None: an operator closed the attempt before a driver took the seat."""

    @property
    def is_closed(self) -> bool:
        """Whether no driver will ever run this attempt."""
        return self.pid is None


@dataclass(frozen=True, slots=True)
class Beat:
    """A driver's sign of life, and what it is doing."""

    number: int
    progress: str = ""
    application_id: str | None = None
    tracking_url: str | None = None


@dataclass(frozen=True, slots=True)
class Attempt:
    """Everything the control folder knows about one attempt."""

    number: int
    submitted_at: datetime
    launched: Launched | None = None
    seat: Seat | None = None
    beat: Beat | None = None
    last_sign_at: datetime | None = None
    """By the storage's clock: the newest of submission, launch, seat and beat."""
    report: JobReport | None = None
    is_cancelled: bool = False
    is_delivered: bool = False

    @property
    def is_seated(self) -> bool:
        """Whether its driver has really started."""
        return self.seat is not None and not self.seat.is_closed


@dataclass(frozen=True, slots=True)
class Patience:
    """How long silence may last before a driver that cannot be asked counts as dead."""

    silence: timedelta = timedelta(minutes=2)
    """Of a driver that took its seat; it beats every few seconds."""
    launch: timedelta = timedelta(minutes=10)
    """Of one that did not: it may be waiting in a cluster's queue."""


@dataclass(frozen=True, slots=True)
class Alive:
    """The driver lives, or must be taken to."""


@dataclass(frozen=True, slots=True)
class Dead:
    """The driver is gone, or will never be."""

    because: str


Life: TypeAlias = Alive | Dead


def judge_life(
    attempt: Attempt, *, process_lives: bool | None, now: datetime, patience: Patience
) -> Life:
    """Whether an attempt without a report still has a driver.

    :param process_lives: the word of the host it was launched on, None where that is another host
    """
    if attempt.seat is not None and attempt.seat.is_closed:
        return Dead("it was given up before its driver started")
    if attempt.launched is not None and process_lives is not None:
        if process_lives:
            return Alive()
        if not attempt.launched.runs_elsewhere:
            return Dead("its process is gone")
    if attempt.launched is None and not attempt.is_seated:
        return Dead("its task ended before a driver was launched")
    silent = now - (attempt.last_sign_at or attempt.submitted_at)
    if silent <= (patience.silence if attempt.is_seated else patience.launch):
        return Alive()
    return Dead(f"it has been silent for {silent.total_seconds() / 60:.0f} min")


@dataclass(frozen=True, slots=True)
class Start:
    """Begin the attempt of this number."""

    number: int
    because: str
    supersedes: Attempt | None = None
    """A dead attempt that must be closed and told to stop first, in case it is not dead at all."""
    is_again: bool = False
    """Whether the job's success was returned before: its task was cleared after it had ended."""


@dataclass(frozen=True, slots=True)
class Attach:
    """A driver is at work: watch it."""

    attempt: Attempt


@dataclass(frozen=True, slots=True)
class Deliver:
    """The job has ended and nobody has heard of it: return its report."""

    report: JobReport
    number: int


Move: TypeAlias = Start | Attach | Deliver


def next_move(attempt: Attempt | None, life: Life | None) -> Move:
    """What a task that starts has to do, given the job's newest attempt.

    :param life: what :func:`judge_life` says, for an attempt without a report
    """
    if attempt is None:
        return Start(1, "it is the first attempt")
    after = attempt.number + 1
    report = attempt.report
    if report is None:
        if isinstance(life, Dead):
            because = f"attempt {attempt.number} ended without a report: {life.because}"
            return Start(after, because, supersedes=attempt)
        return Attach(attempt)
    has_failed = report.outcome is Outcome.FAILED
    if attempt.is_delivered:
        because = f"attempt {attempt.number} ended and its result was returned before"
        return Start(after, because, is_again=not has_failed)
    if has_failed and attempt.is_cancelled:
        return Start(after, f"attempt {attempt.number} was told to stop, and did")
    if has_failed and report.is_retryable:
        return Start(after, f"attempt {attempt.number} failed while nobody watched")
    return Deliver(report, attempt.number)
