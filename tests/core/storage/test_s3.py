# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from datetime import timedelta

import pytest
from mypy_boto3_s3 import S3Client

from airflow_hudi.core.errors import StorageError
from airflow_hudi.core.storage import Listing
from airflow_hudi.core.storage.s3 import S3Storage
from airflow_hudi.testing import StorageContract


class TestS3Storage(StorageContract):
    racers = 4
    rounds = 3

    @pytest.fixture
    def storage(self, bucket: str, client: S3Client, writer: S3Client) -> S3Storage:
        return S3Storage(bucket, "lake/tables", client, writer=writer)


def test_the_root_may_be_the_whole_bucket(bucket: str, client: S3Client) -> None:
    storage = S3Storage(bucket, client=client)
    storage.create("a/b", b"1")
    storage.create("c", b"2")
    assert storage.uri == f"s3://{bucket}"
    assert storage.read("a/b") == b"1"
    listing = storage.list_folder("")
    assert ([file.path for file in listing.files], listing.folders) == (["c"], ("a",))


def test_a_long_listing_is_read_page_by_page(bucket: str, client: S3Client) -> None:
    storage = S3Storage(bucket, "t", client)
    for number in range(7):
        storage.create(f"p/{number}", b"1")
        storage.create(f"p/f{number}/x", b"1")
    paginator = client.get_paginator("list_objects_v2")
    pages = list(
        paginator.paginate(
            Bucket=bucket, Prefix="t/p/", Delimiter="/", PaginationConfig={"PageSize": 3}
        )
    )
    assert len(pages) > 1

    def small_pages(**request: object) -> None:
        params = request["params"]
        assert isinstance(params, dict)
        params.setdefault("MaxKeys", 3)

    client.meta.events.register("provide-client-params.s3.ListObjectsV2", small_pages)
    try:
        listing = storage.list_folder("p")
    finally:
        client.meta.events.unregister("provide-client-params.s3.ListObjectsV2", small_pages)
    assert [file.path for file in listing.files] == [f"p/{number}" for number in range(7)]
    assert listing.folders == tuple(f"f{number}" for number in range(7))


def test_objects_that_stand_for_folders_are_not_listed(bucket: str, client: S3Client) -> None:
    for key in ("t/", "t/day=1/", "t/day=2_$folder$", "t//lost", "t/file"):
        client.put_object(Bucket=bucket, Key=key, Body=b"")
    listing = S3Storage(bucket, "t", client).list_folder("")
    assert [file.path for file in listing.files] == ["file"]
    assert listing.folders == ("day=1",)


def test_a_prefix_is_no_beginning_of_a_name(bucket: str, client: S3Client) -> None:
    client.put_object(Bucket=bucket, Key="orders_old/x", Body=b"")
    assert S3Storage(bucket, "orders", client).list_folder("") == Listing()


def test_the_version_is_the_etag(bucket: str, client: S3Client) -> None:
    storage = S3Storage(bucket, "t", client)
    version = storage.create("a", b"1")
    assert version == client.head_object(Bucket=bucket, Key="t/a")["ETag"]


def test_a_missing_bucket_is_an_error_everywhere(client: S3Client, writer: S3Client) -> None:
    storage = S3Storage("no-such-bucket-here", "t", client, writer=writer)
    version = S3Storage.__name__
    for call in (
        lambda: storage.list_folder(""),
        lambda: storage.read("a"),
        lambda: storage.create("a", b""),
        lambda: storage.replace("a", b"", expected=version),  # type: ignore[arg-type]
        lambda: storage.delete("a"),
    ):
        with pytest.raises(StorageError, match="NoSuchBucket") as failed:
            call()
        assert type(failed.value) is StorageError
        assert not failed.value.retryable


def test_uri_and_child_keep_the_scheme(client: S3Client) -> None:
    storage = S3Storage("lake", "/a//b/", client, scheme="s3a")
    assert storage.uri == "s3a://lake/a/b"
    assert storage.child("c d").uri == "s3a://lake/a/b/c d"
    assert storage.child("").uri == storage.uri
    assert "s3a://lake/a/b" in repr(storage)


def test_the_clients_made_here_follow_the_environment(
    bucket: str, s3_endpoint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", s3_endpoint)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "7")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    storage = S3Storage(bucket, "t")
    version = storage.create("a", b"1")
    storage.replace("a", b"2", expected=version)
    assert storage.read("a") == b"2"
    assert storage.list_folder("").files[0].modified_at.utcoffset() == timedelta(0)
    assert storage._writer.meta.config.retries["total_max_attempts"] == 1  # type: ignore[attr-defined]
    assert storage._client.meta.config.retries["total_max_attempts"] == 7  # type: ignore[attr-defined]
    storage._client.close()
    storage._writer.close()
