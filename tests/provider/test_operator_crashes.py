# SPDX-License-Identifier: Apache-2.0
"""Retry, clear, crash and kill with real processes: whatever happens, one driver does the work.

Tasks run in processes of their own and are killed at known points: drivers and tasks wait at gates
that the test opens.
"""

from __future__ import annotations

import dataclasses
import os
import subprocess
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from airflow_hudi.core.attempts import Launched
from airflow_hudi.core.control import AttemptFolder
from airflow_hudi.core.errors import StorageError
from airflow_hudi.core.hosts import host_id
from airflow_hudi.core.jobs import JobReport, JobSpec, Outcome, ReportedError
from airflow_hudi.core.locks import LockSettings
from airflow_hudi.core.reading import ReadWork
from airflow_hudi.hooks import jobs
from airflow_hudi.hooks.processes import birth, process_lives
from tests.provider.stand_in import (
    KEY,
    READ,
    FakeTask,
    Stage,
    TaskProcess,
    an_operator,
    until,
)
from tests.provider.stand_in_driver import Part

Start = Callable[..., TaskProcess]


def a_spec(stage: Stage) -> JobSpec:
    return JobSpec(
        key=KEY,
        attempt=1,
        table=str(stage.warehouse / "orders"),
        release="1.2.0",
        work=ReadWork(),
        lock=LockSettings(),
        created_at=datetime.now(tz=timezone.utc),
    )


def a_task_at_its_drivers_gate(stage: Stage, start_task: Start, **how: bool) -> TaskProcess:
    task = start_task(READ, table="orders", **how)
    until(lambda: stage.noted("at_go"), "a driver is at its gate")
    return task


# --- the task dies --------------------------------------------------------------------------------


def test_a_retry_attaches_to_the_driver_that_a_killed_task_left_behind(
    stage: Stage, start_task: Start
) -> None:
    stage.play(Part(waits=True))
    a_task_at_its_drivers_gate(stage, start_task).kill()
    assert stage.living()

    retry = start_task(READ, table="orders")
    until(lambda: "watching" in retry.log(), "the retry has found the driver")
    stage.open()

    assert retry.end()["returned"]["attempt"] == 1
    assert len(stage.noted("started")) == 1


def test_a_retry_returns_the_report_of_a_driver_that_ended_meanwhile(
    stage: Stage, start_task: Start
) -> None:
    stage.play(Part(waits=True, summary="all read"))
    a_task_at_its_drivers_gate(stage, start_task).kill()
    stage.open()
    until(lambda: not stage.living(), "the driver has ended")

    ended = start_task(READ, table="orders").end()

    assert ended["returned"]["summary"] == "all read"
    assert ended["pushed"]["application_id"]
    assert len(stage.noted("started")) == 1


def test_a_retry_begins_anew_where_the_driver_died_too(stage: Stage, start_task: Start) -> None:
    stage.play(Part(waits=True))
    a_task_at_its_drivers_gate(stage, start_task).kill()
    stage.clear()
    until(lambda: not stage.living(), "the driver is dead")
    stage.play(Part())

    ended = start_task(READ, table="orders").end()

    assert ended["returned"]["attempt"] == 2
    assert stage.attempt(1).load().is_cancelled


def test_a_driver_that_was_given_up_before_it_sat_down_touches_nothing(
    stage: Stage, start_task: Start
) -> None:
    stage.play(Part(sits_late=True))
    first = start_task(READ, table="orders")
    until(lambda: stage.noted("at_sit"), "a driver is about to sit down")
    first.kill()
    # Its task died before it could note the process; the driver itself is not known to anybody.
    attempt = stage.attempt()
    Path(attempt.storage.uri, attempt.path, "launched.json").unlink()
    long_ago = (datetime.now(tz=timezone.utc) - timedelta(minutes=1)).timestamp()
    os.utime(Path(attempt.storage.uri, attempt.path, "spec.json"), (long_ago, long_ago))
    stage.play(Part())

    ended = start_task(READ, table="orders").end()
    stage.open("sit")
    until(lambda: not stage.living(), "the late driver has ended")

    assert ended["returned"]["attempt"] == 2
    assert [driver["attempt"] for driver in stage.noted("worked")] == [2]
    assert attempt.load_report() is None


# --- the task is told to end ----------------------------------------------------------------------


def test_a_task_that_is_told_to_end_ends_its_driver_which_says_so(
    stage: Stage, start_task: Start
) -> None:
    stage.play(Part(waits=True))
    task = a_task_at_its_drivers_gate(stage, start_task)

    task.signal()
    ended = task.end()

    assert stage.living() == []
    report = stage.attempt().load_report()
    assert report is not None
    assert report.error is not None
    assert report.error.kind == "JobCancelled"
    assert ended["raised"] == "JobCancelled"
    assert "was cancelled" in ended["said"]


def test_a_driver_that_does_not_listen_is_ended_the_hard_way(
    stage: Stage, start_task: Start
) -> None:
    stage.play(Part(waits=True, is_deaf=True))
    task = a_task_at_its_drivers_gate(stage, start_task, is_hurried=True)

    task.signal()

    assert "was cancelled" in task.end()["said"]
    assert stage.living() == []
    assert stage.attempt().load_report() is None


def test_a_driver_is_made_to_end_before_the_supervisor_loses_its_patience() -> None:
    gently, hard = jobs._ASK_DRIVER + jobs._ASK_ALL, jobs._ASK_ALL
    assert gently + hard < 5.0


def test_a_driver_that_was_just_being_started_is_ended_as_well(
    stage: Stage, start_task: Start
) -> None:
    stage.play(Part(waits=True))
    stage.hold_launches()
    task = start_task(READ, table="orders")
    until(stage.held_launches, "the task is about to start its driver")

    task.signal()
    until(lambda: "told to end" in task.log(), "the task knows")
    stage.release_launches()

    assert "was cancelled" in task.end()["said"]
    assert stage.living() == []


def test_a_task_whose_time_is_up_ends_its_driver(stage: Stage) -> None:
    from airflow.providers.common.compat.sdk import AirflowTaskTimeout  # noqa: PLC0415 - slow

    def time_is_up(key: str) -> None:
        if key == "application_id":
            raise AirflowTaskTimeout("Timeout")

    stage.play(Part(waits=True))
    operator = an_operator(READ)
    with pytest.raises(AirflowTaskTimeout):
        operator.execute({"ti": FakeTask(task=operator, on_push=time_is_up)})
    assert stage.living()

    operator.on_kill()  # as Airflow does

    assert stage.living() == []


def test_a_driver_that_could_not_be_put_on_record_touches_nothing(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    from airflow.providers.common.compat.sdk import AirflowFailException  # noqa: PLC0415 - slow

    def full(*_: object) -> None:
        until(lambda: stage.noted("at_sit"), "the driver is about to sit down")
        raise StorageError("no space left on device")

    stage.play(Part(sits_late=True))
    operator = an_operator(READ)
    with monkeypatch.context() as patched:
        patched.setattr(AttemptFolder, "record_launch", full)
        with pytest.raises(AirflowFailException, match="no space left"):
            operator.execute({"ti": FakeTask(task=operator)})
    stage.open("sit")
    until(lambda: not stage.living(), "the driver found its seat taken")
    assert stage.noted("worked") == []

    stage.play(Part())
    assert operator.execute({"ti": FakeTask(task=operator)})["attempt"] == 2


def test_a_driver_that_has_not_sat_down_yet_is_ended_too(stage: Stage, start_task: Start) -> None:
    stage.play(Part(sits_late=True))
    task = start_task(READ, table="orders")
    until(lambda: stage.noted("at_sit"), "a driver is about to sit down")
    until(lambda: stage.attempt().load().launched, "it is on record")

    task.signal()

    assert "was cancelled" in task.end()["said"]
    assert stage.living() == []
    assert stage.noted("worked") == []


# --- two at once ----------------------------------------------------------------------------------


def test_of_two_tasks_that_begin_at_once_one_starts_the_driver_and_both_return_its_report(
    stage: Stage, start_task: Start
) -> None:
    stage.hold_launches()
    tasks = [start_task(READ, table="orders") for _ in range(2)]
    until(lambda: stage.held_launches() == 2, "both are about to claim attempt 1")
    stage.release_launches()

    ended = [task.end() for task in tasks]

    assert [one["returned"]["attempt"] for one in ended] == [1, 1]
    assert len(stage.noted("started")) == 1


def test_a_task_cleared_while_it_runs_never_has_two_drivers(
    stage: Stage, start_task: Start
) -> None:
    stage.play(Part(waits=True, is_deaf=True))  # it takes its time to end
    first = a_task_at_its_drivers_gate(stage, start_task, is_hurried=True)
    second = start_task(READ, table="orders")
    until(lambda: "watching" in second.log(), "the second run has found the driver")
    stage.play(Part())

    first.signal()
    ended = second.end()

    assert "was cancelled" in first.end()["said"]
    assert ended["returned"]["attempt"] == 2
    assert sorted(driver["attempt"] for driver in stage.noted("worked")) == [1, 2]
    (old,) = (driver["pid"] for driver in stage.noted("worked") if driver["attempt"] == 1)
    assert stage.was_dead_when_next_began(old)


def test_a_new_run_ends_a_cancelled_driver_before_it_starts_its_own(
    stage: Stage, start_task: Start
) -> None:
    stage.play(Part(waits=True, is_deaf=True))
    a_task_at_its_drivers_gate(stage, start_task).kill()
    stage.attempt().cancel()  # all that the task before could do
    stage.play(Part())

    ended = start_task(READ, table="orders", is_hurried=True).end()

    assert ended["returned"]["attempt"] == 2
    (old,) = (driver["pid"] for driver in stage.noted("worked") if driver["attempt"] == 1)
    assert stage.was_dead_when_next_began(old)


# --- what earlier tries left in the control folder ------------------------------------------------


def a_failure(stage: Stage, *, retryable: bool) -> JobReport:
    return JobReport(
        outcome=Outcome.FAILED,
        summary="no room",
        table=str(stage.warehouse / "orders"),
        job=str(KEY),
        attempt=1,
        release="1.2.0",
        error=ReportedError("TestError", "no room", retryable=retryable),
    )


@pytest.mark.parametrize("retryable", [True, False])
def test_an_unheard_failure_is_delivered_or_tried_again(
    stage: Stage, start_task: Start, *, retryable: bool
) -> None:
    stage.attempt().submit(a_spec(stage))
    stage.attempt().record_launch(Launched(host_id(), 2**22 + 1, "/no/log"))
    stage.attempt().write_report(a_failure(stage, retryable=retryable))

    ended = start_task(READ, table="orders").end()

    if retryable:
        assert ended["returned"]["attempt"] == 2
    else:
        assert (ended["raised"], ended["said"]) == ("AirflowFailException", "no room")
        assert stage.noted("started") == []


def test_a_task_that_died_before_it_launched_anything_is_not_waited_for_long_after(
    stage: Stage, start_task: Start
) -> None:
    stage.attempt().submit(a_spec(stage))
    attempt = stage.attempt()
    long_ago = (datetime.now(tz=timezone.utc) - timedelta(minutes=1)).timestamp()
    os.utime(Path(attempt.storage.uri, attempt.path, "spec.json"), (long_ago, long_ago))

    assert start_task(READ, table="orders").end()["returned"]["attempt"] == 2
    seat = stage.attempt().load().seat
    assert seat is not None
    assert seat.is_closed


def test_a_folder_without_a_spec_is_no_attempt(stage: Stage, start_task: Start) -> None:
    attempt = stage.attempt()
    Path(attempt.storage.uri, attempt.path).mkdir(parents=True)
    assert start_task(READ, table="orders").end()["returned"]["attempt"] == 1


def test_a_number_that_is_another_process_by_now_is_not_taken_for_the_driver() -> None:
    with subprocess.Popen(["sleep", "60"], start_new_session=True) as process:
        ours = Launched(host_id(), process.pid, "/no/log", born=birth(process.pid))
        reused = dataclasses.replace(ours, born=(ours.born or 0) - 3600)

        assert process_lives(ours)
        assert process_lives(reused) is False
        process.kill()
