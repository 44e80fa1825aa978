# SPDX-License-Identifier: Apache-2.0
"""Tables as assets: one spelling, there and back, and Airflow really asks us for it."""

from __future__ import annotations

import subprocess
import sys
from urllib.parse import urlsplit

import pytest
from airflow.providers.common.compat.sdk import HookLineageCollector
from airflow.sdk import Asset
from hypothesis import given
from hypothesis import strategies as st

from airflow_hudi.assets import hudi_asset, sanitize_uri, table_uri_of
from airflow_hudi.core.errors import InvalidAssetUri, NotAbsolute

SPELLINGS = [
    ("s3://bucket/lake/orders", "hudi://s3/bucket/lake/orders", "s3://bucket/lake/orders"),
    ("s3a://bucket/lake//orders/", "hudi://s3/bucket/lake/orders", "s3://bucket/lake/orders"),
    ("s3://bucket", "hudi://s3/bucket", "s3://bucket"),
    ("/lake/orders", "hudi://file/lake/orders", "/lake/orders"),
    ("file:///lake/orders/", "hudi://file/lake/orders", "/lake/orders"),
    ("file:/lake/all%20orders", "hudi://file/lake/all%20orders", "/lake/all orders"),
    ("/lake/50%?#", "hudi://file/lake/50%25%3F%23", "/lake/50%?#"),
    ("s3://b/day=1/a%20b", "hudi://s3/b/day=1/a%2520b", "s3://b/day=1/a%20b"),
    ("hdfs://name:8020/lake/t", "hudi://hdfs/name:8020/lake/t", "hdfs://name:8020/lake/t"),
]


@pytest.mark.parametrize(("table", "asset", "back"), SPELLINGS)
def test_a_table_and_its_asset_name_each_other(table: str, asset: str, back: str) -> None:
    made = hudi_asset(table)
    assert made.uri == made.name == asset
    assert table_uri_of(asset) == back
    assert sanitize_uri(urlsplit(asset)).geturl() == asset


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("hudi://s3a/bucket/lake/orders/", "hudi://s3/bucket/lake/orders"),
        ("hudi://S3/bucket//lake/./orders", "hudi://s3/bucket/lake/orders"),
        ("hudi://File/lake/all orders", "hudi://file/lake/all%20orders"),
    ],
)
def test_airflow_asks_us_for_the_one_spelling(written: str, meant: str) -> None:
    assert Asset(written).uri == meant
    assert Asset(uri=written).normalized_uri == meant


@pytest.mark.parametrize(
    ("uri", "because"),
    [
        ("hudi://user@s3/bucket/orders", "credentials"),
        ("hudi://s3/key:secret@bucket/orders", "credentials"),
        ("hudi://s3/bucket/orders?token=secret", "neither a query"),
        ("hudi://s3/bucket/orders#part", "neither a query"),
        ("hudi://s3/bucket/../orders", r"'\.\.' may lead anywhere"),
        ("hudi://s3/bucket/%2e%2e/orders", r"'\.\.' may lead anywhere"),
        ("hudi://s3/", "path is missing"),
        ("hudi://s3", "path is missing"),
        ("hudi://file/", "path is missing"),
        ("hudi:///lake/orders", "storage or the path is missing"),
        ("s3://bucket/orders", "scheme is not hudi"),
    ],
)
def test_what_names_no_table_is_refused_without_its_secret(uri: str, because: str) -> None:
    with pytest.raises(InvalidAssetUri, match=because) as refused:
        sanitize_uri(urlsplit(uri))
    assert "secret" not in str(refused.value)
    with pytest.raises(ValueError, match=because):
        table_uri_of(uri)


def test_airflow_refuses_what_we_refuse() -> None:
    with pytest.raises(InvalidAssetUri, match="neither a query"):
        Asset("hudi://s3/bucket/orders?x=1")


def test_a_table_that_is_nowhere_has_no_asset() -> None:
    with pytest.raises(NotAbsolute):
        hudi_asset("lake/orders")
    with pytest.raises(InvalidAssetUri, match="credentials") as refused:
        hudi_asset("s3://key:secret@bucket/orders")
    assert "secret" not in str(refused.value)


def test_name_group_and_extra_are_kept() -> None:
    asset = hudi_asset("/lake/orders", name="orders", group="sales", extra={"team": "a"})
    assert (asset.name, asset.group, asset.extra) == ("orders", "sales", {"team": "a"})


def test_airflow_can_make_the_asset_itself() -> None:
    collector = HookLineageCollector()  # type: ignore[no-untyped-call]
    made = collector.create_asset(
        scheme="hudi", asset_kwargs={"table_uri": "s3://bucket/orders"}, asset_extra={"a": 1}
    )
    assert made == hudi_asset("s3://bucket/orders", extra={"a": 1})


@given(
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="/\0"), min_size=1).filter(
        lambda name: name not in (".", "..")
    )
)
def test_every_folder_name_comes_back(name: str) -> None:
    assert table_uri_of(hudi_asset(f"/lake/{name}").uri) == f"/lake/{name}"


def test_the_module_is_light() -> None:
    code = "import sys, airflow_hudi.assets; print('airflow' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "False"
