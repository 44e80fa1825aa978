# SPDX-License-Identifier: Apache-2.0
"""Waiting without a worker: the task defers, the trigger watches, the task comes back."""

from __future__ import annotations

import asyncio
import importlib
import json
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from airflow_hudi.core.job_errors import DriverDied, JobFailed
from tests.provider.stand_in import KEY, READ, FakeTask, Stage, an_operator, until
from tests.provider.stand_in_driver import APPLICATION, Part


def deferred(operator: Any) -> Any:
    from airflow.providers.common.compat.sdk import TaskDeferred  # noqa: PLC0415 - slow

    with pytest.raises(TaskDeferred) as raised:
        operator.execute({"ti": FakeTask(task=operator)})
    assert raised.value.method_name == "execute_complete"
    return raised.value


def travelled(trigger: Any) -> Any:
    """As the triggerer gets it: through the database, as JSON."""
    path, arguments = trigger.serialize()
    module, _, name = path.rpartition(".")
    again = getattr(importlib.import_module(module), name)(**json.loads(json.dumps(arguments)))
    assert again.serialize() == trigger.serialize()
    return again


def event_of(trigger: Any) -> dict[str, Any]:
    async def fire() -> Any:
        events = [event async for event in trigger.run()]
        assert len(events) == 1
        return events[0].payload

    return dict(json.loads(json.dumps(asyncio.run(fire()))))


def back(operator: Any, event: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    ti = FakeTask(task=operator)
    return operator.execute_complete({"ti": ti}, event), ti.pushed


def test_a_deferred_job_comes_back_with_its_report(stage: Stage) -> None:
    stage.play(Part(waits=True, summary="all read"))
    trigger = travelled(deferred(an_operator(READ, deferrable=True)).trigger)
    assert trigger.deadline is None
    stage.open()

    event = event_of(trigger)
    report, pushed = back(an_operator(READ, deferrable=True), event)

    assert event == {"event": "ended", "because": "", "attempt": 1, "is_own": True}
    assert report["summary"] == "all read"
    assert pushed["application_id"] == APPLICATION
    assert pushed["_link_HudiSparkLink"]
    assert stage.living() == []


def test_what_the_trigger_is_told_is_plain_and_no_secret(stage: Stage) -> None:
    path, arguments = deferred(an_operator(READ, deferrable=True)).trigger.serialize()

    assert path == "airflow_hudi.triggers.job.HudiJobTrigger"
    assert arguments == {
        "control": str(stage.warehouse / ".hudi_control"),
        "folder": KEY.folder,
        "attempt": 1,
        "poll_interval": 0.02,
        "deadline": None,
        "is_own": True,
    }


def test_a_dead_driver_brings_the_task_back_and_fails_it(stage: Stage) -> None:
    stage.play(Part(ends="crashes"))
    operator = an_operator(READ, deferrable=True)

    event = event_of(deferred(operator).trigger)

    assert event["because"] == "its process is gone"
    with pytest.raises(DriverDied, match="Java heap space"):
        back(operator, event)


def test_a_failed_job_fails_the_task(stage: Stage) -> None:
    stage.play(Part(ends="fails", retryable=True, summary="an executor was lost"))
    operator = an_operator(READ, deferrable=True)
    event = event_of(deferred(operator).trigger)
    with pytest.raises(JobFailed, match="an executor was lost"):
        back(operator, event)


def test_a_job_whose_time_is_up_is_ended(stage: Stage) -> None:
    from airflow.providers.common.compat.sdk import AirflowTaskTimeout  # noqa: PLC0415 - slow

    stage.play(Part(waits=True))
    operator = an_operator(READ, deferrable=True, execution_timeout=timedelta(minutes=5))
    trigger = travelled(deferred(operator).trigger)
    left = datetime.fromisoformat(trigger.deadline) - datetime.now(tz=timezone.utc)
    assert timedelta(minutes=1) < left <= timedelta(minutes=5)
    until(lambda: stage.noted("at_go"), "the driver is at its gate")
    trigger.deadline = datetime.now(tz=timezone.utc).isoformat()

    event = event_of(trigger)

    assert event["event"] == "timed_out"
    assert stage.living()
    with pytest.raises(AirflowTaskTimeout, match="its time was up at"):
        back(operator, event)
    assert stage.living() == []


def test_a_retry_after_the_time_was_up_begins_anew(stage: Stage) -> None:
    from airflow.providers.common.compat.sdk import AirflowTaskTimeout  # noqa: PLC0415 - slow

    stage.play(Part(waits=True))
    operator = an_operator(READ, deferrable=True)
    deferred(operator)
    until(lambda: stage.noted("at_go"), "the driver is at its gate")
    with pytest.raises(AirflowTaskTimeout):
        back(operator, {"event": "timed_out", "because": "it was slow", "attempt": 1})
    stage.play(Part())

    event = event_of(deferred(operator).trigger)

    assert back(operator, event)[0]["attempt"] == 2


def test_a_deferred_task_that_is_cleared_ends_its_driver(stage: Stage) -> None:
    stage.play(Part(waits=True))
    trigger = travelled(deferred(an_operator(READ, deferrable=True)).trigger)
    until(lambda: stage.noted("at_go"), "the driver is at its gate")

    asyncio.run(trigger.on_kill())

    assert stage.living() == []
    report = stage.attempt().load_report()
    assert report is not None
    assert report.error is not None
    assert report.error.kind == "JobCancelled"


def test_a_driver_of_another_host_is_asked_to_end_and_not_waited_for(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    from airflow_hudi.hooks import processes  # noqa: PLC0415 - slow

    stage.play(Part(waits=True))
    trigger = deferred(an_operator(READ, deferrable=True)).trigger
    until(lambda: stage.noted("at_go"), "the driver is at its gate")
    monkeypatch.setattr(processes, "host_id", lambda: "another host")

    asyncio.run(trigger.on_kill())

    assert stage.attempt().is_cancelled()
    monkeypatch.undo()
    until(lambda: not stage.living(), "the driver found the request and ended")


def test_a_task_told_to_end_before_it_could_defer_leaves_no_driver(stage: Stage) -> None:
    stage.play(Part(waits=True))
    operator = an_operator(READ, deferrable=True)
    operator.on_kill()  # when there is no driver yet

    with pytest.raises(Exception, match="was cancelled"):
        operator.execute({"ti": FakeTask(task=operator)})

    assert stage.living() == []
