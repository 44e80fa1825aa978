# SPDX-License-Identifier: Apache-2.0
"""The commit sensor and its trigger, on tables of the local disk; nothing sleeps, no database."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.providers.common.compat.sdk import (
    DAG,
    AirflowFailException,
    AirflowSensorTimeout,
    AirflowSkipException,
    TaskDeferred,
)

from airflow_hudi.core.errors import (
    InvalidSetting,
    InvalidTimezone,
    InvalidWait,
    StorageError,
    TableUnreachable,
)
from airflow_hudi.core.storage import LocalStorage
from airflow_hudi.core.table import open_table
from airflow_hudi.links.table import HudiTableLink
from airflow_hudi.sensors.commit import HudiCommitSensor
from airflow_hudi.triggers import commit as commit_trigger
from airflow_hudi.triggers import watching
from airflow_hudi.triggers.commit import HudiCommitTrigger
from airflow_hudi.triggers.watching import CommitWatch, Log, Watched
from tests.builders import EPOCH, at
from tests.provider.tables import FakeTaskInstance, LocalTable, connect

SINCE = EPOCH + timedelta(seconds=50)


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LocalTable:
    connect(monkeypatch, tmp_path)
    made = LocalTable(tmp_path / "orders").create()
    made.commit(10, 20, "eu")
    return made


def a_sensor(**arguments: Any) -> HudiCommitSensor:
    given = {"task_id": "wait", "table": "orders", "after": SINCE, "deferrable": False}
    return HudiCommitSensor(**{**given, **arguments})


def a_context() -> Any:
    return {"ti": FakeTaskInstance()}


def a_trigger(table: LocalTable, **arguments: Any) -> HudiCommitTrigger:
    given = {"table_uri": str(table.base), "after": SINCE.isoformat(), "poke_interval": 1}
    return HudiCommitTrigger(**{**given, **arguments})


def event_of(trigger: HudiCommitTrigger) -> Any:
    async def first() -> Any:
        events = [event async for event in trigger.run()]
        assert len(events) == 1
        return events[0].payload

    return asyncio.run(first())


def on_sleep(monkeypatch: pytest.MonkeyPatch, *steps: Callable[[], object]) -> list[float]:
    """Do the steps, one after another, instead of sleeping; the naps asked for come back."""
    naps: list[float] = []

    def sleep(seconds: float) -> None:
        naps.append(seconds)
        steps[len(naps) - 1]()

    async def asleep(seconds: float) -> None:
        sleep(seconds)

    monkeypatch.setattr("airflow.sdk.bases.sensor.time.sleep", sleep)
    monkeypatch.setattr(
        commit_trigger, "asyncio", SimpleNamespace(sleep=asleep, to_thread=asyncio.to_thread)
    )
    return naps


@pytest.fixture
def listings(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    seen: list[str] = []
    real = LocalStorage.list_folder

    def counted(self: LocalStorage, path: str) -> Any:
        seen.append(path)
        return real(self, path)

    monkeypatch.setattr(LocalStorage, "list_folder", counted)
    return seen


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is logged as a warning, as text; Airflow's own logging does not reach pytest's."""
    lines: list[str] = []
    real = CommitWatch.__init__

    def listening(self: CommitWatch, watched: Watched, log: Log) -> None:
        del log
        speaker = SimpleNamespace(warning=lambda text, *args: lines.append(text % args))
        real(self, watched, speaker)

    monkeypatch.setattr(CommitWatch, "__init__", listening)
    return lines


def flaky(monkeypatch: pytest.MonkeyPatch, failures: int, *, retryable: bool) -> None:
    real = open_table
    left = [failures]

    def opened(*args: Any, **kwargs: Any) -> Any:
        if left[0]:
            left[0] -= 1
            error = StorageError("the storage has a bad day")
            error.retryable = retryable
            raise error
        return real(*args, **kwargs)

    monkeypatch.setattr(watching, "open_table", opened)


def test_it_pokes_until_a_commit_appears_with_one_listing_each(
    table: LocalTable, monkeypatch: pytest.MonkeyPatch, listings: list[str]
) -> None:
    naps = on_sleep(monkeypatch, lambda: None, lambda: table.commit(60, 70, "eu"))
    context = a_context()
    result = a_sensor(poke_interval=7).execute(context)
    assert naps == [7, 7]
    assert listings == [".hoodie/timeline"] * 3
    assert result == {
        "table": str(table.base),
        "after": SINCE.isoformat(),
        "newest": at(60),
        "commit_count": 1,
        "commits": [{"requested_at": at(60), "completed_at": at(70), "action": "deltacommit"}],
        "defects": [],
    }
    assert json.loads(json.dumps(result)) == result
    page = "hudi/table?conn_id=hudi_default&table=orders"
    assert context["ti"].pushed == {HudiTableLink().xcom_key: page}


def test_the_newest_instant_is_the_next_after(table: LocalTable) -> None:
    table.commit(60, 70, "eu")
    first = a_sensor().execute(a_context())
    assert not a_sensor(after=first["newest"]).poke({})
    assert not a_sensor(after=int(first["newest"])).poke({})  # native rendering
    table.commit(71, 80, "us")
    assert a_sensor(after=first["newest"]).execute(a_context())["newest"] == at(71)


def test_it_waits_for_partitions(table: LocalTable) -> None:
    table.commit(60, 70, "eu")
    assert not a_sensor(partitions="us").poke({})
    assert a_sensor(partitions="/eu/").poke({})
    both = a_sensor(partitions=["eu", "us"], every_partition=True)
    assert not both.poke({})
    table.commit(80, 90, "us")
    result: Any = both.poke({}).xcom_value
    commits = result["commits"]
    assert [commit["partitions"] for commit in commits] == [["eu"], ["us"]]
    assert [commit["inserts"] for commit in commits] == [3, 3]


def test_it_waits_for_so_many_commits(table: LocalTable) -> None:
    table.commit(60, 70)
    assert not a_sensor(min_commits=2).poke({})
    assert a_sensor(min_commits=2, after=None).poke({})


def test_it_waits_for_a_table_that_is_not_there_yet_and_says_so_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: list[str]
) -> None:
    connect(monkeypatch, tmp_path)
    later = LocalTable(tmp_path / "orders")
    on_sleep(monkeypatch, lambda: None, later.create, lambda: later.commit(60, 70))
    assert a_sensor().execute(a_context())["newest"] == at(60)
    assert len([line for line in said if "waiting for it to be made" in line]) == 1


def test_it_fails_for_a_missing_table_where_that_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    connect(monkeypatch, tmp_path)
    with pytest.raises(AirflowFailException, match="no Hudi table at"):
        a_sensor(missing_table="fail").execute(a_context())
    with pytest.raises(AirflowFailException, match="no Hudi table at"):
        a_sensor(missing_table="fail", deferrable=True).execute(a_context())
    with pytest.raises(AirflowSkipException, match="no Hudi table at"):
        a_sensor(missing_table="fail", deferrable=True, soft_fail=True).execute(a_context())


def test_a_damaged_commit_is_said_once_and_not_counted(table: LocalTable, said: list[str]) -> None:
    broken = table.base / ".hoodie" / "timeline" / f"{at(60)}_{at(70)}.replacecommit"
    broken.write_text("no JSON")
    sensor = a_sensor()
    assert not sensor.poke({})
    assert not sensor.poke({})
    assert len([line for line in said if "it is not counted" in line]) == 1
    table.commit(80, 90)
    result: Any = sensor.poke({}).xcom_value
    assert [defect["kind"] for defect in result["defects"]] == ["unreadable"]


def test_it_times_out(table: LocalTable, monkeypatch: pytest.MonkeyPatch) -> None:
    on_sleep(monkeypatch, lambda: None)
    with pytest.raises(AirflowSensorTimeout):
        a_sensor(timeout=0).execute(a_context())
    with pytest.raises(AirflowSkipException):
        a_sensor(timeout=0, soft_fail=True).execute(a_context())


def test_hiccups_of_the_storage_are_waited_out_but_not_for_ever(
    table: LocalTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    table.commit(60, 70)
    naps = on_sleep(monkeypatch, *[lambda: None] * 5)
    flaky(monkeypatch, 5, retryable=True)
    assert a_sensor().execute(a_context())["newest"] == at(60)
    assert len(naps) == 5
    on_sleep(monkeypatch, *[lambda: None] * 5)
    flaky(monkeypatch, 6, retryable=True)
    with pytest.raises(TableUnreachable, match=r"bad day \(6 times in a row\)") as raised:
        a_sensor().execute(a_context())
    assert raised.value.retryable
    flaky(monkeypatch, 1, retryable=False)
    with pytest.raises(AirflowFailException, match="bad day"):
        a_sensor().execute(a_context())


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"after": "yesterday"}, "neither an instant"),
        ({"partitions": []}, "no partition at all"),
        ({"partitions": [1]}, "must be texts"),
        ({"partitions": 7}, "must be texts"),
        ({"table": "../orders"}, "not a path inside"),
    ],
)
def test_what_is_rendered_is_checked_when_it_runs(
    table: LocalTable, arguments: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(AirflowFailException, match=sentence):
        a_sensor(**arguments).execute(a_context())


def test_what_is_not_rendered_is_checked_at_once() -> None:
    with pytest.raises(InvalidSetting, match="'wait' or 'fail'"):
        a_sensor(missing_table="shrug")
    with pytest.raises(InvalidWait, match="0 commits"):
        a_sensor(min_commits=0)
    with pytest.raises(InvalidTimezone):
        a_sensor(table_timezone="Nowhere")


def test_arguments_are_rendered(table: LocalTable) -> None:
    sensor = HudiCommitSensor(
        task_id="wait",
        table="{{ params.table }}",
        hudi_conn_id="hudi_{{ params.stage }}",
        partitions=["day={{ params.day }}"],
    )
    due = datetime(2026, 1, 31, 9, tzinfo=timezone.utc)
    context: Any = {
        "params": {"table": "orders", "stage": "default", "day": "d1"},
        "dag_run": SimpleNamespace(run_after=due),
    }
    sensor.render_template_fields(context)
    assert (sensor.table, sensor.hudi_conn_id) == ("orders", "hudi_default")
    assert sensor.partitions == ["day=d1"]
    watched = sensor._look_at()
    assert watched.uri == str(table.base)
    assert watched.wait.after == due  # the default: when the run was due


def test_it_maps_over_tables() -> None:
    with DAG("tables", schedule=None):
        mapped = HudiCommitSensor.partial(task_id="wait", after=SINCE, deferrable=True).expand(
            table=["orders", "customers"]
        )
    sensors = [mapped.unmap({"table": name}) for name in ("orders", "customers")]
    assert [getattr(sensor, "table", None) for sensor in sensors] == ["orders", "customers"]


def test_it_defers_when_there_is_nothing_yet(table: LocalTable, listings: list[str]) -> None:
    sensor = a_sensor(deferrable=True, poke_interval=11, timeout=600, partitions=["us"])
    with pytest.raises(TaskDeferred) as deferred:
        sensor.execute(a_context())
    trigger = deferred.value.trigger
    assert isinstance(trigger, HudiCommitTrigger)
    path, arguments = trigger.serialize()
    deadline = datetime.fromisoformat(arguments.pop("deadline"))
    assert path == "airflow_hudi.triggers.commit.HudiCommitTrigger"
    assert arguments == {
        "table_uri": str(table.base),
        "after": SINCE.isoformat(),
        "partitions": ["us"],
        "every_partition": False,
        "min_commits": 1,
        "missing_table": "wait",
        "table_timezone": None,
        "poke_interval": 11.0,
    }
    left = deadline - datetime.now(tz=timezone.utc)
    assert timedelta(seconds=590) < left <= timedelta(seconds=600)
    assert deferred.value.timeout is not None
    assert deferred.value.timeout > timedelta(seconds=600)  # the trigger says more than Airflow
    assert deferred.value.method_name == "execute_complete"
    assert listings == [".hoodie/timeline"]


def test_it_does_not_defer_when_the_commit_is_there(table: LocalTable) -> None:
    table.commit(60, 70)
    assert a_sensor(deferrable=True).execute(a_context())["newest"] == at(60)


def test_the_trigger_comes_back_from_what_it_serialises(table: LocalTable) -> None:
    trigger = a_trigger(
        table,
        partitions=["eu"],
        every_partition=True,
        min_commits=3,
        missing_table="fail",
        table_timezone="Europe/Berlin",
        deadline="2026-01-31T09:30:00+00:00",
    )
    _, arguments = trigger.serialize()
    assert json.loads(json.dumps(arguments)) == arguments
    again = HudiCommitTrigger(**arguments)
    assert again.watched == trigger.watched
    assert again.serialize() == trigger.serialize()


def test_the_trigger_waits_and_the_sensor_returns_what_it_found(
    table: LocalTable, monkeypatch: pytest.MonkeyPatch, listings: list[str]
) -> None:
    naps = on_sleep(monkeypatch, lambda: None, lambda: table.commit(60, 70, "eu"))
    event = event_of(a_trigger(table, partitions=["eu"]))
    assert naps == [1, 1]
    assert listings == [".hoodie/timeline"] * 3
    result = a_sensor().execute_complete(a_context(), event)
    assert result["newest"] == at(60)
    assert result["commits"][0]["partitions"] == ["eu"]


def test_the_trigger_survives_an_upgrade_that_moves_the_timeline(
    table: LocalTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    properties = table.base / ".hoodie" / "hoodie.properties"
    upgraded = properties.read_text()
    old = upgraded.replace("table.version=9", "table.version=6")
    properties.write_text(old.replace("layout.version=2", "layout.version=1"))

    def upgrade() -> None:
        properties.write_text(upgraded)
        table.commit(60, 70)

    on_sleep(monkeypatch, upgrade)
    assert event_of(a_trigger(table))["ending"] == "arrived"


def test_the_trigger_ends_at_its_deadline(
    table: LocalTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    naps = on_sleep(monkeypatch)
    past = datetime.now(tz=timezone.utc) - timedelta(seconds=1)
    event = event_of(a_trigger(table, deadline=past.isoformat()))
    assert naps == []
    sensor = a_sensor()
    with pytest.raises(AirflowSensorTimeout, match="had 0 of 1 awaited commits after 2026-01-01"):
        sensor.execute_complete(a_context(), event)
    soft = a_sensor(soft_fail=True)
    with pytest.raises(AirflowSkipException):
        soft.resume_execution("execute_complete", {"event": event}, a_context())


def test_the_trigger_sleeps_no_longer_than_to_its_deadline(
    table: LocalTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    naps = on_sleep(monkeypatch, lambda: table.commit(60, 70))
    soon = datetime.now(tz=timezone.utc) + timedelta(seconds=30)
    event_of(a_trigger(table, poke_interval=3600, deadline=soon.isoformat()))
    assert 0 < naps[0] <= 30


def test_what_the_trigger_cannot_cure_becomes_a_clear_failure(
    table: LocalTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    on_sleep(monkeypatch, *[lambda: None] * 5)
    flaky(monkeypatch, 6, retryable=True)
    event = event_of(a_trigger(table))
    with pytest.raises(TableUnreachable, match=r"orders cannot be read: .* \(6 times in a row\)"):
        a_sensor().execute_complete(a_context(), event)
    flaky(monkeypatch, 1, retryable=False)
    event = event_of(a_trigger(table))
    with pytest.raises(AirflowFailException, match="bad day"):
        a_sensor().execute_complete(a_context(), event)


def test_the_events_are_json(table: LocalTable) -> None:
    table.commit(60, 70, "eu")
    event = event_of(a_trigger(table))
    assert json.loads(json.dumps(event)) == event
