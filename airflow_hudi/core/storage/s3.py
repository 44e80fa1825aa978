# SPDX-License-Identifier: Apache-2.0
"""A prefix of an S3 bucket, or of a server that speaks S3, as a storage."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from datetime import timezone
from typing import TYPE_CHECKING, Any

from airflow_hudi.core.errors import (
    MissingPackage,
    ObjectExists,
    ObjectNotFound,
    VersionMismatch,
)
from airflow_hudi.core.storage._objects import object_path
from airflow_hudi.core.storage._s3_requests import (
    Change,
    Found,
    Patience,
    Trace,
    attempt,
    carry_out,
    code_of,
    failure,
    is_missing,
    sdk_errors,
    sends_once,
)
from airflow_hudi.core.storage.base import Content, FileInfo, Listing, Version, checked_path

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client
    from mypy_boto3_s3.type_defs import ListObjectsV2OutputTypeDef, ObjectTypeDef

__all__ = ["Patience", "S3Storage"]

_TOKEN = "airflow-hudi-write"  # noqa: S105 - the name of a metadata field, not a secret
_HADOOP_FOLDER = "_$folder$"
_DEFAULT_PATIENCE = Patience()


class S3Storage:
    """Objects below one prefix, written with S3's conditional requests.

    Every conditional PUT carries a random token in the object's metadata. When no clear answer
    comes (connection lost, timeout, 5xx), the object is looked at: our token means success; an
    object that is absent (create) or unchanged (replace) means the same PUT may be sent again, a
    few times; anything else is :class:`OutcomeUnknown`. botocore's own retries are off for these
    writes, in the client made here; a client that is passed in may have them, which only makes
    the doubtful cases more frequent.

    A conditional delete sends If-Match. A server that answers "not implemented", or that ignores
    the header, leaves a plain check just before the delete: a write in between is then lost.

    Endpoint, region and credentials are found as boto3 finds them (``AWS_ENDPOINT_URL_S3``, …).
    """

    def __init__(
        self,
        bucket: str,
        prefix: str = "",
        client: S3Client | None = None,
        *,
        writer: S3Client | None = None,
        scheme: str = "s3",
        patience: Patience = _DEFAULT_PATIENCE,
    ) -> None:
        self._bucket = bucket
        self._prefix = checked_path(prefix.strip("/"))
        if client is None:
            client, once = _connect()
            writer = writer or once
        self._client = client
        self._writer = writer or client
        self._scheme = scheme
        self._patience = patience

    def __repr__(self) -> str:
        return f"S3Storage({self.uri!r})"

    @property
    def uri(self) -> str:
        """Where the root is, with the scheme it was opened with."""
        return f"{self._scheme}://{self._bucket}/{self._prefix}".rstrip("/")

    def child(self, path: str) -> S3Storage:
        """The same bucket and clients, rooted at a folder below."""
        return S3Storage(
            self._bucket,
            self._prefix_of(checked_path(path)),
            self._client,
            writer=self._writer,
            scheme=self._scheme,
            patience=self._patience,
        )

    def list_folder(self, path: str) -> Listing:
        """The direct children of a folder, without the empty objects that stand for folders."""
        folder = self._prefix_of(checked_path(path))
        try:
            pages = tuple(self._pages(folder))
        except sdk_errors() as error:
            raise failure(path, error) from error
        files = (
            self._file_info(item)
            for page in pages
            for item in page.get("Contents", ())
            if not item["Key"].endswith(("/", _HADOOP_FOLDER))
        )
        folders = (
            common["Prefix"][len(folder) : -1]
            for page in pages
            for common in page.get("CommonPrefixes", ())
        )
        return Listing(
            files=tuple(sorted(files, key=lambda file: file.path)),
            folders=tuple(sorted(name for name in folders if name)),
        )

    def read(self, path: str) -> bytes:
        """The whole object, or :class:`ObjectNotFound`."""
        return self.read_versioned(path).data

    def read_versioned(self, path: str) -> Content:
        """The whole object with its ETag as its version."""
        key = self._key(path)
        pauses = iter(self._patience.pauses)
        while True:
            try:
                answer = self._client.get_object(Bucket=self._bucket, Key=key)
            except sdk_errors() as error:
                raise (
                    ObjectNotFound(path) if is_missing(error) else failure(path, error)
                ) from error
            data = attempt(answer["Body"].read)
            if not isinstance(data, Exception):
                modified_at = answer["LastModified"].astimezone(timezone.utc)
                return Content(data, Version(answer["ETag"]), modified_at)
            # botocore repeats requests, but not a body that broke off half way.
            pause = next(pauses, None)
            if pause is None:
                raise failure(path, data) from data
            self._patience.sleep(pause)

    def create(self, path: str, data: bytes) -> Version:
        """Write a new object or raise :class:`ObjectExists`."""
        token = secrets.token_hex(16)

        def trace(found: Found | None) -> Trace:
            if found is None:
                return Trace.UNTOUCHED
            return Trace.OURS if found.token == token else Trace.LOST

        return self._carry_out(
            Change(
                path,
                send=lambda: self._put(path, data, token, IfNoneMatch="*"),
                look=lambda: self._look(path),
                trace=trace,
                refused=ObjectExists(path),
                refusals=frozenset({412}),
            )
        )

    def replace(self, path: str, data: bytes, *, expected: Version) -> Version:
        """Write over the content that was read, or raise :class:`VersionMismatch`."""
        token = secrets.token_hex(16)

        def trace(found: Found | None) -> Trace:
            if found is not None and found.token == token:
                return Trace.OURS
            return _untouched(found, expected)

        return self._carry_out(
            Change(
                path,
                send=lambda: self._put(path, data, token, IfMatch=expected),
                look=lambda: self._look(path),
                trace=trace,
                refused=VersionMismatch(path, expected),
                refusals=frozenset({404, 412}),
            )
        )

    def delete(self, path: str, *, expected: Version | None = None) -> None:
        """Remove an object; a missing one is no error unless a version is expected.

        When a conditional delete gets no clear answer and the object is gone, who removed it
        cannot be told: :class:`OutcomeUnknown`.
        """
        if expected is None:
            self._delete(path)
            return
        # Looked at first, because servers older than this header ignore it.
        found = self._look(path)
        if found is None or found.version != expected:
            raise VersionMismatch(path, expected)
        self._carry_out(
            Change(
                path,
                send=lambda: self._delete_if(path, expected),
                look=lambda: self._look(path),
                trace=lambda found: _untouched(found, expected),
                refused=VersionMismatch(path, expected),
                refusals=frozenset({404, 412}),
            )
        )

    def _carry_out(self, change: Change) -> Version:
        return carry_out(change, self._patience, sent_once=sends_once(self._writer))

    def _put(self, path: str, data: bytes, token: str, **condition: Any) -> Version:
        answer = self._writer.put_object(
            Bucket=self._bucket,
            Key=self._key(path),
            Body=data,
            Metadata={_TOKEN: token},
            **condition,
        )
        return Version(answer["ETag"])

    def _delete_if(self, path: str, expected: Version) -> Version:
        try:
            self._writer.delete_object(Bucket=self._bucket, Key=self._key(path), IfMatch=expected)
        except sdk_errors() as error:
            if code_of(error) != "NotImplemented":
                raise
            self._writer.delete_object(Bucket=self._bucket, Key=self._key(path))
        return expected

    def _delete(self, path: str) -> None:
        try:
            self._client.delete_object(Bucket=self._bucket, Key=self._key(path))
        except sdk_errors() as error:
            if not is_missing(error):
                raise failure(path, error) from error

    def _look(self, path: str) -> Found | None:
        try:
            head = self._client.head_object(Bucket=self._bucket, Key=self._key(path))
        except sdk_errors() as error:
            if is_missing(error):
                return None
            raise failure(path, error) from error
        return Found(Version(head["ETag"]), head["Metadata"].get(_TOKEN))

    def _pages(self, folder: str) -> Iterator[ListObjectsV2OutputTypeDef]:
        pages = self._client.get_paginator("list_objects_v2")
        yield from pages.paginate(Bucket=self._bucket, Prefix=folder, Delimiter="/")

    def _file_info(self, item: ObjectTypeDef) -> FileInfo:
        path = item["Key"][len(self._prefix_of("")) :]
        return FileInfo(path, item["Size"], item["LastModified"].astimezone(timezone.utc))

    def _prefix_of(self, folder: str) -> str:
        return "".join(f"{part}/" for part in (self._prefix, folder) if part)

    def _key(self, path: str) -> str:
        return self._prefix_of("") + object_path(path)


def _untouched(found: Found | None, expected: Version) -> Trace:
    is_untouched = found is not None and found.version == expected
    return Trace.UNTOUCHED if is_untouched else Trace.LOST


def _connect() -> tuple[S3Client, S3Client]:
    """A client for reading, with boto3's usual retries, and one that sends each write once."""
    try:
        import boto3  # noqa: PLC0415 - optional package
        from botocore.config import Config  # noqa: PLC0415 - optional package
    except ImportError as error:
        raise MissingPackage(package="boto3", needed_for="a table on S3", extra="s3") from error
    session = boto3.session.Session()
    once = Config(retries={"total_max_attempts": 1}, connect_timeout=10, read_timeout=30)
    return session.client("s3"), session.client("s3", config=once)
