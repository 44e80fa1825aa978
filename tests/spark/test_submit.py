# SPDX-License-Identifier: Apache-2.0
"""Job scripts under a real ``spark-submit``: from the wheel, from a zip, from the checkout; every
exit code, and the ways to end a driver."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import fastavro
import pytest

from airflow_hudi.core.checksums import content_of
from airflow_hudi.core.ingestion import (
    FileSource,
    IngestWork,
    NewTable,
    Operation,
    QuerySource,
    SourceFormat,
)
from airflow_hudi.core.jobs import Outcome
from airflow_hudi.core.properties import TableType
from airflow_hudi.core.services.kinds import Mode
from airflow_hudi.core.services.policies import CompactionPolicy
from airflow_hudi.core.services.works import ServiceWork
from airflow_hudi.core.timeline import load_timeline
from airflow_hudi.hooks.driver_output import DriverOutput
from airflow_hudi.spark.launch import Launch, job_script, package_zip
from tests.spark.bench import COLUMNS, Bench, rows
from tests.spark.engines import ROOT, Engines
from tests.spark.submits import RELEASE, BarePython, Submits, spark_environment, until
from tests.spark.tasks import execute

pytestmark = pytest.mark.spark

HOURS = 10**13  # of numbers to add up
BUSY = f"select string(sum(hash(id))) id, 'eu' region, 1L ts, 'a' v from range({HOURS})"
SOON = 60.0  # a driver that does not hear is ended without a report


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, unpacked into an empty folder."""
    dist, site = tmp_path_factory.mktemp("dist"), tmp_path_factory.mktemp("site")
    build = ("-m", "hatchling", "build", "--target", "wheel", "--directory", str(dist))
    subprocess.run([sys.executable, *build], cwd=ROOT, capture_output=True, check=True)
    (wheel,) = dist.glob("*.whl")
    zipfile.ZipFile(wheel).extractall(site)
    return site


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> BarePython:
    return BarePython(tmp_path_factory.mktemp("bare"))


@pytest.fixture(scope="module")
def made(engines: Engines, tmp_path_factory: pytest.TempPathFactory) -> Bench:
    """A merge-on-read table with log files; tests work on copies of it."""
    definition = NewTable(("id",), TableType.MERGE_ON_READ, ("ts",), ("region",))
    bench = Bench(engines[RELEASE], tmp_path_factory.mktemp("made"), definition)
    bench.upsert([*rows("abcd"), *rows("wx", region="us")])
    bench.upsert([*rows("ab", ts=2, v="b")])
    return bench


@pytest.fixture
def bench(made: Bench, tmp_path: Path) -> Bench:
    copy = replace(made, folder=tmp_path, model=dict(made.model))
    shutil.copytree(made.base, copy.base)
    return copy


@pytest.fixture
def submits(bench: Bench, tmp_path: Path) -> Submits:
    return Submits(tmp_path, bench.base)


def query(sql: str, bench: Bench) -> IngestWork:
    return IngestWork(Operation.UPSERT, QuerySource(sql), options=dict(bench.options))


def asked(python: BarePython, environ: dict[str, str], code: str) -> str:
    """What that Python says, in a folder where there is nothing."""
    done = subprocess.run(
        [environ["PYSPARK_PYTHON"], "-c", code],
        env=environ,
        cwd=python.folder,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout.strip() or done.stderr.strip().splitlines()[-1]


def moved(launch: Launch, site: Path) -> Launch:
    """The same launch, planned where the wheel is installed."""
    package, installed = str(ROOT / "airflow_hudi"), str(site / "airflow_hudi")
    conf = {key: value.replace(package, installed) for key, value in launch.conf.items()}
    script = site / "airflow_hudi" / "spark_jobs" / Path(launch.script).name
    return replace(launch, script=str(script), conf=conf)


# --- where the package comes from ------------------------------------------------------------


def test_from_the_wheel_a_driver_without_airflow_ingests_an_avro_source(
    bench: Bench, submits: Submits, site: Path, python: BarePython, tmp_path: Path
) -> None:
    records = [*rows("be", ts=3, v="avro"), *rows("y", region="us", ts=3, v="avro")]
    source = tmp_path / "landing" / "orders.avro"
    source.parent.mkdir()
    fields = [{"name": n, "type": "long" if n == "ts" else "string"} for n in COLUMNS]
    with source.open("wb") as stream:
        fastavro.writer(stream, {"type": "record", "name": "order", "fields": fields}, records)
    work = IngestWork(
        Operation.UPSERT,
        FileSource(str(source.parent), SourceFormat.AVRO),
        options=dict(bench.options),
    )
    environ = python.environment(site)
    launch = moved(submits.plan(work), site)
    assert "spark-avro" in launch.jars
    assert str(ROOT / "airflow_hudi") not in str(launch)
    assert asked(python, environ, "import airflow").startswith("ModuleNotFoundError")
    seen = asked(python, environ, "import airflow_hudi; print(airflow_hudi.__file__)")
    assert seen == str(site / "airflow_hudi" / "__init__.py")

    with submits.driver(submits.attempt(work), launch, environ) as driver:
        ended = driver.ended()

    assert ended.code == 0, ended.output
    report = ended.report
    assert report is not None
    assert report.outcome is Outcome.DONE
    assert report.rows is not None
    assert (report.rows.inserted, report.rows.updated) == (2, 1)
    bench.model.update({record["id"]: record for record in records})
    bench.check()


def test_from_the_checkout_a_driver_compacts_once_and_imports_no_airflow(
    bench: Bench, submits: Submits, tmp_path: Path
) -> None:
    watched = tmp_path / "watched"
    watched.mkdir()
    # Run by every Python that starts with this folder on its path, the driver's among them.
    (watched / "sitecustomize.py").write_text(_WITNESS)
    environ = spark_environment(
        PYTHONPATH=os.pathsep.join((str(ROOT), str(watched))), WITNESS=str(watched / "seen.json")
    )
    first = submits.run(ServiceWork(CompactionPolicy(), Mode.BOTH), environ)
    again = submits.run(ServiceWork(CompactionPolicy(), Mode.EXECUTE))

    assert first.code == 0, first.output
    assert first.report is not None
    assert first.report.outcome is Outcome.DONE
    assert first.report.plan is not None
    assert first.report.plan.log_files == 1
    assert json.loads((watched / "seen.json").read_text()) == {
        "airflow": False,
        "airflow_hudi": str(ROOT / "airflow_hudi" / "__init__.py"),
    }
    assert again.code == 3, again.output
    assert again.report is not None
    assert again.report.outcome is Outcome.NOTHING_TO_DO
    assert again.report.summary == "no compaction is pending"
    assert len(load_timeline(bench.table).pending()) == 0
    bench.check()


_WITNESS = """
import atexit, json, os, sys
def tell():
    found = getattr(sys.modules.get("airflow_hudi"), "__file__", None)
    if found and sys.argv[0].endswith("compaction.py"):
        seen = {"airflow": "airflow" in sys.modules, "airflow_hudi": found}
        open(os.environ["WITNESS"], "w").write(json.dumps(seen))
atexit.register(tell)
"""


def test_from_a_zip_sent_by_the_operator_driver_and_executors_read(
    bench: Bench, python: BarePython, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    environ = python.environment()
    unknown = asked(python, environ, "import airflow_hudi")
    assert unknown == "ModuleNotFoundError: No module named 'airflow_hudi'"
    hudi = {"conn_type": "hudi", "host": str(tmp_path / "lake"), "extra": {"ship": "zip"}}
    environ["AIRFLOW_CONN_HUDI_DEFAULT"] = json.dumps(hudi)
    environ["AIRFLOW_CONN_SPARK_DEFAULT"] = '{"conn_type": "spark", "host": "local[1]"}'
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    from airflow_hudi.operators.reading import HudiReadOperator  # noqa: PLC0415 - imports Airflow

    task = HudiReadOperator(task_id="read", table="orders", columns=COLUMNS)
    report, instance = execute(task)

    expected = content_of(bench.model.values())
    reading = report["reading"]
    assert (reading["rows"], reading["checksum"]) == (expected.rows, expected.checksum)
    assert instance.pushed["application_id"].startswith("local-")


@pytest.mark.parametrize("script", ["ingestion", "compaction", "reading"])
def test_a_script_explains_itself_without_pyspark(
    script: str, site: Path, python: BarePython, tmp_path: Path
) -> None:
    installed = site / "airflow_hudi" / "spark_jobs" / f"{script}.py"
    ways = {installed: site, job_script(script): package_zip(tmp_path)}
    for path, package in ways.items():
        environ = python.environment(package)
        assert asked(python, environ, "import pyspark").startswith("ModuleNotFoundError")
        shown, wrong = (
            subprocess.run(
                [environ["PYSPARK_PYTHON"], str(path), argument],
                env=environ,
                cwd=tmp_path,
                capture_output=True,
                text=True,
                check=False,
            )
            for argument in ("--help", "--attempts")
        )
        assert shown.returncode == 0, shown.stderr
        assert "--control URI --job FOLDER --attempt N" in shown.stdout
        assert wrong.returncode == 4
        assert "expected --control … --job … --attempt …, got '--attempts'" in wrong.stdout


# --- how a driver ends -----------------------------------------------------------------------


def test_a_spec_of_another_version_is_refused_and_nobody_may_try_it_again(
    bench: Bench, submits: Submits
) -> None:
    work = ServiceWork(CompactionPolicy(), Mode.EXECUTE)
    files = submits.attempt(work, package="9.9.0")

    with submits.driver(files, submits.plan(work)) as driver:
        skewed = driver.ended()
    with submits.driver(files, submits.plan(work)) as driver:
        second = driver.ended()

    assert skewed.code == 4, skewed.output
    assert skewed.report is not None
    assert skewed.report.error is not None
    assert skewed.report.error.kind == "VersionSkew"
    assert "written by airflow-hudi 9.9.0" in skewed.report.summary
    assert second.code == 4, second.output
    assert "this attempt has a driver, or was given up" in second.output
    assert second.report == skewed.report


def test_a_java_error_is_worth_a_retry_and_gives_no_secret_away(
    bench: Bench, submits: Submits, tmp_path: Path
) -> None:
    address = "jdbc:postgresql://shop:hunter2@db/x?user=shop&password=hunter2"
    bad = tmp_path / "bad.json"
    bad.write_text(json.dumps({"said": f"cannot reach {address}"}))
    sql = f"select string(raise_error(said)) id, 'eu' region, 1L ts, 'a' v from json.`{bad}`"
    before = load_timeline(bench.table).instants

    with submits.driver(submits.attempt(work := query(sql, bench)), submits.plan(work)) as driver:
        ended = driver.ended()

    assert ended.code == 1, ended.output
    report = ended.report
    assert report is not None
    assert report.is_retryable
    assert "cannot reach jdbc:postgresql://***@db/x?user=shop&password=***" in report.summary
    assert "cannot reach" in ended.output
    assert "hunter2" not in str(report)
    assert "hunter2" not in ended.output
    assert "hunter2" not in "".join(DriverOutput(driver.log).new_lines())
    assert load_timeline(bench.table).completed().instants == before


@pytest.mark.parametrize("way", ["a signal", "a word in the control folder"])
def test_a_driver_busy_in_spark_ends_within_seconds_and_reports_that_it_was_cancelled(
    way: str, bench: Bench, submits: Submits, tmp_path: Path
) -> None:
    events = tmp_path / "events"
    events.mkdir()
    log = {"spark.eventLog.enabled": "true", "spark.eventLog.dir": events.as_uri()}
    submits.conf = {**submits.conf, **log}
    work = query(BUSY, bench)

    with submits.driver(submits.attempt(work), submits.plan(work)) as driver:
        until(lambda: is_adding_up(events), driver)
        if way == "a signal":
            driver.signal_python()
        else:
            driver.files.cancel()
        ended = driver.ended(SOON)

    report = ended.report
    assert report is not None, ended.output
    assert ended.code == report.exit_code != 0
    assert report.error is not None
    assert report.error.kind == "JobCancelled"
    assert "was cancelled" in report.summary
    bench.check()


def is_adding_up(events: Path) -> bool:
    """Whether Spark has begun the job of the long query, by its own log of events."""
    told = "".join(file.read_text() for file in events.iterdir())
    return "SparkListenerJobStart" in told.partition(str(HOURS))[2]
