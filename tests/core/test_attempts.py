# SPDX-License-Identifier: Apache-2.0
"""Is the driver alive, and what has a task to do about the job it had before: two tables."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

import pytest

from airflow_hudi.core.attempts import (
    Alive,
    Attach,
    Attempt,
    Beat,
    Dead,
    Deliver,
    Launched,
    Life,
    Move,
    Patience,
    Seat,
    Start,
    judge_life,
    next_move,
)
from airflow_hudi.core.jobs import Outcome
from tests.builders import EPOCH
from tests.jobs import a_failure, a_report, an_attempt

HERE = Launched("here", 7, "/tmp/log")
CLUSTER = Launched("here", 7, "/tmp/log", runs_elsewhere=True)
YES, NO, UNKNOWN = True, False, None
TAKEN = Seat("here", 8)
CLOSED = Seat("here", None)
NEVER_STARTED = Dead("it was given up before its driver started")
NEVER_LAUNCHED = Dead("its task ended before a driver was launched")
GONE = Dead("its process is gone")


@dataclass(frozen=True)
class Case:
    """One row: what is known of an attempt, its host's word, minutes of silence, the verdict."""

    why: str
    attempt: Attempt
    lives: bool | None
    minutes: float
    says: Life


LIVES = [
    Case("a claim without a process is nobody's", an_attempt(), UNKNOWN, 0, NEVER_LAUNCHED),
    Case("launched here and there", an_attempt(launched=HERE), YES, 99, Alive()),
    Case("launched here and gone", an_attempt(launched=HERE), NO, 0, GONE),
    Case("launched elsewhere, not yet seated", an_attempt(launched=HERE), UNKNOWN, 9, Alive()),
    Case(
        "launched elsewhere, never seated",
        an_attempt(launched=HERE),
        UNKNOWN,
        11,
        Dead("it has been silent for 11 min"),
    ),
    Case("at work here", an_attempt(launched=HERE, seat=TAKEN), YES, 99, Alive()),
    Case("killed here", an_attempt(launched=HERE, seat=TAKEN), NO, 0, GONE),
    Case("at work elsewhere", an_attempt(launched=HERE, seat=TAKEN), UNKNOWN, 2, Alive()),
    Case(
        "silent elsewhere",
        an_attempt(launched=HERE, seat=TAKEN),
        UNKNOWN,
        3,
        Dead("it has been silent for 3 min"),
    ),
    Case(
        "seated, and its task died before it said so", an_attempt(seat=TAKEN), UNKNOWN, 1, Alive()
    ),
    Case(
        "seated unrecorded, and silent",
        an_attempt(seat=TAKEN),
        UNKNOWN,
        3,
        Dead("it has been silent for 3 min"),
    ),
    Case(
        "the submitting process waits for the cluster",
        an_attempt(launched=CLUSTER, seat=TAKEN),
        YES,
        99,
        Alive(),
    ),
    Case(
        "the submitting process has ended, the driver beats",
        an_attempt(launched=CLUSTER, seat=TAKEN),
        NO,
        1,
        Alive(),
    ),
    Case("waiting in the cluster's queue", an_attempt(launched=CLUSTER), NO, 9, Alive()),
    Case(
        "the cluster never started it",
        an_attempt(launched=CLUSTER),
        NO,
        11,
        Dead("it has been silent for 11 min"),
    ),
    Case("given up", an_attempt(seat=CLOSED), UNKNOWN, 0, NEVER_STARTED),
    Case(
        "given up, its process lingers",
        an_attempt(launched=HERE, seat=CLOSED),
        YES,
        0,
        NEVER_STARTED,
    ),
    Case("a clock that is behind", an_attempt(launched=HERE, seat=TAKEN), UNKNOWN, -60, Alive()),
]


@pytest.mark.parametrize("row", LIVES, ids=lambda row: row.why)
def test_a_driver_is_dead_only_on_good_grounds(row: Case) -> None:
    now = EPOCH + timedelta(minutes=row.minutes)
    assert (
        judge_life(row.attempt, process_lives=row.lives, now=now, patience=Patience()) == row.says
    )


def test_silence_counts_from_the_last_sign_of_life() -> None:
    attempt = an_attempt(
        launched=HERE, seat=TAKEN, beat=Beat(9), last_sign_at=EPOCH + timedelta(hours=1)
    )
    for minutes, is_alive in ((61, True), (62, True), (63, False)):
        now = EPOCH + timedelta(minutes=minutes)
        life = judge_life(attempt, process_lives=None, now=now, patience=Patience())
        assert isinstance(life, Alive) == is_alive


@dataclass(frozen=True)
class Begin:
    """One row: the newest attempt, its life, and what a task that starts has to do."""

    why: str
    attempt: Attempt | None
    life: Life | None
    move: Move


RUNNING = an_attempt(2, launched=HERE, seat=TAKEN)
DONE = a_report(number=2)
NOTHING = a_report(Outcome.NOTHING_TO_DO, 2)
WORTH_IT = a_failure(2, retryable=True)
HOPELESS = a_failure(2)
RETURNED = "attempt 2 ended and its result was returned before"
STOPPED = "attempt 2 was told to stop, and did"

BEGINNINGS = [
    Begin("there was none", None, None, Start(1, "it is the first attempt")),
    Begin("a driver is at work", RUNNING, Alive(), Attach(RUNNING)),
    Begin(
        "its driver is dead",
        RUNNING,
        GONE,
        Start(3, "attempt 2 ended without a report: its process is gone", supersedes=RUNNING),
    ),
    Begin("done and unheard of", an_attempt(2, report=DONE), None, Deliver(DONE, 2)),
    Begin(
        "done, reported while it was looked for", an_attempt(2, report=DONE), GONE, Deliver(DONE, 2)
    ),
    Begin("nothing to do and unheard of", an_attempt(2, report=NOTHING), None, Deliver(NOTHING, 2)),
    Begin(
        "done, and asked too late to stop",
        an_attempt(2, report=DONE, is_cancelled=True),
        None,
        Deliver(DONE, 2),
    ),
    Begin(
        "a hopeless failure, unheard of", an_attempt(2, report=HOPELESS), None, Deliver(HOPELESS, 2)
    ),
    Begin(
        "a failure worth a retry",
        an_attempt(2, report=WORTH_IT),
        None,
        Start(3, "attempt 2 failed while nobody watched"),
    ),
    Begin(
        "stopped by a clear: the cleared task must run, not fail",
        an_attempt(2, report=HOPELESS, is_cancelled=True),
        None,
        Start(3, STOPPED),
    ),
    Begin(
        "cleared after its success",
        an_attempt(2, report=DONE, is_delivered=True),
        None,
        Start(3, RETURNED, is_again=True),
    ),
    Begin(
        "retried after its failure, which is no second run of a success",
        an_attempt(2, report=WORTH_IT, is_delivered=True),
        None,
        Start(3, RETURNED),
    ),
]


@pytest.mark.parametrize("row", BEGINNINGS, ids=lambda row: row.why)
def test_what_a_task_does_first(row: Begin) -> None:
    assert next_move(row.attempt, row.life) == row.move


def test_a_closed_seat_is_no_drivers() -> None:
    assert an_attempt(seat=TAKEN).is_seated
    assert not an_attempt(seat=CLOSED).is_seated
    assert not an_attempt().is_seated
