# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from airflow_hudi.core.errors import MissingPackage, UnknownStorage
from airflow_hudi.core.storage import open_storage

ROOT = Path(__file__).parents[3]


@pytest.fixture(autouse=True)
def no_aws(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Whatever this machine has configured for AWS, the tests do not see it."""
    for name in os.environ:
        if name.startswith("AWS_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")


@pytest.mark.parametrize(
    ("uri", "root"),
    [
        ("/lake/orders", "/lake/orders"),
        ("/lake/a%20b", "/lake/a%20b"),
        ("file:///lake/a%20b", "/lake/a b"),
        ("file://localhost/lake", "/lake"),
        ("FILE:/lake/orders", "/lake/orders"),
        ("file:///lake/d%C3%ADa", "/lake/día"),
        ("file:///lake/%ff", os.fsdecode(b"/lake/\xff")),
        ("/lake/a:b", "/lake/a:b"),
    ],
)
def test_local_places_are_understood(uri: str, root: str) -> None:
    assert open_storage(uri).uri == root


def test_a_relative_path_is_fixed_when_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    storage = open_storage("lake")
    monkeypatch.chdir("/")
    assert storage.uri == str(tmp_path / "lake")


def test_the_home_folder_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert open_storage("~/lake").uri == str(tmp_path / "lake")


@pytest.mark.parametrize(
    "uri",
    ["s3://bucket", "s3://bucket/lake/orders", "s3a://bucket/lake/a%20b", "s3://bucket/a?b#c"],
)
def test_s3_places_keep_their_name(uri: str) -> None:
    assert open_storage(uri).uri == uri


def test_an_s3_uri_is_read_without_its_last_slash() -> None:
    assert open_storage("S3://bucket/lake/").uri == "s3://bucket/lake"


@pytest.mark.parametrize(
    "uri",
    [
        "",
        "memory://",
        "memory://lake",
        "hdfs://node/lake",
        "hdfs:/lake",
        "gs://bucket/lake",
        "https://host/lake",
        "s3://",
        "s3:///lake",
        "s3:/bucket/lake",
        "file://elsewhere/lake",
        "file://lake",
        "file:///a%00b",
        "nul\0",
        "~no-such-user-here/lake",
    ],
)
def test_any_other_place_is_refused(uri: str) -> None:
    with pytest.raises(UnknownStorage):
        open_storage(uri)


@pytest.mark.parametrize(
    "uri",
    ["s3://KEY:hidden@bucket/lake", "s3a://KEY:hid/den@bucket/lake", "ftp://me:hidden@host/lake"],
)
def test_keys_written_into_a_uri_are_not_repeated(uri: str) -> None:
    with pytest.raises(UnknownStorage) as refused:
        open_storage(uri)
    assert "hid" not in str(refused.value)
    assert "KEY" not in str(refused.value)


def test_importing_the_storages_loads_no_boto() -> None:
    code = (
        "import sys, airflow_hudi.testing, airflow_hudi.core.storage.s3\n"
        "print([n for n in sys.modules if n.split('.')[0] in ('boto3', 'botocore', 'pytest')])"
    )
    run = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        check=True,
        cwd=ROOT,
        env={"PYTHONPATH": str(ROOT)},
        text=True,
    )
    assert run.stdout.strip() == "[]"


def test_without_boto3_an_s3_uri_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "boto3", None)
    with pytest.raises(MissingPackage, match=r"airflow-hudi\[s3\]"):
        open_storage("s3://bucket/lake")
