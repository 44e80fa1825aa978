# SPDX-License-Identifier: Apache-2.0
"""The command that starts a driver, from the Spark connection's many forms."""

from __future__ import annotations

import base64
import json
import tempfile
from pathlib import Path
from typing import Any

import pytest

from airflow_hudi.core.errors import EnvironmentProblem
from airflow_hudi.core.job_errors import InvalidWork
from airflow_hudi.spark.launch import Launch

LAUNCH = Launch(
    script="/jobs/reading.py",
    conf={"spark.executor.memory": "2g"},
    jars="/jars/hudi.jar",
    driver_class_path="/jars/hudi.jar",
    py_files=None,
)
ARGUMENTS = ["--control", "/control", "--job", "jobs/d/r/t", "--attempt", "1"]


@pytest.fixture(autouse=True)
def spark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    command = tmp_path / "bin" / "spark-submit"
    command.parent.mkdir()
    command.touch(mode=0o755)
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return command


def hook_for(connection: object, monkeypatch: pytest.MonkeyPatch) -> Any:
    from airflow_hudi.hooks.spark_submit import DetachedSparkSubmit  # noqa: PLC0415 - slow

    said = connection if isinstance(connection, str) else json.dumps(connection)
    monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", said)
    return DetachedSparkSubmit.of(
        LAUNCH, conn_id="spark_default", name="d/r/t", arguments=ARGUMENTS
    )


def command_for(connection: object, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    return list(hook_for(connection, monkeypatch)._build_spark_submit_command(LAUNCH.script))


def option(command: list[str], name: str) -> str | None:
    return command[command.index(name) + 1] if name in command else None


MASTERS = {
    "local": ({"conn_type": "spark", "host": "local[*]"}, "local[*]"),
    "local as URI": ("spark://local%5B2%5D", "local[2]"),
    "standalone": ({"conn_type": "spark", "host": "spark://m", "port": 7077}, "spark://m:7077"),
    "standalone, host alone": ({"conn_type": "spark", "host": "m", "port": 7077}, "spark://m:7077"),
    "standalone as URI": ("spark://m:7077", "spark://m:7077"),
    "yarn": ({"conn_type": "spark", "host": "yarn"}, "yarn"),
    "yarn as URI": ("spark://yarn", "yarn"),
}


@pytest.mark.parametrize("form", MASTERS)
def test_the_master_is_the_connections(
    form: str, monkeypatch: pytest.MonkeyPatch, spark: Path
) -> None:
    connection, master = MASTERS[form]

    command = command_for(connection, monkeypatch)

    assert command[0] == str(spark)
    assert option(command, "--master") == master
    assert option(command, "--conf") == "spark.executor.memory=2g"
    assert option(command, "--jars") == option(command, "--driver-class-path") == "/jars/hudi.jar"
    assert option(command, "--deploy-mode") is None
    assert command[-7:] == [LAUNCH.script, *ARGUMENTS]


def test_a_driver_in_yarns_cluster_runs_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    extra = {"deploy-mode": "cluster", "queue": "root.etl"}
    hook = hook_for({"conn_type": "spark", "host": "yarn", "extra": extra}, monkeypatch)
    command = hook._build_spark_submit_command(LAUNCH.script)
    assert hook.runs_elsewhere
    assert option(command, "--deploy-mode") == "cluster"
    assert option(command, "--queue") == "root.etl"


@pytest.mark.parametrize(
    "connection",
    [
        "spark://m:7077?deploy-mode=cluster",
        {"conn_type": "spark", "host": "local[*]", "extra": {"deploy-mode": "cluster"}},
    ],
)
def test_cluster_mode_where_there_is_none_is_refused(
    connection: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(
        InvalidWork, match="Spark runs no Python driver in cluster mode on "
    ) as said:
        hook_for(connection, monkeypatch)
    assert "set the Spark connection's deploy mode to client" in str(said.value)


def test_a_connection_that_is_not_there_is_not_taken_for_yarn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from airflow_hudi.hooks.spark_submit import DetachedSparkSubmit  # noqa: PLC0415 - slow

    monkeypatch.delenv("AIRFLOW_CONN_SPARK_DEFAULT", raising=False)
    with pytest.raises(EnvironmentProblem) as said:
        DetachedSparkSubmit.of(LAUNCH, conn_id="spark_typo", name="n", arguments=[])
    assert str(said.value) == (
        "there is no Spark connection 'spark_typo': add it, or name another in spark_conn_id of the"
        " Hudi connection"
    )


def test_a_machine_without_spark_is_said_with_a_cure(monkeypatch: pytest.MonkeyPatch) -> None:
    from airflow_hudi.hooks import spark_submit  # noqa: PLC0415 - slow

    monkeypatch.setattr(spark_submit, "find_spark_submit", lambda _: None)
    with pytest.raises(EnvironmentProblem, match="no spark-submit in SPARK_HOME, on PATH"):
        hook_for("spark://yarn", monkeypatch)


def test_the_connections_secrets_are_not_on_the_command_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    keytab = base64.b64encode(b"the keytab").decode()
    command = command_for(
        {
            "conn_type": "spark",
            "host": "yarn",
            "login": "me",
            "password": "hush",
            "extra": {"principal": "me@REALM", "keytab": keytab},
        },
        monkeypatch,
    )
    assert option(command, "--keytab") == str(tmp_path / "airflow_keytab-me@REALM")
    assert "hush" not in " ".join(command)
    assert keytab not in " ".join(command)


def test_a_relative_spark_home_is_found_where_the_driver_runs_too(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, spark: Path
) -> None:
    monkeypatch.chdir(tmp_path.parent)
    monkeypatch.setenv("SPARK_HOME", tmp_path.name)
    assert command_for("spark://yarn", monkeypatch)[0] == str(spark)
