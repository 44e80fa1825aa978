# SPDX-License-Identifier: Apache-2.0
"""Tasks on one table: who does not share lock, heartbeat and metadata table starts no driver."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from airflow_hudi.core.ingestion import IngestWork
from airflow_hudi.core.job_errors import TermsDisagree
from airflow_hudi.core.jobs import JobKey
from airflow_hudi.core.properties import format_properties
from airflow_hudi.core.terms import Record
from airflow_hudi.core.values import decode
from tests.builders import the_properties
from tests.provider.stand_in import (
    CLEAN,
    INGEST,
    KEY,
    READ,
    FakeTask,
    Stage,
    TaskProcess,
    an_operator,
    until,
)
from tests.provider.stand_in_driver import Part
from tests.terms import INTERVAL, METADATA

CLEANER = JobKey(KEY.dag_id, KEY.run_id, "clean")
QUICK = {INTERVAL: "30000"}
OFF = {METADATA: "false"}


def run(path: str, key: JobKey, **arguments: Any) -> Any:
    operator = an_operator(
        path, **{"task_id": key.task_id, "when_nothing_to_do": "succeed", **arguments}
    )
    return operator.execute({"ti": FakeTask(key, operator)})


def source(stage: Stage) -> dict[str, str]:
    return {"source": str(stage.warehouse / "landing"), "source_format": "json"}


def write(stage: Stage, **arguments: Any) -> Any:
    return run(INGEST, KEY, **source(stage), **arguments)


def clean(**arguments: Any) -> Any:
    return run(CLEAN, CLEANER, **arguments)


def refusal(work: Callable[..., Any], **arguments: Any) -> str:
    from airflow.providers.common.compat import sdk  # noqa: PLC0415 - slow

    with pytest.raises(sdk.AirflowFailException) as raised:
        work(**arguments)
    return str(raised.value)


def files(stage: Stage) -> list[Path]:
    return sorted((stage.warehouse / ".hudi_control" / "terms").rglob("*.json"))


def tasks(stage: Stage) -> list[str]:
    return [decode(Record, file.read_bytes()).task for file in files(stage)]


Connect = Callable[..., None]


@pytest.fixture
def lock_in_zookeeper(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> Connect:
    """From now on, a connection has that lock; only its name is looked at here."""

    def connect(hosts: str, conn_id: str = "hudi_default") -> None:
        lock = {"lock": "zookeeper", "zookeeper_hosts": hosts}
        said = {"conn_type": "hudi", "host": str(stage.warehouse), "extra": lock}
        monkeypatch.setenv(f"AIRFLOW_CONN_{conn_id.upper()}", json.dumps(said))

    return connect


@pytest.fixture(autouse=True)
def _idle(stage: Stage) -> None:
    stage.play(Part(ends="nothing"))


def test_tasks_that_agree_are_recorded_and_run(stage: Stage) -> None:
    write(stage)
    clean()

    both = [decode(Record, file.read_bytes()) for file in files(stage)]
    assert [(one.task, one.job, one.folder, one.attempt, one.conn_id) for one in both] == [
        ("shop/clean", str(CLEANER), CLEANER.folder, 1, "hudi_default"),
        ("shop/the_task", str(KEY), KEY.folder, 1, "hudi_default"),
    ]
    assert len(stage.noted("worked")) == 2


def test_another_heartbeat_is_refused_before_a_driver_is_started(stage: Stage) -> None:
    write(stage, options=QUICK)

    said = refusal(clean)

    assert f"shop/clean (connection hudi_default) has {INTERVAL}=60000, and shop/the_task" in said
    assert f"has {INTERVAL}=30000. Together" in said
    assert tasks(stage) == ["shop/the_task"]
    assert len(stage.noted("started")) == 1
    assert not stage.attempt(key=CLEANER).is_submitted()

    (theirs,) = files(stage)
    assert f"({theirs})" in said
    theirs.unlink()
    clean()
    assert len(stage.noted("started")) == 2


def test_a_changed_connection_holds_for_all_once_nothing_runs_on_the_old_one(
    stage: Stage, start_task: Callable[..., TaskProcess], lock_in_zookeeper: Connect
) -> None:
    stage.play(Part(waits=True, ends="nothing"))
    writer = start_task(INGEST, **source(stage))
    until(lambda: stage.noted("at_go"), "the writer is at its gate")
    lock_in_zookeeper("zk1:2181")

    with pytest.raises(TermsDisagree, match=f"running: {KEY}.* try again when {KEY}") as raised:
        clean()

    assert raised.value.retryable
    assert "has lock=filesystem. Together" in str(raised.value)
    assert tasks(stage) == ["shop/the_task"]
    stage.open()
    assert writer.end()["raised"] == "AirflowSkipException"
    clean()
    write(stage)
    assert tasks(stage) == ["shop/clean", "shop/the_task"]
    assert len(stage.noted("started")) == 3


def test_a_job_that_is_about_to_be_launched_counts(
    stage: Stage, start_task: Callable[..., TaskProcess], lock_in_zookeeper: Connect
) -> None:
    stage.hold_launches()
    writer = start_task(INGEST, **source(stage))
    until(stage.held_launches, "the writer is about to claim its attempt")
    lock_in_zookeeper("zk1:2181")

    with pytest.raises(TermsDisagree):
        clean()

    stage.release_launches()
    writer.end()
    clean()


def test_a_writer_that_was_killed_at_work_holds_nobody_back(
    stage: Stage, start_task: Callable[..., TaskProcess], lock_in_zookeeper: Connect
) -> None:
    stage.play(Part(waits=True))
    writer = start_task(INGEST, **source(stage))
    until(lambda: stage.noted("at_go"), "the writer is at its gate")
    writer.kill()
    lock_in_zookeeper("zk1:2181")
    with pytest.raises(TermsDisagree):  # its driver lives
        clean()
    stage.clear()
    until(lambda: not stage.living(), "the driver is dead")
    stage.play(Part(ends="nothing"))

    clean()


def test_a_job_whose_record_cannot_be_read_is_not_taken_for_dead(
    stage: Stage, lock_in_zookeeper: Connect
) -> None:
    write(stage)
    attempt = stage.attempt()
    (stage.warehouse / ".hudi_control" / attempt.path / "report.json").write_text("{")
    lock_in_zookeeper("zk1:2181")
    with pytest.raises(TermsDisagree):
        clean()


def test_another_connection_must_have_the_same_lock(
    stage: Stage, lock_in_zookeeper: Connect
) -> None:
    lock_in_zookeeper("zk1:2181,zk2:2181")
    lock_in_zookeeper("zk2:2181,zk1:2181", "hudi_same")
    lock_in_zookeeper("zk3:2181", "hudi_other")
    write(stage)

    said = refusal(clean, hudi_conn_id="hudi_other")

    assert "shop/clean (connection hudi_other) has lock=zookeeper zk3:2181 /hudi/locks/or" in said
    assert "has lock=zookeeper zk1:2181,zk2:2181 /hudi/locks/orders-" in said
    clean(hudi_conn_id="hudi_same")


def test_a_reader_shares_nothing(stage: Stage) -> None:
    write(stage, options=QUICK)
    assert run(READ, CLEANER)["outcome"] == "nothing_to_do"
    assert tasks(stage) == ["shop/the_task"]


def test_a_launch_that_fails_leaves_no_record(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AIRFLOW_HUDI_BUNDLE_1_2_0", str(stage.folder / "no.jar"))
    assert "no.jar" in refusal(clean)
    assert files(stage) == []


def test_a_metadata_table_is_not_left_behind(stage: Stage) -> None:
    properties = the_properties(table__metadata__partitions="files,column_stats")
    base = stage.warehouse / "orders" / ".hoodie"
    (base / "hoodie.properties").write_bytes(format_properties(properties))

    for refused in (refusal(clean, options=OFF), refusal(write, stage=stage, options=OFF)):
        assert f"{stage.warehouse}/orders has a metadata table (files, column_stats)" in refused
        assert f"the job says {METADATA}=false" in refused
    assert not (stage.warehouse / ".hudi_control").exists()
    run(READ, KEY, options=OFF)
    clean()


def test_services_within_a_write_are_asked_for(stage: Stage) -> None:
    options = {"hoodie.clustering.inline": "true"}
    assert "pass inline_services=True" in refusal(write, stage=stage, options=options)
    write(stage, options=options, inline_services=True)
    work = stage.attempt().load_spec().work
    assert isinstance(work, IngestWork)
    assert work.inline_services
