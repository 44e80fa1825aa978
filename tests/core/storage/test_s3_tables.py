# SPDX-License-Identifier: Apache-2.0
"""A real table on S3 reads as it does on disk, through the command line too."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from mypy_boto3_s3 import S3Client

from airflow_hudi.cli import main
from tests.tables.fixtures import StoredTable


def upload(client: S3Client, bucket: str, base: Path) -> None:
    for path in sorted(base.rglob("*")):
        if path.is_file():
            name = path.relative_to(base).as_posix()
            client.put_object(Bucket=bucket, Key=f"lake/t/{name}", Body=path.read_bytes())


@pytest.fixture(autouse=True)
def boto3_finds_the_server(s3_endpoint: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", s3_endpoint)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")


@pytest.mark.parametrize("release", ["0.15.0", "1.2.0"])
def test_the_command_line_reads_a_table_on_s3(
    release: str,
    bucket: str,
    client: S3Client,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    base = StoredTable(release, "mor_pending").unpack(tmp_path)
    upload(client, bucket, base)

    for command in ("timeline", "plans", "table"):
        reports = []
        for path in (str(base), f"s3a://{bucket}/lake/t"):
            assert main([command, path, "--json"]) == 0
            reports.append(json.loads(capsys.readouterr().out))
        here, there = reports
        assert there["table"].pop("uri") == f"s3a://{bucket}/lake/t"
        here["table"].pop("uri")
        if release == "0.15.0":  # layout 1 keeps completion times only as the files' own times
            forget_completion_times(here, there)
        assert there == here


def forget_completion_times(*reports: dict[str, Any]) -> None:
    for report in reports:
        instants = report["instants"]
        for instant in instants if isinstance(instants, list) else [report["latest_write"]]:
            instant.pop("completed_at")


def test_no_table_there_is_one_sentence(
    bucket: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["timeline", f"s3://{bucket}/nothing"]) == 1
    assert capsys.readouterr().err.startswith(
        f"airflow-hudi: no Hudi table at s3://{bucket}/nothing"
    )
    assert main(["timeline", "s3://no-such-bucket-here/t"]) == 1
    assert capsys.readouterr().err.count("\n") == 1
