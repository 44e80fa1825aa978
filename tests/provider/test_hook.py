# SPDX-License-Identifier: Apache-2.0
"""The hook: the same connection in all of Airflow's shapes, and a Test button that really looks."""

from __future__ import annotations

import json
import os
import re
import threading
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from airflow_hudi.core.connection import HudiSettings
from airflow_hudi.core.errors import InvalidSetting, StorageError, UnknownSetting
from airflow_hudi.core.locks import LockKind, LockSettings, ZooKeeper
from tests.tables.fixtures import StoredTable
from tests.zookeeper import ZooKeeperServer

if TYPE_CHECKING:
    from airflow_hudi.hooks.hudi import HudiHook

ROOT = Path(__file__).resolve().parents[2]
VARIABLE = "AIRFLOW_CONN_HUDI_DEFAULT"
ENSEMBLE = ZooKeeper("zk1:2181,zk2:2181")

# In the order of the document.
DOCUMENTED = (
    HudiSettings("/lake"),
    HudiSettings(
        "s3://bucket/lake",
        release="1.1.1",
        lock=LockSettings(LockKind.ZOOKEEPER, zookeeper=ENSEMBLE),
    ),
    HudiSettings("/data/lake", release="0.15.0", lock=LockSettings(expiry_minutes=5)),
    HudiSettings("s3://bucket/lake", lock=LockSettings(LockKind.ZOOKEEPER, zookeeper=ENSEMBLE)),
    HudiSettings("s3://bucket/lake", control="s3://bucket/control"),
)


def hook_of(connection: str, monkeypatch: pytest.MonkeyPatch) -> HudiHook:
    from airflow_hudi.hooks.hudi import HudiHook  # noqa: PLC0415 - Airflow is slow to import

    monkeypatch.setenv(VARIABLE, connection)
    return HudiHook()


def hook_on(warehouse: Path | str, monkeypatch: pytest.MonkeyPatch, **extra: object) -> HudiHook:
    connection = {"conn_type": "hudi", "host": str(warehouse), "extra": extra}
    return hook_of(json.dumps(connection), monkeypatch)


# --- the connection in every shape ----------------------------------------------------------------


@pytest.mark.parametrize("position", range(len(DOCUMENTED)))
def test_the_documented_connections_say_what_they_should(
    position: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (ROOT / "docs" / "connection.md").read_text()
    documented = re.findall(rf"^{VARIABLE}='(.*)'$", text, re.MULTILINE)
    assert len(documented) == len(DOCUMENTED)
    assert hook_of(documented[position], monkeypatch).settings == DOCUMENTED[position]


@pytest.mark.parametrize(
    "warehouse", ["/data/My Lake", "s3://bucket/Lake/gold", "s3a://bucket", "file:///data/lake"]
)
def test_the_form_and_the_uri_airflow_makes_of_it_are_one(
    warehouse: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from airflow.models.connection import Connection  # noqa: PLC0415 - slow

    extra = {
        "release": "1.0.2",
        "lock": "zookeeper",
        "zookeeper_hosts": "zk1:2181,zk2:2181",
        "zookeeper_session_seconds": 20,
        "lock_patience_seconds": None,
        "control": "s3://bucket/control",
    }
    form = Connection(conn_type="hudi", host=warehouse, extra=json.dumps(extra))
    settings = hook_of(form.get_uri(), monkeypatch).settings  # as the Test button's route does
    assert settings == hook_on(warehouse, monkeypatch, **extra).settings
    assert settings.warehouse == warehouse
    assert settings.lock.zookeeper == ZooKeeper(
        "zk1:2181,zk2:2181", session_timeout=timedelta(seconds=20)
    )


def test_login_and_password_are_not_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    connection = {"conn_type": "hudi", "host": "/lake", "login": "me", "password": "secret"}
    settings = hook_of(json.dumps(connection), monkeypatch).settings
    assert settings == HudiSettings("/lake")


def test_a_typo_in_the_extra_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    hook = hook_on("/lake", monkeypatch, relaese="1.2.0")
    with pytest.raises(UnknownSetting, match="'relaese'"):
        _ = hook.settings


# --- what the hook leads to -----------------------------------------------------------------------


def test_nothing_is_looked_up_until_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    from airflow_hudi.hooks.hudi import HudiHook  # noqa: PLC0415 - slow

    monkeypatch.delenv(VARIABLE, raising=False)
    hook = HudiHook("hudi_default")
    monkeypatch.setenv(VARIABLE, "hudi:///lake")
    assert hook.table_uri("orders") == "/lake/orders"
    monkeypatch.setenv(VARIABLE, "hudi:///elsewhere")
    assert hook.table_uri("orders") == "/lake/orders"  # and then once


def test_a_table_is_opened_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    base = StoredTable("1.2.0", "mor_done").unpack(tmp_path)
    hook = hook_on(base.parent, monkeypatch)
    assert hook.open_table(base.name).uri == str(base)
    assert hook.open_table(str(base)).properties == hook.open_table(base.name).properties
    assert hook.get_conn().uri == str(base.parent)
    assert hook.control_storage().uri == f"{base.parent}/.hudi_control"


# --- the Test button ------------------------------------------------------------------------------


@pytest.fixture
def lake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", "spark://local")
    lake = tmp_path / "lake"
    (lake / "orders").mkdir(parents=True)
    return lake


def test_all_is_well(lake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    passed, message = hook_on(lake, monkeypatch).test_connection()
    assert passed, message
    assert [line.split(":")[0] for line in message.splitlines()] == [
        "✓ warehouse",
        "✓ control folder",
        "✓ lock",
        "✓ spark-submit",
        "✓ Spark connection",
    ]
    assert f"{lake} can be read (folders in it: 1)" in message
    assert "one machine only" in message
    assert list((lake / ".hudi_control").iterdir()) == []


def test_airflow_itself_runs_the_test_of_a_connection_it_only_holds_in_memory(
    lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from airflow import models, sdk  # noqa: PLC0415 - slow

    # Up to Airflow 3.2 it is the stored connection that can be tested, and a variable holds it.
    testable = hasattr(sdk.Connection, "test_connection")
    kind: Any = sdk.Connection if testable else models.Connection
    connection = kind(conn_id="not_saved_yet", conn_type="hudi", host=str(lake))
    if not testable:
        monkeypatch.setenv("AIRFLOW_CONN_NOT_SAVED_YET", connection.get_uri())
    passed, message = connection.test_connection()
    assert passed, message


def test_a_zookeeper_lock_is_tried(
    lake: Path, zookeeper_server: ZooKeeperServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    hook = hook_on(lake, monkeypatch, lock="zookeeper", zookeeper_hosts=zookeeper_server.hosts)
    passed, message = hook.test_connection()
    assert passed, message
    assert "✓ lock: zookeeper, taken, refused to a second client" in message


def failures(hook: HudiHook) -> str:
    passed, message = hook.test_connection()
    assert not passed
    return "\n".join(line for line in message.splitlines() if not line.startswith("✓"))


def test_a_warehouse_that_is_not_there_is_said(lake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said = failures(hook_on(lake / "missing", monkeypatch))
    assert said.startswith(f"✗ warehouse: {lake}/missing is no folder on this machine: create it")


def test_a_control_folder_that_cannot_be_written_is_said(
    lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (lake / "file").touch()
    said = failures(hook_on(lake, monkeypatch, control=f"{lake}/file"))
    assert "✗ control folder: " in said
    assert "✗ lock: the lock failed at the step 'take'" in said


def test_an_ensemble_that_is_not_there_is_said(lake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hook = hook_on(
        lake,
        monkeypatch,
        lock="zookeeper",
        zookeeper_hosts="127.0.0.1:1",
        zookeeper_connection_seconds=1,
    )
    assert failures(hook).startswith("✗ lock: the lock at 127.0.0.1:1 cannot be reached")


def test_a_filesystem_lock_on_s3_is_said(lake: Path) -> None:
    from airflow_hudi.hooks import checks  # noqa: PLC0415 - slow

    settings = HudiSettings("s3://bucket/lake", control=str(lake))
    said = checks.run_check("lock", lambda: checks.look_at_lock(settings))
    assert not said.passed
    assert "choose the zookeeper lock" in said.said


def test_a_missing_spark_connection_is_said(lake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said = failures(hook_on(lake, monkeypatch, spark_conn_id="spark_nowhere"))
    assert said == (
        "✗ Spark connection: there is no connection 'spark_nowhere'; add it, or name another in"
        " spark_conn_id"
    )


def test_a_missing_spark_submit_is_said(lake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("airflow_hudi.hooks.checks.find_spark_submit", lambda: None)
    assert failures(hook_on(lake, monkeypatch)).startswith("✗ spark-submit: not found")


def test_a_connection_that_says_nothing_or_nonsense_fails_with_the_reason(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from airflow_hudi.hooks.hudi import HudiHook  # noqa: PLC0415 - slow

    assert "warehouse cannot be ''" in failures(hook_of("hudi://", monkeypatch))
    assert "hudi_nowhere" in failures(HudiHook("hudi_nowhere"))


def test_a_check_that_takes_too_long_ends_in_time() -> None:
    from airflow_hudi.hooks import checks  # noqa: PLC0415 - slow

    answer = threading.Event()

    def look() -> str:
        answer.wait(30)
        return "too late"

    check = checks.run_check("warehouse", look, seconds=0.01)
    answer.set()
    assert str(check).startswith("✗ warehouse: no answer within")


def test_what_was_not_read_as_it_was_written_is_said(
    lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from airflow_hudi.core.storage import LocalStorage  # noqa: PLC0415 - beside its use
    from airflow_hudi.hooks import checks  # noqa: PLC0415 - slow

    monkeypatch.setattr(LocalStorage, "read", lambda _self, _path: b"other")
    with pytest.raises(StorageError, match="not read as it was written"):
        checks.look_at_control(HudiSettings(str(lake)))
    assert list((lake / ".hudi_control").iterdir()) == []


# --- spark-submit ---------------------------------------------------------------------------------


def command(folder: Path) -> Path:
    folder.mkdir(parents=True)
    file = folder / "spark-submit"
    file.write_text("#!/bin/sh\n")
    file.chmod(0o755)
    return file


def test_spark_submit_is_found_in_order(tmp_path: Path) -> None:
    from airflow_hudi.hooks.spark_binary import find_spark_submit  # noqa: PLC0415 - beside its use

    home = command(tmp_path / "spark" / "bin")
    on_path = command(tmp_path / "commands")
    path = f"{tmp_path}/nothing{os.pathsep}{on_path.parent}"
    assert find_spark_submit({"SPARK_HOME": f"{tmp_path}/spark", "PATH": path}) == home
    assert find_spark_submit({"SPARK_HOME": f"{tmp_path}/gone", "PATH": path}) == on_path
    packaged = find_spark_submit({})
    assert packaged is not None
    assert packaged.parts[-3:] == ("pyspark", "bin", "spark-submit")


def test_without_any_spark_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    from airflow_hudi.hooks import spark_binary  # noqa: PLC0415 - beside its use

    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    assert spark_binary.find_spark_submit({"PATH": "/nowhere"}) is None


def test_an_invalid_setting_of_the_lock_names_its_field(monkeypatch: pytest.MonkeyPatch) -> None:
    hook = hook_on("/lake", monkeypatch, lock_expiry_minutes=0)
    with pytest.raises(InvalidSetting, match="lock_expiry_minutes cannot be 0"):
        _ = hook.settings
