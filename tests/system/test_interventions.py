# SPDX-License-Identifier: Apache-2.0
"""People who press Clear and Mark while a driver is at work, and after."""

from __future__ import annotations

import time

import pytest

from tests.system.drivers import Witness, seated
from tests.system.running import Run, RunningAirflow, until
from tests.system.tables import WRITTEN, commits, is_half_written, rows

pytestmark = pytest.mark.spark

GONE_WITHIN = 60.0
"""Airflow tells a task at its next heartbeat, five seconds at most, and ending a driver takes four;
the rest is for a busy machine. Left alone, the driver would go on for an hour."""


@pytest.mark.parametrize("dag_id", ["cleared", "cleared_deferred"])
def test_clearing_ends_the_driver_before_another_one_starts(
    airflow: RunningAirflow, witness: Witness, begun: dict[str, Run], dag_id: str
) -> None:
    table = airflow.warehouse / dag_id
    task = begun[dag_id].task("write")
    driver = seated(task)
    until(lambda: is_half_written(table), "the first driver is writing")
    if dag_id == "cleared_deferred":
        task.reaches("deferred")

    task.clear()
    pressed = time.monotonic()
    driver.is_gone(within=GONE_WITHIN)
    print(f"{dag_id}: the driver was gone after {time.monotonic() - pressed:.1f} s")

    assert task.ends(try_number=2) == "success"
    assert task.folder.latest_number() == 2
    assert witness.most_at_once(task) == 1
    assert commits(table) == [str(task.key)]
    assert rows(table) == WRITTEN


@pytest.mark.parametrize("dag_id", ["marked", "marked_deferred"])
def test_marking_failed_ends_the_driver(
    airflow: RunningAirflow, witness: Witness, begun: dict[str, Run], dag_id: str
) -> None:
    table = airflow.warehouse / dag_id
    task = begun[dag_id].task("write")
    driver = seated(task)
    until(lambda: is_half_written(table), "the driver is writing")
    if dag_id == "marked_deferred":
        task.reaches("deferred")
    else:
        driver.hold()  # one that does not answer, either

    task.mark("failed")
    pressed = time.monotonic()
    driver.is_gone(within=GONE_WITHIN)
    print(f"{dag_id}: the driver was gone after {time.monotonic() - pressed:.1f} s")

    assert task.state == "failed"
    assert task.folder.latest_number() == 1
    assert witness.most_at_once(task) == 1
    assert commits(table) == []
