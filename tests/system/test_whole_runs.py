# SPDX-License-Identifier: Apache-2.0
"""Runs that nobody disturbed: waiting in the triggerer, mapping, assets, logs, and no secret."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.system.drivers import Witness
from tests.system.running import SECRET, Run, RunningAirflow, until
from tests.system.tables import commits, rows

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def life(begun: dict[str, Run]) -> Run:
    """The run in which a table is filled, changed and compacted; over when its last task is."""
    run = begun["life"]
    assert run.task("execute").ends(within=240) == "success"
    return run


def test_jobs_that_wait_in_the_triggerer_leave_report_application_and_links(
    airflow: RunningAirflow, life: Run
) -> None:
    for task_id in ("place", "pay", "execute"):
        task = life.task(task_id)
        report = task.xcom()
        assert report["outcome"] == "done"
        assert report == task.xcom("report")
        assert task.xcom("application_id") == report["application_id"] is not None
        assert task.xcom("tracking_url").startswith("http://")
        links = airflow.get(f"{task.path}/links")["extra_links"]
        assert len(links) == 2
        assert all(links.values()), links
        assert "Pausing task as DEFERRED" in task.log(1)
    assert rows(airflow.warehouse / "orders") == [("a", 1, "placed"), ("b", 2, "paid")]


def test_the_log_shows_what_the_driver_says(life: Run) -> None:
    said = life.task("place").log(1)
    assert "starting attempt 1" in said
    assert f"starting Spark for {life.task('place').key} (attempt 1)" in said
    assert "data files are written, committing" in said
    assert "done: insert committed as" in said
    assert "2 inserted, 0 updated, 0 deleted" in said


def test_a_cleared_task_that_had_succeeded_finds_nothing_to_do(
    airflow: RunningAirflow, life: Run
) -> None:
    ingested, compacted = life.task("pay"), life.task("execute")
    before = commits(airflow.warehouse / "orders")
    attempts = ingested.folder.latest_number(), compacted.folder.latest_number()

    for task in (ingested, compacted):
        life.is_over()
        task.clear()
        assert task.ends(try_number=2) == "skipped"

    assert "was made by this job in an earlier run" in ingested.log(2)
    assert "was completed at" in compacted.log(2)
    assert (ingested.folder.latest_number(), compacted.folder.latest_number()) == attempts
    assert commits(airflow.warehouse / "orders") == before


def test_the_table_s_asset_tells_instant_and_rows_to_whoever_waits_for_it(
    airflow: RunningAirflow, life: Run
) -> None:
    (event,) = _events(airflow, "orders")
    told = event["extra"]
    report = life.task("place").xcom()
    assert told["instant"] == report["instant"]
    assert told["rows"]["inserted"] == 2
    assert told["table"] == str(airflow.warehouse / "orders")

    (made,) = until(lambda: airflow.get("/dags/news/dagRuns")["dag_runs"], "the news are read")
    reader = Run(airflow, "news", made["dag_run_id"]).task("read_news")
    assert reader.ends() == "success"
    assert reader.xcom() == told


def test_mapped_tasks_write_a_table_each_and_are_named_after_it(
    airflow: RunningAirflow, begun: dict[str, Run]
) -> None:
    for index, table in enumerate(("north", "south")):
        task = begun["mapped"].task("fill", index)
        assert task.ends(within=240) == "success"
        assert task.facts()["rendered_map_index"] == table
        assert task.xcom()["table"] == str(airflow.warehouse / table)
        assert commits(airflow.warehouse / table) == [str(task.key)]
        assert rows(airflow.warehouse / table) == [("a", 1, "placed")]
        (event,) = _events(airflow, table)  # through the alias that the tasks have for an outlet
        assert event["extra"]["instant"] == task.xcom()["instant"]
        assert event["extra"]["rows"]["inserted"] == 1


def test_a_source_without_its_key_fails_at_once_and_says_so(
    airflow: RunningAirflow, begun: dict[str, Run]
) -> None:
    task = begun["no_key"].task("write")
    assert task.ends() == "failed"
    assert task.facts()["try_number"] == 1  # of three
    assert "the source has no column id (key); it has version, status" in task.log(1)
    assert task.folder.latest_number() == 0
    assert not (airflow.warehouse / "never_made").exists()


def test_no_secret_of_airflow_reaches_a_driver(
    airflow: RunningAirflow, witness: Witness, life: Run
) -> None:
    assert all(SECRET in environ for environ in airflow.environments())
    shown = witness.shown_to_anybody()
    assert str(life.task("place").folder.path) in shown
    assert SECRET not in shown
    files = [path for path in _control(airflow).rglob("*") if path.is_file()]
    assert {"spec.json", "report.json", "beat.json", "driver.log"} <= {path.name for path in files}
    assert [path for path in files if SECRET.encode() in path.read_bytes()] == []


def _control(airflow: RunningAirflow) -> Path:
    return airflow.warehouse / ".hudi_control"


def _events(airflow: RunningAirflow, table: str) -> list[dict[str, Any]]:
    uri = f"hudi://file{airflow.warehouse}/{table}"
    events = airflow.get("/assets/events", limit=100)["asset_events"]
    return [event for event in events if event["uri"] == uri]
