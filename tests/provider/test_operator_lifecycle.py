# SPDX-License-Identifier: Apache-2.0
"""One task and its driver, from the look before to the report; no Spark, but real processes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import psutil
import pytest
import structlog

from airflow_hudi.core.errors import StorageError
from airflow_hudi.core.job_errors import DriverDied, JobFailed
from tests.provider.stand_in import COMPACT, INGEST, KEY, READ, FakeTask, Stage, an_operator, until
from tests.provider.stand_in_driver import APPLICATION, COMPLETED, INSTANT, TRACKING_URL, Part
from tests.tables.fixtures import StoredTable

COMMIT = f"{INSTANT}_{COMPLETED}.deltacommit"


def an_ingest(stage: Stage, **arguments: Any) -> Any:
    source = str(stage.warehouse / "landing")
    return an_operator(INGEST, **{"source": source, "source_format": "json", **arguments})


def run(operator: Any, ti: FakeTask | None = None) -> Any:
    ti = ti or FakeTask()
    ti.task = operator
    return operator.execute({"ti": ti})


def exceptions() -> Any:
    from airflow.providers.common.compat import sdk  # noqa: PLC0415 - slow

    return sdk


# --- how it ends ----------------------------------------------------------------------------------


def test_a_job_that_is_done_returns_its_report(stage: Stage) -> None:
    stage.play(Part(commits=COMMIT, instant=INSTANT, summary="3 rows"))
    ti = FakeTask()

    report = run(an_ingest(stage), ti)

    assert report["outcome"] == "done"
    assert report["summary"] == "3 rows"
    assert report["instant"] == INSTANT
    assert report["job"] == str(KEY)
    assert ti.pushed["report"] == report
    assert len(stage.noted("worked")) == 1
    assert stage.living() == []


def test_links_and_application_are_there_while_the_job_runs(stage: Stage) -> None:
    stage.play(Part(waits=True))
    ti = FakeTask()

    def let_it_end(key: str) -> None:
        if key == "_link_HudiSparkLink":
            stage.open()

    ti.on_push = let_it_end
    run(an_operator(READ), ti)

    assert ti.pushed["application_id"] == APPLICATION
    assert ti.pushed["tracking_url"] == ti.pushed["_link_HudiSparkLink"] == TRACKING_URL
    assert ti.pushed["_link_HudiTableLink"] == "hudi/table?conn_id=hudi_default&table=orders"


def test_a_job_too_short_to_be_seen_running_has_its_application_all_the_same(stage: Stage) -> None:
    stage.play(Part(pulse=60))  # no beat but the first, when Spark is not up yet
    ti = FakeTask()

    run(an_operator(READ), ti)

    assert ti.pushed["application_id"] == APPLICATION
    assert ti.pushed["_link_HudiSparkLink"] == TRACKING_URL


def test_nothing_to_do_skips(stage: Stage) -> None:
    stage.play(Part(ends="nothing", summary="no log files"))
    ti = FakeTask()

    with pytest.raises(exceptions().AirflowSkipException, match=r"^nothing to do: no log files$"):
        run(an_operator(READ), ti)

    assert ti.pushed["report"]["outcome"] == "nothing_to_do"


def test_nothing_to_do_succeeds_if_asked_to(stage: Stage) -> None:
    stage.play(Part(ends="nothing"))
    assert run(an_operator(READ, when_nothing_to_do="succeed"))["outcome"] == "nothing_to_do"


def test_an_unknown_answer_to_nothing_to_do_is_refused() -> None:
    with pytest.raises(ValueError, match="choose 'skip' or 'succeed'"):
        an_operator(READ, when_nothing_to_do="shrug")


def test_a_failure_that_retrying_cannot_cure_fails_with_the_reports_sentence(stage: Stage) -> None:
    stage.play(Part(ends="fails", summary="the source has no column id"))

    with pytest.raises(exceptions().AirflowFailException) as raised:
        run(an_operator(READ))

    assert str(raised.value) == "the source has no column id"


def test_a_failure_that_may_pass_is_raised_as_it_is_and_the_retry_is_a_new_attempt(
    stage: Stage,
) -> None:
    stage.play(Part(ends="fails", retryable=True, summary="an executor was lost"))
    operator = an_operator(READ)

    with pytest.raises(JobFailed, match=r"^an executor was lost$"):
        run(operator)
    stage.play(Part())
    assert run(operator)["attempt"] == 2


def test_a_driver_that_dies_without_a_report_is_said_with_its_last_words(stage: Stage) -> None:
    stage.play(Part(ends="crashes"))

    with pytest.raises(DriverDied) as raised:
        run(an_operator(READ))

    assert raised.value.retryable
    assert "its process is gone" in str(raised.value)
    assert "\nreading the source\njava.lang.OutOfMemoryError: Java heap" in str(raised.value)


def test_a_driver_that_never_starts_is_said_with_its_last_words(stage: Stage) -> None:
    stage.play(Part(never_starts=True))
    with pytest.raises(DriverDied, match="no such master"):
        run(an_operator(READ))


def test_a_report_that_the_timeline_contradicts_is_not_believed(stage: Stage) -> None:
    stage.play(Part(instant=INSTANT, summary="3 rows"))

    with pytest.raises(exceptions().AirflowFailException) as raised:
        run(an_ingest(stage))

    assert "reported done (3 rows), but the table's timeline shows nothing" in str(raised.value)


@pytest.mark.parametrize("ends", ["fails", "crashes"])
def test_a_job_that_ended_badly_after_its_commit_is_done(stage: Stage, ends: str) -> None:
    stage.play(Part(ends=ends, commits=COMMIT, summary="no room for the index"))

    report = run(an_ingest(stage))

    assert (report["outcome"], report["instant"]) == ("done", INSTANT)
    assert report["rows"]["inserted"] == 3
    if ends == "fails":
        assert report["notes"][0].endswith("no room for the index")


def test_an_ingest_that_is_cleared_after_its_success_does_not_write_again(stage: Stage) -> None:
    stage.play(Part(commits=COMMIT, instant=INSTANT))
    run(an_ingest(stage))

    with pytest.raises(exceptions().AirflowSkipException, match="in an earlier run"):
        run(an_ingest(stage))

    assert len(stage.noted("started")) == 1


def test_a_compaction_that_is_cleared_after_its_success_is_skipped(stage: Stage) -> None:
    base = StoredTable("1.2.0", "mor_pending").unpack(stage.warehouse)
    (plan, *_) = sorted(base.glob(".hoodie/timeline/*.compaction.requested"))
    instant = plan.name.split(".")[0]
    stage.play(Part(commits=f"{instant}_{COMPLETED}.commit", instant=instant))
    operator = an_operator(COMPACT, table="mor_pending", mode="execute", instant=instant)
    assert run(operator)["instant"] == instant

    with pytest.raises(exceptions().AirflowSkipException, match=f"{instant} was completed at"):
        run(operator)

    assert len(stage.noted("started")) == 1


def test_a_driver_that_lingers_after_its_report_is_ended(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    from airflow_hudi.operators import base  # noqa: PLC0415 - slow

    monkeypatch.setattr(base, "_LAST_OUTPUT", 0.0)
    stage.play(Part(lingers=True))
    assert run(an_operator(READ))["outcome"] == "done"
    assert stage.living() == []


def test_a_storage_that_is_away_for_a_moment_costs_no_job(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    from airflow_hudi.hooks import jobs  # noqa: PLC0415 - slow

    stage.play(Part(waits=True))
    seen = jobs.look
    looks: list[int] = []

    def look(files: Any, patience: Any) -> Any:
        looks.append(files.number)
        if len(looks) <= 3:
            raise StorageError("the folder cannot be used: stale file handle")
        stage.open()
        return seen(files, patience)

    monkeypatch.setattr(jobs, "look", look)
    assert run(an_operator(READ))["outcome"] == "done"
    assert len(stage.noted("started")) == 1


def test_a_finished_driver_leaves_neither_process_nor_zombie(stage: Stage) -> None:
    run(an_operator(READ))
    (session,) = {start["session"] for start in stage.noted("started")}
    until(lambda: not psutil.pid_exists(session), "the driver is reaped")


# --- what the driver is given ---------------------------------------------------------------------


def test_the_driver_inherits_no_open_file_and_nothing_of_airflows(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AIRFLOW__DATABASE__SQL_ALCHEMY_CONN", "postgresql://u:hush@db/airflow")
    monkeypatch.setenv("AIRFLOW_VAR_KEY", "hush")
    with (stage.folder / "secrets.txt").open("w"):
        run(an_operator(READ))

    (start,) = stage.noted("started")
    log = str(Path(stage.attempt().storage.uri, stage.attempt().path, "driver.log"))
    own = [name for name in start["files"] if "/proc/" not in name]
    assert sorted(own) == ["/dev/null", log, log]
    assert not [name for name in start["environ"] if name.startswith(("AIRFLOW__", "AIRFLOW_CONN"))]
    assert "hush" not in " ".join(start["environ"].values())
    assert "hush" not in " ".join(start["argv"])
    assert start["environ"]["JAVA_HOME"] == str(stage.folder / "java")


def test_the_command_line_is_the_providers_and_names_nothing_but_the_record(stage: Stage) -> None:
    run(an_operator(READ, spark_conf={"spark.executor.memory": "2g"}))

    (start,) = stage.noted("started")
    said = start["argv"]
    assert said[:2] == ["--master", "local[2]"]
    assert "spark.executor.memory=2g" in said
    assert said[-6::2] == ["--control", "--job", "--attempt"]
    assert said[-7].endswith("spark_jobs/reading.py")
    assert said[said.index("--name") + 1] == str(KEY)


# --- the task's log -------------------------------------------------------------------------------

NOISE = (
    "Setting default log level to WARN.",
    "26/01/01 10:00:00 WARN NativeCodeLoader: Unable to load native-hadoop library",
    "",
)


def test_the_tasks_log_has_the_drivers_progress_and_no_noise(stage: Stage) -> None:
    stage.play(Part(says=(*NOISE, "a warning", "fs.s3a.secret.key=abc")))

    with structlog.testing.capture_logs() as logs:
        run(an_operator(READ))

    said = [entry["event"] % entry.get("positional_args", ()) for entry in logs]
    driver = said[said.index("a warning") :]
    assert driver[:3] == ["a warning", "fs.s3a.secret.key=***", "reading the source"]
    assert "done: it is done" in driver
    assert not [line for line in said if "»" in line or line in NOISE]
    assert f"Spark application {APPLICATION} ({TRACKING_URL})" in said


# --- refused before anything is started -----------------------------------------------------------

REFUSED: dict[str, tuple[str, dict[str, Any], str]] = {
    "missing table": (READ, {"table": "nowhere"}, "no Hudi table at"),
    "missing table to write": (INGEST, {"table": "nowhere"}, "no Hudi table at"),
    "wrong table type": (COMPACT, {"table": "cow_history"}, "compaction needs a MERGE_ON_READ"),
    "contradicting options": (
        INGEST,
        {"options": {"hoodie.datasource.write.table.type": "COPY_ON_WRITE"}},
        "the job contradicts",
    ),
    "missing source": (INGEST, {"source": "/no/such/folder"}, "there is no source at /no/such"),
    "relative source": (INGEST, {"source": "landing"}, "'landing' is a relative path"),
    "unknown format": (INGEST, {"source_format": None}, "pass source_format: parquet, csv"),
    "empty source": (INGEST, {"source": " "}, "did a template render to nothing?"),
    "no source": (INGEST, {"source": None}, "upsert needs a source"),
    "a secret for Spark": (
        READ,
        {"spark_conf": {"spark.hadoop.fs.s3a.secret.key": "hush"}},
        "spark.hadoop.fs.s3a.secret.key would be readable",
    ),
    "a secret for Hudi": (
        READ,
        {"options": {"hoodie.meta.sync.password": "hush"}},
        "hoodie.meta.sync.password would be readable",
    ),
    "a secret for the source": (
        INGEST,
        {"source_options": {"password": "hush"}},
        "password would be readable",
    ),
    "unknown operation": (INGEST, {"operation": "replace"}, "operation is 'replace'; choose one"),
    "unknown mode": (COMPACT, {"mode": "now"}, "mode is 'now'; choose one of schedule"),
    "empty instant": (COMPACT, {"mode": "execute", "instant": ""}, "instant is empty"),
    "instant that is none": (COMPACT, {"mode": "execute", "instant": "soon"}, "'soon' is not an"),
    "unknown plan": (COMPACT, {"mode": "execute", "instant": INSTANT}, "there is no plan 2026"),
    "a text as partitions": (
        INGEST,
        {"operation": "delete_partition", "source": None, "partitions": "['eu']"},
        "partitions is the text",
    ),
    "a text as columns": (READ, {"columns": "id, name"}, "columns is the text"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_work_starts_nothing(stage: Stage, case: str) -> None:
    StoredTable("1.2.0", "cow_history").unpack(stage.warehouse)
    path, arguments, says = REFUSED[case]
    operator = an_ingest(stage, **arguments) if path == INGEST else an_operator(path, **arguments)

    with pytest.raises(exceptions().AirflowFailException) as raised:
        run(operator)

    assert says in str(raised.value)
    assert "hush" not in str(raised.value)
    assert stage.noted("started") == []
    assert not (stage.warehouse / ".hudi_control").exists()
