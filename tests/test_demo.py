# SPDX-License-Identifier: Apache-2.0
"""What `make demo` and `make ui` do before and after they run anything."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from airflow_hudi.core.checksums import content_of
from airflow_hudi.core.errors import EnvironmentProblem
from airflow_hudi.core.jobs import JobReport, Outcome, RowCounts
from airflow_hudi.core.reading import Reading
from demo.environment import EXAMPLES, MARK, Place, airflow_environment, connection_variables
from demo.processes import end_processes, processes_of
from demo.run import ONLY_IN_UI, UNKNOWN, main
from demo.story import DONE, FAILED, NOT_STARTED, Story, Told
from tests.tables.fixtures import StoredTable

ROWS = [{"order_id": "o1", "status": "paid"}]


def a_report(table: Path, *, reading: Reading | None = None) -> JobReport:
    return JobReport(
        outcome=Outcome.DONE,
        summary="",
        table=str(table),
        job="dag/run/task",
        attempt=1,
        release="1.2.0",
        instant=None if reading else "20261118134922564",
        rows=None if reading else RowCounts(inserted=1),
        reading=reading,
    )


def a_story(table: Path, reading: Reading) -> Story:
    told = (
        Told("place", DONE, 12.3, a_report(table)),
        Told("read", DONE, 4.5, a_report(table, reading=reading)),
    )
    return Story("quickstart", told, 17.0, content_of(ROWS))


def test_the_story_tells_tasks_timeline_and_rows(tmp_path: Path) -> None:
    table = StoredTable("1.2.0", "mor_done").unpack(tmp_path)
    content = content_of(ROWS)
    story = a_story(table, Reading(content.rows, content.checksum))
    text = story.as_text()
    assert story.is_good
    assert "  place  done   12.3 s  20261118134922564  1 inserted, 0 updated, 0 deleted\n" in text
    assert "  read   done    4.5 s                     1 rows read\n" in text
    assert text.count("mor_done · merge-on-read · table version 9") == 1
    assert f"checksum {content.checksum}, computed without Spark: equal" in text


def test_other_rows_than_expected_make_a_bad_story(tmp_path: Path) -> None:
    story = a_story(tmp_path, Reading(1, "0" * 16))
    assert not story.is_good
    assert "computed without Spark: NOT EQUAL" in story.as_text()


def test_a_failed_task_is_told_by_its_own_sentence() -> None:
    told = (Told("place", FAILED, 1.0, error="the source is missing"), Told("read", NOT_STARTED))
    story = Story("quickstart", told, 2.0)
    assert not story.is_good
    assert "  place failed: the source is missing" in story.as_text()
    assert "  read   not started\n" in story.as_text()


def test_an_unknown_example_is_answered_with_the_known_ones(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["no_such"]) == UNKNOWN
    said = capsys.readouterr().err
    assert "there is no example 'no_such'" in said
    assert "  quickstart       The first whole slice" in said
    (sensor,) = [line for line in said.splitlines() if line.startswith("  commit_sensor ")]
    assert sensor.endswith("(in `make ui`)")
    assert said.count("(in `make ui`)") == 1


@pytest.mark.parametrize("example", ONLY_IN_UI)
def test_an_example_that_waits_for_others_is_not_begun(
    example: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert (EXAMPLES / f"{example}.py").exists()
    monkeypatch.setattr("demo.run.Place", None)  # nothing is made anew, nothing is started
    assert main([example]) == UNKNOWN
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err == (
        "demo: commit_sensor waits for somebody else's commits, which nobody makes here: run it in"
        " `make ui`\n"
    )


def test_nothing_of_another_airflow_or_spark_is_used(tmp_path: Path) -> None:
    users = {
        "AIRFLOW_HOME": "/home/user/airflow",
        "AIRFLOW_CONFIG": "/home/user/airflow.cfg",
        "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": "postgresql://production",
        "AIRFLOW_CONN_HUDI_DEFAULT": "hudi://production",
        "SPARK_CONF_DIR": "/etc/spark",
        "AIRFLOW_HUDI_BUNDLE_1_2_0": "/jars/hudi.jar",
        "NO_PROXY": "internal",
    }
    place = Place(tmp_path)
    environ = airflow_environment(place, users) | connection_variables(place)
    assert environ["AIRFLOW_HOME"] == str(tmp_path / "airflow")
    assert environ["AIRFLOW_HUDI_BUNDLE_1_2_0"] == "/jars/hudi.jar"
    assert environ["NO_PROXY"] == "internal,127.0.0.1,localhost"
    assert str(tmp_path / "lake") in environ["AIRFLOW_CONN_HUDI_DEFAULT"]
    said = " ".join(f"{key}={value}" for key, value in environ.items())
    assert not [word for word in ("/home/user", "production", "/etc/spark") if word in said]


def test_one_at_a_time_in_a_folder(tmp_path: Path) -> None:
    place = Place(tmp_path)
    with (
        place.alone(),
        pytest.raises(EnvironmentProblem, match="another one is running"),
        Place(tmp_path).alone(),
    ):
        pass


def test_a_process_is_found_by_its_mark_and_ended_though_it_left_our_session(
    tmp_path: Path,
) -> None:
    place = Place(tmp_path)
    code = (
        "import signal, time; signal.signal(15, signal.SIG_IGN); print(flush=True); time.sleep(60)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code],
        env={**os.environ, MARK: str(tmp_path)},
        stdout=subprocess.PIPE,
        start_new_session=True,
    ) as deaf:
        assert deaf.stdout is not None
        deaf.stdout.readline()
        assert [process.pid for process in processes_of(place)] == [deaf.pid]
        assert processes_of(Place(tmp_path / "other")) == []
        assert end_processes(place)
    assert processes_of(place) == []
