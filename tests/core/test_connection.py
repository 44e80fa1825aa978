# SPDX-License-Identifier: Apache-2.0
"""What a connection's fields stand for; Airflow itself is not needed to know it."""

from __future__ import annotations

from datetime import timedelta

import pytest

from airflow_hudi.core.connection import (
    EXTRA_FIELDS,
    NEWEST_RELEASE,
    HudiSettings,
    parse_connection,
    table_uri,
)
from airflow_hudi.core.errors import (
    AirflowHudiError,
    InvalidSetting,
    UnknownRelease,
    UnknownSetting,
    UnsafePath,
    UnsuitableLock,
)
from airflow_hudi.core.locks import LockKind, LockSettings, ZooKeeper
from airflow_hudi.core.values import from_json, to_json


def test_a_warehouse_is_enough() -> None:
    settings = parse_connection(host="/lake")
    assert settings == HudiSettings(warehouse="/lake")
    assert settings.release == NEWEST_RELEASE == "1.2.0"
    assert settings.spark_conn_id == "spark_default"
    assert settings.lock == LockSettings(LockKind.FILESYSTEM)
    assert settings.control_uri == "/lake/.hudi_control"
    assert settings.bundle is None
    assert settings.ship == "installed"


@pytest.mark.parametrize(
    ("host", "schema", "extra", "warehouse"),
    [
        ("/data/lake/", None, None, "/data/lake"),
        ("s3://bucket/lake", "", None, "s3://bucket/lake"),
        ("s3a://bucket", None, None, "s3a://bucket"),
        ("s3://bucket", "lake/gold", None, "s3://bucket/lake/gold"),
        ("", "data/lake", None, "/data/lake"),
        (None, None, "s3://bucket/lake", "s3://bucket/lake"),
        ("", "", "/lake", "/lake"),
        ("file:///data/lake", "", None, "file:///data/lake"),
    ],
)
def test_the_warehouse_in_every_shape(
    host: str | None, schema: str | None, extra: str | None, warehouse: str
) -> None:
    given = {"warehouse": extra}
    assert parse_connection(host=host, schema=schema, extra=given).warehouse == warehouse


@pytest.mark.parametrize("host", ["", "lake", "hdfs://nn/lake", "s3://", "s3:", "~/lake", "C:\\x"])
def test_a_warehouse_that_no_storage_serves_is_refused(host: str) -> None:
    with pytest.raises(InvalidSetting, match=r"warehouse cannot be .* s3://bucket"):
        parse_connection(host=host)


def test_two_warehouses_are_refused() -> None:
    with pytest.raises(InvalidSetting, match="host names the warehouse already"):
        parse_connection(host="/lake", extra={"warehouse": "/other"})


def test_all_that_can_be_said() -> None:
    settings = parse_connection(
        host="s3://bucket/lake",
        extra={
            "release": "0.15.0",
            "spark_conn_id": "spark_big",
            "lock": "zookeeper",
            "lock_patience_seconds": "120",
            "zookeeper_hosts": "zk1:2181,zk2:2181",
            "zookeeper_base_path": "/team/hudi/",
            "zookeeper_session_seconds": 20,
            "zookeeper_connection_seconds": "5",
            "control": "s3://bucket/control/",
            "bundle": "/jars/hudi.jar",
            "ship": "s3://bucket/airflow_hudi.zip",
        },
    )
    assert settings == HudiSettings(
        warehouse="s3://bucket/lake",
        release="0.15.0",
        spark_conn_id="spark_big",
        lock=LockSettings(
            LockKind.ZOOKEEPER,
            patience=timedelta(minutes=2),
            zookeeper=ZooKeeper(
                "zk1:2181,zk2:2181", "/team/hudi", timedelta(seconds=20), timedelta(seconds=5)
            ),
        ),
        control="s3://bucket/control",
        bundle="/jars/hudi.jar",
        ship="s3://bucket/airflow_hudi.zip",
    )
    assert from_json(HudiSettings, to_json(settings)) == settings


def test_an_expiry_of_the_filesystem_lock() -> None:
    settings = parse_connection(
        host="/lake", extra={"lock_expiry_minutes": 3, "lock_patience_seconds": 200}
    )
    assert settings.lock == LockSettings(expiry_minutes=3, patience=timedelta(seconds=200))


def test_fields_left_empty_in_the_form_are_as_good_as_missing() -> None:
    empty = dict.fromkeys(EXTRA_FIELDS, "") | {"lock_expiry_minutes": None}
    assert parse_connection(host="/lake", extra=empty) == HudiSettings("/lake")


def test_an_unknown_field_is_refused_by_name_with_the_known_ones() -> None:
    with pytest.raises(UnknownSetting, match="no setting 'relaese'") as raised:
        parse_connection(host="/lake", extra={"relaese": "1.2.0"})
    assert raised.value.known == EXTRA_FIELDS
    assert all(name in str(raised.value) for name in EXTRA_FIELDS)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("lock", "file"),
        ("lock", 1),
        ("lock_expiry_minutes", "ten"),
        ("lock_expiry_minutes", 0),
        ("lock_expiry_minutes", -1),
        ("lock_expiry_minutes", 1.5),
        ("lock_expiry_minutes", True),
        ("lock_patience_seconds", 60),
        ("lock_patience_seconds", 10**400),
        ("zookeeper_hosts", "zk:2181"),
        ("zookeeper_session_seconds", 5),
        ("control", "control"),
        ("bundle", "hudi.jar"),
        ("bundle", "/jars/hudi"),
        ("ship", "wheel"),
        ("ship", "airflow_hudi.zip"),
    ],
)
def test_a_wrong_value_is_refused_by_the_name_of_its_field(field: str, value: object) -> None:
    with pytest.raises(InvalidSetting, match="it must be") as raised:
        parse_connection(host="/lake", extra={field: value})
    assert raised.value.setting == field
    assert field in str(raised.value)


def test_a_lock_that_was_forgotten_is_not_replaced_by_another() -> None:
    extra = {"zookeeper_hosts": "zk:2181"}
    with pytest.raises(InvalidSetting, match="belongs to the lock 'zookeeper', and the lock is"):
        parse_connection(host="/lake", extra=extra)
    with pytest.raises(InvalidSetting, match="belongs to the lock 'filesystem'"):
        parse_connection(
            host="/lake", extra={**extra, "lock": "zookeeper", "lock_expiry_minutes": 5}
        )


def test_a_zookeeper_lock_without_hosts_is_refused() -> None:
    with pytest.raises(InvalidSetting, match=r"zookeeper_hosts cannot be ''.*zk1:2181"):
        parse_connection(host="/lake", extra={"lock": "zookeeper"})


def test_an_unknown_release_is_refused() -> None:
    with pytest.raises(UnknownRelease, match="choose one of"):
        parse_connection(host="/lake", extra={"release": "2.0"})


def test_a_port_means_nothing() -> None:
    with pytest.raises(InvalidSetting, match="port cannot be 9000"):
        parse_connection(host="/lake", port=9000)


def test_a_filesystem_lock_on_an_object_store_is_refused_when_chosen_or_needed() -> None:
    with pytest.raises(UnsuitableLock, match="one machine only"):
        parse_connection(host="s3://bucket/lake", extra={"lock": "filesystem"})
    readable = parse_connection(host="s3://bucket/lake")  # readers need no lock
    with pytest.raises(UnsuitableLock, match="choose the zookeeper lock"):
        readable.lock_for("s3://bucket/lake/orders")
    assert readable.lock_for("/elsewhere/orders") == LockSettings()


@pytest.mark.parametrize(
    ("table", "uri"),
    [
        ("orders", "s3://bucket/lake/orders"),
        ("db/orders/", "s3://bucket/lake/db/orders"),
        ("./orders", "s3://bucket/lake/orders"),
        ("/data/orders/", "/data/orders"),
        ("s3a://other/orders", "s3a://other/orders"),
        ("file:/data/orders", "file:/data/orders"),
        ("orders:v2", "s3://bucket/lake/orders:v2"),
        ("orders:", "s3://bucket/lake/orders:"),
    ],
)
def test_where_a_table_is(table: str, uri: str) -> None:
    assert table_uri(HudiSettings("s3://bucket/lake"), table) == uri


@pytest.mark.parametrize(
    ("table", "error"),
    [("../orders", UnsafePath), ("", InvalidSetting), (".", InvalidSetting)],
)
def test_a_name_that_leads_out_of_the_warehouse_is_refused(
    table: str, error: type[AirflowHudiError]
) -> None:
    with pytest.raises(error):
        table_uri(HudiSettings("/lake"), table)
