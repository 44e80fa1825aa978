# SPDX-License-Identifier: Apache-2.0
"""Deletes and reads whose answer is lost, late or wrong."""

from __future__ import annotations

from typing import Any

import pytest
from botocore.exceptions import ResponseStreamingError
from mypy_boto3_s3 import S3Client

from airflow_hudi.core.errors import OutcomeUnknown, StorageError, VersionMismatch
from tests.core.storage.s3_faults import (
    Faulty,
    Send,
    Stage,
    after,
    answer,
    lost_after,
    lost_before,
    no_fault,
)


@pytest.fixture
def stage(bucket: str, client: S3Client, writer: S3Client) -> Stage:
    return Stage(bucket, client, writer)


class TestConditionalDelete:
    def test_an_unsent_delete_is_repeated(self, stage: Stage) -> None:
        old = stage.other.create("a", b"old")
        stage.ours(stage.deleting(lost_before)).delete("a", expected=old)
        assert stage.other.list_folder("").files == ()

    def test_who_removed_an_object_is_not_guessed(self, stage: Stage) -> None:
        old = stage.other.create("a", b"old")
        with pytest.raises(OutcomeUnknown):
            stage.ours(stage.deleting(lost_after)).delete("a", expected=old)

    def test_a_change_just_before_is_refused(self, stage: Stage) -> None:
        old = stage.other.create("a", b"old")
        deleting = stage.deleting(after(lambda: stage.foreign_put(b"theirs"), no_fault))
        with pytest.raises(VersionMismatch):
            stage.ours(deleting).delete("a", expected=old)
        assert stage.other.read("a") == b"theirs"

    def test_a_server_without_if_match_checks_and_then_deletes(self, stage: Stage) -> None:
        old = stage.other.create("a", b"old")
        deleting = stage.deleting(answer(501, "NotImplemented"))
        stage.ours(deleting).delete("a", expected=old)
        assert stage.other.list_folder("").files == ()
        assert [("IfMatch" in request) for request in deleting.requests] == [True, False]
        stage.foreign_put(b"theirs")
        with pytest.raises(VersionMismatch):
            stage.ours(stage.deleting(answer(501, "NotImplemented"))).delete("a", expected=old)

    def test_a_server_that_ignores_if_match_is_checked_first(self, stage: Stage) -> None:
        old = stage.other.create("a", b"old")
        stage.foreign_put(b"theirs")
        deleting = stage.deleting()
        with pytest.raises(VersionMismatch):
            stage.ours(deleting).delete("a", expected=old)
        assert deleting.requests == []

    def test_failures_to_look_or_delete_are_said(self, stage: Stage) -> None:
        old = stage.other.create("a", b"old")
        looking = Faulty(stage.client, "head_object", answer(403, "403"))
        with pytest.raises(StorageError, match="403"):
            stage.ours(stage.deleting(), reader=looking).delete("a", expected=old)
        with pytest.raises(StorageError, match="AccessDenied"):
            stage.ours(stage.deleting(answer(403, "AccessDenied"))).delete("a", expected=old)
        removing = Faulty(stage.client, "delete_object", answer(403, "AccessDenied"))
        with pytest.raises(StorageError, match="AccessDenied"):
            stage.ours(stage.deleting(), reader=removing).delete("a")


def test_a_server_that_says_missing_to_a_delete_is_no_error(stage: Stage) -> None:
    removing = Faulty(stage.client, "delete_object", answer(404, "NoSuchKey"))
    stage.ours(stage.deleting(), reader=removing).delete("a")
    assert len(removing.requests) == 1


class _BrokenBody:
    def read(self) -> bytes:
        raise ResponseStreamingError(error="cut")


def _cut(send: Send) -> Any:
    got = send()
    got["Body"].close()
    return {**got, "Body": _BrokenBody()}


def test_a_body_that_broke_off_is_read_again(stage: Stage) -> None:
    stage.other.create("a", b"whole")
    reader = Faulty(stage.client, "get_object", _cut, _cut)
    assert stage.ours(stage.putting(), reader=reader).read("a") == b"whole"
    assert len(reader.requests) == 3


def test_a_body_that_always_breaks_off_is_a_retryable_failure(stage: Stage) -> None:
    stage.other.create("a", b"whole")
    reader = Faulty(stage.client, "get_object", *[_cut] * 9)
    with pytest.raises(StorageError, match="ResponseStreamingError") as failed:
        stage.ours(stage.putting(), reader=reader).read("a")
    assert failed.value.retryable
