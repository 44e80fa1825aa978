# SPDX-License-Identifier: Apache-2.0
"""Two tasks and one plan: the second waits for the job of the first, and never ends it."""

from __future__ import annotations

import asyncio
import os
import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from airflow_hudi.core.claims import ClaimFile, Executor, Free, HeldClaim
from airflow_hudi.core.control import AttemptFolder
from airflow_hudi.core.hosts import host_id, process
from airflow_hudi.core.instants import Action, Instant
from airflow_hudi.core.jobs import JobKey
from airflow_hudi.core.services.choice import PlanInUse
from airflow_hudi.core.storage import LocalStorage
from airflow_hudi.core.table import open_table
from airflow_hudi.core.timeline import load_timeline
from airflow_hudi.hooks.runs import Elsewhere
from airflow_hudi.operators.base import HudiJobOperator
from tests.jobs import a_report, a_spec
from tests.provider.stand_in import COMPACT, FakeTask, Stage, an_operator, until
from tests.tables.fixtures import StoredTable

OTHER = JobKey("elsewhere", "manual__1", "compact")


@dataclass
class Executed:
    """A pending compaction that a job of another task is at."""

    base: Path
    instant: Instant
    attempt: AttemptFolder
    claim: HeldClaim

    @property
    def time(self) -> str:
        return self.instant.requested_at

    def end(self) -> None:
        """It is committed, and its job says so and ends."""
        timeline = self.base / ".hoodie" / "timeline"
        (timeline / f"{self.time}_99990101000000000.commit").write_text("{}")
        (self.base / ".hoodie" / ".heartbeat" / self.time).unlink()
        self.claim.release()
        self.attempt.write_report(a_report())


@pytest.fixture
def executed(stage: Stage, tmp_path: Path) -> Executed:
    base = stage.warehouse / "served"
    shutil.copytree(StoredTable("1.2.0", "mor_pending").unpack(tmp_path / "unpacked"), base)
    instant = load_timeline(open_table(str(base))).of(Action.COMPACTION).pending().first()
    assert instant is not None
    heartbeats = base / ".hoodie" / ".heartbeat"
    heartbeats.mkdir(exist_ok=True)
    (heartbeats / instant.requested_at).touch()
    attempt = stage.attempt(1, OTHER)
    attempt.submit(a_spec())
    assert attempt.take_seat(host_id(), os.getpid())
    me = Executor(str(OTHER), OTHER.folder, 1, host_id(), (process(os.getpid()),))
    control = LocalStorage(stage.warehouse / ".hudi_control")
    claim, _ = ClaimFile(control, str(base), instant.requested_at).take(me, lambda _: Free(""))
    return Executed(base, instant, attempt, claim)


def a_compaction(executed: Executed, **arguments: Any) -> Any:
    return an_operator(COMPACT, table="served", mode="execute", instant=executed.time, **arguments)


def run(operator: Any) -> Any:
    return operator.execute({"ti": FakeTask(task=operator)})


def test_the_second_task_waits_for_the_job_that_is_at_its_plan(
    stage: Stage, executed: Executed, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits = threading.Event()
    wait_for = HudiJobOperator._wait_for

    def watched(operator: HudiJobOperator, elsewhere: Elsewhere) -> None:
        waits.set()
        wait_for(operator, elsewhere)

    monkeypatch.setattr(HudiJobOperator, "_wait_for", watched)
    operator = a_compaction(executed, when_nothing_to_do="succeed")
    with ThreadPoolExecutor(1) as pool:
        second = pool.submit(run, operator)
        until(lambda: waits.is_set() or second.done(), "it has seen the other")
        assert not second.done()
        executed.end()
        report = second.result(60)

    assert report["outcome"] == "nothing_to_do"
    assert f"compaction {executed.time} was completed at" in report["summary"]
    assert stage.noted("started") == []
    assert not executed.attempt.is_cancelled()


def test_a_deferred_task_waits_in_the_triggerer_and_ends_nobody(
    stage: Stage, executed: Executed
) -> None:
    from airflow.providers.common.compat.sdk import TaskDeferred  # noqa: PLC0415 - slow

    operator = a_compaction(executed, deferrable=True, when_nothing_to_do="succeed")
    with pytest.raises(TaskDeferred) as raised:
        run(operator)
    trigger: Any = raised.value.trigger
    assert trigger.handle.folder == OTHER.folder
    assert not trigger.is_own

    asyncio.run(trigger.on_kill())
    assert not executed.attempt.is_cancelled()
    executed.end()
    event = asyncio.run(anext(aiter(trigger.run()))).payload
    back = operator.execute_complete({"ti": FakeTask(task=operator)}, event)

    assert back["outcome"] == "nothing_to_do"
    assert stage.noted("started") == []


def test_whose_time_is_up_while_waiting_ends_nobody_either(
    stage: Stage, executed: Executed
) -> None:
    from airflow.providers.common.compat.sdk import AirflowTaskTimeout  # noqa: PLC0415 - slow

    operator = a_compaction(executed, deferrable=True)
    event = {"event": "timed_out", "because": "it was slow", "attempt": 1, "is_own": False}
    with pytest.raises(AirflowTaskTimeout):
        operator.execute_complete({"ti": FakeTask(task=operator)}, event)

    assert not executed.attempt.is_cancelled()
    assert stage.noted("started") == []


def test_a_stranger_at_the_plan_is_an_error_that_passes(stage: Stage, executed: Executed) -> None:
    executed.claim.release()
    with pytest.raises(PlanInUse):
        run(a_compaction(executed))
    assert stage.noted("started") == []
