# SPDX-License-Identifier: Apache-2.0
"""Conditional writes whose answer is lost, late or wrong."""

from __future__ import annotations

from typing import Any

import pytest
from botocore.exceptions import ReadTimeoutError
from mypy_boto3_s3 import S3Client

from airflow_hudi.core.errors import (
    ObjectExists,
    OutcomeUnknown,
    StorageError,
    VersionMismatch,
)
from airflow_hudi.core.storage.s3 import S3Storage
from tests.core.storage.s3_faults import (
    UNAVAILABLE,
    URL,
    Fault,
    Faulty,
    Send,
    Stage,
    after,
    answer,
    garbled_after,
    lost_after,
    lost_before,
    no_connection,
    no_credentials,
    no_fault,
    then,
)


@pytest.fixture
def stage(bucket: str, client: S3Client, writer: S3Client) -> Stage:
    return Stage(bucket, client, writer)


RECOVERABLE = {
    "lost before it was applied": lost_before,
    "lost after it was applied": lost_after,
    "garbled after it was applied": garbled_after,
    "no connection": no_connection,
    "internal error": answer(500, "InternalError"),
    "unavailable": UNAVAILABLE,
    "throttled": answer(503, "SlowDown"),
    "conflict": answer(409, "ConditionalRequestConflict"),
    "bad gateway without S3's words": answer(502, "502"),
}


@pytest.mark.parametrize("fault", RECOVERABLE.values(), ids=RECOVERABLE)
def test_create_survives_one_fault(stage: Stage, fault: Fault) -> None:
    version = stage.ours(stage.putting(fault)).create("a", b"ours")
    assert stage.other.read_versioned("a").version == version
    assert stage.other.read("a") == b"ours"


@pytest.mark.parametrize("fault", RECOVERABLE.values(), ids=RECOVERABLE)
def test_replace_survives_one_fault(stage: Stage, fault: Fault) -> None:
    old = stage.other.create("a", b"old")
    version = stage.ours(stage.putting(fault)).replace("a", b"ours", expected=old)
    assert stage.other.read_versioned("a").version == version
    assert stage.other.read("a") == b"ours"


def test_an_applied_put_is_not_sent_again(stage: Stage) -> None:
    putting = stage.putting(lost_after)
    stage.ours(putting).create("a", b"ours")
    assert len(putting.requests) == 1
    assert stage.slept == []


def test_a_repeated_put_carries_the_same_token_and_pauses_first(stage: Stage) -> None:
    putting = stage.putting(lost_before, UNAVAILABLE)
    stage.ours(putting).create("a", b"ours")
    assert len(putting.requests) == 3
    assert len({request["Metadata"]["airflow-hudi-write"] for request in putting.requests}) == 1
    assert stage.slept == [1.0, 2.0]


def test_a_late_first_put_is_recognised_when_the_second_is_refused(stage: Stage) -> None:
    late: list[Send] = []

    def delayed(send: Send) -> Any:
        late.append(send)
        raise ReadTimeoutError(endpoint_url=URL)

    putting = stage.putting(delayed, lambda send: (late[0](), send())[1])
    version = stage.ours(putting).create("a", b"ours")
    assert stage.other.read_versioned("a").version == version


def test_a_clear_refusal_needs_no_second_look(stage: Stage) -> None:
    old = stage.other.create("a", b"theirs")
    looking = Faulty(stage.client, "head_object", answer(500, "InternalError"))
    ours = stage.ours(stage.putting(), reader=looking)
    with pytest.raises(ObjectExists):
        ours.create("a", b"ours")
    stage.other.replace("a", b"changed", expected=old)
    with pytest.raises(VersionMismatch):
        ours.replace("a", b"ours", expected=old)
    assert looking.requests == []


def test_a_conflict_and_then_another_winner_is_a_clear_refusal(stage: Stage) -> None:
    conflict = answer(409, "ConditionalRequestConflict")
    putting = stage.putting(after(lambda: stage.foreign_put(b"theirs"), conflict))
    with pytest.raises(ObjectExists):
        stage.ours(putting).create("a", b"ours")


@pytest.mark.parametrize("fault", [lost_before, UNAVAILABLE])
def test_create_does_not_guess_when_somebody_else_was_there(stage: Stage, fault: Fault) -> None:
    putting = stage.putting(after(lambda: stage.foreign_put(b"theirs"), fault))
    with pytest.raises(OutcomeUnknown) as unknown:
        stage.ours(putting).create("a", b"ours")
    assert not unknown.value.retryable
    assert stage.other.read("a") == b"theirs"


def test_create_does_not_guess_when_its_write_was_written_over(stage: Stage) -> None:
    putting = stage.putting(then(lost_after, lambda: stage.foreign_put(b"theirs")))
    with pytest.raises(OutcomeUnknown):
        stage.ours(putting).create("a", b"ours")
    assert len(putting.requests) == 1


@pytest.mark.parametrize("removed", [False, True])
def test_replace_does_not_guess_when_somebody_else_was_there(
    stage: Stage, *, removed: bool
) -> None:
    old = stage.other.create("a", b"old")
    act = (lambda: stage.other.delete("a")) if removed else (lambda: stage.foreign_put(b"theirs"))
    with pytest.raises(OutcomeUnknown):
        stage.ours(stage.putting(after(act, lost_before))).replace("a", b"ours", expected=old)


def test_a_refusal_after_a_doubt_is_looked_at_too(stage: Stage) -> None:
    putting = stage.putting(lost_before, after(lambda: stage.foreign_put(b"theirs"), no_fault))
    with pytest.raises(OutcomeUnknown, match="412"):
        stage.ours(putting).create("a", b"ours")


def test_the_number_of_attempts_is_bounded(stage: Stage) -> None:
    putting = stage.putting(*[lost_before] * 9)
    with pytest.raises(OutcomeUnknown):
        stage.ours(putting).create("a", b"ours")
    assert len(putting.requests) == 3


@pytest.mark.parametrize("fault", [no_connection, answer(409, "OperationAborted")])
def test_a_write_that_never_happened_may_be_tried_again_later(stage: Stage, fault: Fault) -> None:
    with pytest.raises(StorageError) as failed:
        stage.ours(stage.putting(*[fault] * 9)).create("a", b"ours")
    assert type(failed.value) is StorageError
    assert failed.value.retryable


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        (answer(403, "AccessDenied"), "s3:ListBucket"),
        (answer(501, "NotImplemented"), "conditional writes"),
        (no_credentials, "NoCredentialsError"),
    ],
)
def test_a_hopeless_write_fails_at_once(stage: Stage, fault: Fault, says: str) -> None:
    putting = stage.putting(fault)
    with pytest.raises(StorageError, match=says) as failed:
        stage.ours(putting).create("a", b"ours")
    assert not failed.value.retryable
    assert "AKIASECRET" not in str(failed.value)
    assert len(putting.requests) == 1


def test_an_outcome_that_cannot_be_looked_at_is_unknown(stage: Stage) -> None:
    looking = Faulty(stage.client, "head_object", answer(403, "403"))
    with pytest.raises(OutcomeUnknown, match="looking at it failed"):
        stage.ours(stage.putting(lost_after), reader=looking).create("a", b"ours")


class TestAClientWithItsOwnRetries:
    """One that is passed in: its answer may be the answer to a repetition."""

    def retrying(self, stage: Stage, *faults: Fault) -> S3Storage:
        return stage.ours(Faulty(stage.client, "put_object", *faults))

    def test_a_refusal_by_our_own_effect_is_a_success(self, stage: Stage) -> None:
        def repeated(send: Send) -> Any:
            send()
            return answer(412, "PreconditionFailed", retries=1)(send)

        version = self.retrying(stage, repeated).create("a", b"ours")
        assert stage.other.read_versioned("a").version == version

    def test_a_refusal_after_repetitions_is_in_doubt(self, stage: Stage) -> None:
        stage.foreign_put(b"theirs")
        with pytest.raises(OutcomeUnknown):
            self.retrying(stage, answer(412, "PreconditionFailed", retries=1)).create("a", b"ours")

    def test_a_clear_refusal_stays_clear(self, stage: Stage) -> None:
        stage.foreign_put(b"theirs")
        with pytest.raises(ObjectExists):
            self.retrying(stage).create("a", b"ours")

    def test_no_connection_is_in_doubt(self, stage: Stage) -> None:
        ours = self.retrying(stage, lambda send: (send(), no_connection(send)))
        version = ours.create("a", b"ours")
        assert stage.other.read_versioned("a").version == version
