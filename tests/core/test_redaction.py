# SPDX-License-Identifier: Apache-2.0
"""Secrets are refused where they would be readable, and blotted out where they appear."""

from __future__ import annotations

import pytest

from airflow_hudi.core.job_errors import SecretInSettings
from airflow_hudi.core.redaction import redacted, refuse_secrets

SECRETS = [
    "spark.hadoop.fs.s3a.access.key",
    "spark.hadoop.fs.s3a.secret.key",
    "spark.hadoop.fs.s3a.session.token",
    "spark.hadoop.fs.s3a.encryption.key",
    "spark.hadoop.fs.azure.account.key.lake.dfs.core.windows.net",
    "spark.hadoop.fs.azure.sas.container.lake.blob.core.windows.net",
    "spark.authenticate.secret",
    "spark.ssl.keyPassword",
    "hoodie.datasource.hive_sync.password",
    "hoodie.aws.secret.key",
    "AWS_SECRET_ACCESS_KEY",
    "aws_access_key_id",
    "api-key",
]
NO_SECRETS = [
    "hoodie.datasource.write.recordkey.field",
    "hoodie.table.keygenerator.class",
    "spark.sql.shuffle.partitions",
    "spark.hadoop.fs.s3a.path.style.access",
    "spark.hadoop.fs.s3a.aws.credentials.provider",
    "spark.hadoop.hadoop.security.credential.provider.path",
    "spark.hadoop.fs.azure.account.oauth.provider.type",
    "hoodie.aws.credentials.provider.class",
    "spark.kerberos.renewal.credentials",
    "spark.kubernetes.driver.secrets.lake",
    "spark.kubernetes.executor.secretKeyRef.PASSWORD",
]


@pytest.mark.parametrize("key", SECRETS)
def test_a_setting_that_holds_a_secret_is_refused(key: str) -> None:
    with pytest.raises(SecretInSettings) as raised:
        refuse_secrets(["spark.master", key])
    assert raised.value.keys == (key,)
    assert str(raised.value).startswith(f"{key} would be readable in the process list")
    assert "spark-defaults.conf" in str(raised.value)


@pytest.mark.parametrize("key", NO_SECRETS)
def test_a_setting_that_says_where_a_secret_is_kept_is_none(key: str) -> None:
    refuse_secrets([key])


HIDDEN = "hunter2"


@pytest.mark.parametrize(
    ("text", "without"),
    [
        (f"password={HIDDEN}", "password=***"),
        (f"Password: {HIDDEN}, user: joe", "Password: ***, user: joe"),
        (f'{{"secretKey": "{HIDDEN}", "a": 1}}', '{"secretKey": ***, "a": 1}'),
        (f'trustStorePassword="{HIDDEN} with blanks" next', "trustStorePassword=*** next"),
        (f"passphrase='{HIDDEN}'", "passphrase=***"),
        (f"-Dfs.s3a.secret.key={HIDDEN} -Dx=1", "-Dfs.s3a.secret.key=*** -Dx=1"),
        (f"AWS_SECRET_ACCESS_KEY={HIDDEN}", "AWS_SECRET_ACCESS_KEY=***"),
        (
            f"jdbc:db://h/x?user=joe&password={HIDDEN}&ssl=1",
            "jdbc:db://h/x?user=joe&password=***&ssl=1",
        ),
        (f"Authorization: Bearer {HIDDEN}.abc.def", "Authorization: Bearer ***"),
        (f"Authorization: Basic {HIDDEN}xx==", "Authorization: Basic ***"),
        (f"s3a://AKIA:{HIDDEN}@bucket/x", "s3a://***@bucket/x"),
        (f"s3a://AKIA:ab/{HIDDEN}/cd@bucket/x", "s3a://***@bucket/x"),
        (f"https://{HIDDEN}@host/x", "https://***@host/x"),
        (f"two: token={HIDDEN}\ntoken={HIDDEN}", "two: token=***\ntoken=***"),
    ],
)
def test_the_value_of_a_secret_is_blotted_out(text: str, without: str) -> None:
    assert redacted(text) == without


@pytest.mark.parametrize(
    "text",
    [
        "",
        "upsert into s3://bucket/orders: 5 rows",
        "Basic information about the table",
        "hoodie.datasource.write.recordkey.field=id",
        "at org.apache.Foo.bar(Foo.java:12)",
        "mail joe@example.com about s3://bucket/x",
    ],
)
def test_other_text_stays_as_it_is(text: str) -> None:
    assert redacted(text) == text


@pytest.mark.parametrize("part", ["x", "secret", "http://host:80/x,"])
def test_a_long_line_is_no_burden(part: str) -> None:
    line = part * 20_000  # took minutes where every letter began a search of its own
    assert redacted(line) == line
