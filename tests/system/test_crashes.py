# SPDX-License-Identifier: Apache-2.0
"""Tasks and drivers that are killed without a word: one commit, right rows, never two drivers."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest

from tests.system.drivers import Witness, kill_task, seated
from tests.system.running import Run, RunningAirflow, until
from tests.system.tables import WRITTEN, commits, is_half_written, rows

pytestmark = pytest.mark.spark


def test_a_retry_attaches_to_the_driver_that_outlived_its_task(
    airflow: RunningAirflow, witness: Witness
) -> None:
    task = airflow.trigger("attached").task("write")
    driver = seated(task)
    driver.hold()

    kill_task(task, driver)
    killed_at = datetime.now(tz=timezone.utc)
    until(lambda: "attempt 1 is running; watching it" in task.log(2), "the retry has attached")
    driver.let_go()

    assert task.ends(try_number=2) == "success"
    assert task.folder.latest_number() == 1
    assert witness.most_at_once(task) == 1
    assert commits(airflow.warehouse / "attached") == [str(task.key)]
    assert rows(airflow.warehouse / "attached") == WRITTEN
    noticed_at = task.ended_at(try_number=1)
    assert noticed_at is not None
    waited = noticed_at - killed_at
    print(f"Airflow took the killed task for ended after {waited.total_seconds():.1f} s")
    # It waits for a minute where a driver has inherited the task's sockets.
    assert waited < timedelta(seconds=60)


def test_a_retry_returns_the_report_of_a_driver_that_ended_unwatched(
    airflow: RunningAirflow, witness: Witness
) -> None:
    task = airflow.trigger("unheard").task("write")
    driver = seated(task)

    airflow.pause("unheard", is_paused=True)  # no retry before we say so
    kill_task(task, driver)
    report = until(task.folder.attempt(1).load_report, "the driver has reported")
    airflow.pause("unheard", is_paused=False)

    assert task.ends(try_number=2) == "success"
    assert "the job ended while nobody watched; returning its report" in task.log(2)
    assert task.xcom()["instant"] == report.instant
    assert task.folder.latest_number() == 1
    assert witness.most_at_once(task) == 1
    assert commits(airflow.warehouse / "unheard") == [str(task.key)]
    assert rows(airflow.warehouse / "unheard") == WRITTEN


def test_a_half_written_commit_stays_invisible_and_the_retry_writes_anew(
    airflow: RunningAirflow, witness: Witness, begun: dict[str, Run]
) -> None:
    table = airflow.warehouse / "died"
    task = begun["died"].task("write")
    driver = seated(task)
    until(lambda: is_half_written(table), "the first driver is writing")

    driver.hold()
    kill_task(task, driver)
    driver.kill()

    assert commits(table) == []
    assert task.ends(try_number=2) == "success"
    assert "starting attempt 2" in task.log(2)
    assert task.folder.latest_number() == 2
    assert witness.most_at_once(task) == 1
    assert commits(table) == [str(task.key)]
    assert rows(table) == WRITTEN
