# SPDX-License-Identifier: Apache-2.0
"""Faults between us and an S3 server: the server is real (moto), the faults are ours."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from botocore.exceptions import (
    ClientError,
    ConnectionClosedError,
    EndpointConnectionError,
    NoCredentialsError,
    ReadTimeoutError,
)
from botocore.parsers import ResponseParserError
from mypy_boto3_s3 import S3Client

from airflow_hudi.core.storage.s3 import Patience, S3Storage

Send = Callable[[], Any]
Fault = Callable[[Send], Any]
URL = "http://127.0.0.1"


class Faulty:
    """A client whose n-th call of one method goes through the n-th fault; the rest is as usual."""

    def __init__(self, client: S3Client, method: str, *faults: Fault) -> None:
        self._client = client
        self._method = method
        self._faults = list(faults)
        self.requests: list[dict[str, Any]] = []

    def __getattr__(self, name: str) -> Any:
        plain = getattr(self._client, name)
        return plain if name != self._method else lambda **request: self._call(plain, request)

    def _call(self, plain: Callable[..., Any], request: dict[str, Any]) -> Any:
        self.requests.append(request)
        fault = self._faults.pop(0) if self._faults else no_fault
        return fault(lambda: plain(**request))


def no_fault(send: Send) -> Any:
    return send()


def lost_before(_: Send) -> Any:
    raise ConnectionClosedError(endpoint_url=URL)


def lost_after(send: Send) -> Any:
    send()
    raise ReadTimeoutError(endpoint_url=URL)


def no_connection(_: Send) -> Any:
    raise EndpointConnectionError(endpoint_url=URL)


def garbled_after(send: Send) -> Any:
    send()
    raise ResponseParserError("not XML")


def no_credentials(_: Send) -> Any:
    raise NoCredentialsError


def answer(status: int, code: str, *, retries: int = 0) -> Fault:
    def fault(_: Send) -> Any:
        metadata = {"HTTPStatusCode": status, "RetryAttempts": retries}
        error = {"Code": code, "Message": "AKIASECRET was here"}
        raise ClientError(cast("Any", {"Error": error, "ResponseMetadata": metadata}), "Op")

    return fault


def after(first: Callable[[], object], then: Fault) -> Fault:
    """Somebody else acts, then this fault."""

    def fault(send: Send) -> Any:
        first()
        return then(send)

    return fault


def then(fault: Fault, last: Callable[[], object]) -> Fault:
    """This fault, and somebody else acts before we look."""

    def both(send: Send) -> Any:
        try:
            return fault(send)
        finally:
            last()

    return both


class Stage:
    """One table prefix, seen by us through faults and by somebody else without."""

    def __init__(self, bucket: str, client: S3Client, writer: S3Client) -> None:
        self.bucket, self.client, self.writer = bucket, client, writer
        self.other = S3Storage(bucket, "t", client)
        self.slept: list[float] = []

    def ours(self, faulty: Faulty, *, reader: Faulty | None = None) -> S3Storage:
        return S3Storage(
            self.bucket,
            "t",
            cast("S3Client", reader or self.client),
            writer=cast("S3Client", faulty),
            patience=Patience(pauses=(1.0, 2.0), sleep=self.slept.append),
        )

    def putting(self, *faults: Fault) -> Faulty:
        return Faulty(self.writer, "put_object", *faults)

    def deleting(self, *faults: Fault) -> Faulty:
        return Faulty(self.writer, "delete_object", *faults)

    def foreign_put(self, data: bytes) -> None:
        self.client.put_object(Bucket=self.bucket, Key="t/a", Body=data)


UNAVAILABLE = answer(503, "ServiceUnavailable")
