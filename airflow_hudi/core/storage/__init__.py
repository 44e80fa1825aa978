# SPDX-License-Identifier: Apache-2.0
"""Places that hold files: one protocol, and what serves which URI.

``S3Storage`` is in :mod:`airflow_hudi.core.storage.s3` and is loaded when an S3 URI is opened, so
that a machine without boto3 can use the rest.
"""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import unquote

from airflow_hudi.core.errors import UnknownStorage
from airflow_hudi.core.storage.base import (
    Content,
    FileInfo,
    Listing,
    Storage,
    Version,
    checked_path,
)
from airflow_hudi.core.storage.local import LocalStorage
from airflow_hudi.core.storage.memory import InMemoryStorage

__all__ = [
    "Content",
    "FileInfo",
    "InMemoryStorage",
    "Listing",
    "LocalStorage",
    "Storage",
    "Version",
    "checked_path",
    "open_storage",
]

# Java writes file:/lake with one slash, so one is enough to make a scheme.
_WITH_SCHEME = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]+):(?P<rest>/.*)", re.DOTALL)
_SECRETS = re.compile(r"://.*@", re.DOTALL)


def open_storage(uri: str) -> Storage:
    """The storage of a local path, ``file://``, ``s3://`` or ``s3a://`` URI; nothing is read yet.

    ``memory://`` cannot be opened by name: its content is in one object, which the test holds.
    """
    match = _WITH_SCHEME.fullmatch(uri)
    if match is None:
        return LocalStorage(_local_path(uri))
    scheme = match["scheme"].lower()
    if scheme == "file":
        return LocalStorage(_file_path(uri, match["rest"]))
    if scheme in ("s3", "s3a"):
        return _open_s3(uri, scheme, match["rest"])
    raise _unknown(uri)


def _local_path(uri: str) -> Path:
    if not uri or "\0" in uri:
        raise _unknown(uri)
    try:
        return Path(uri).expanduser()
    except RuntimeError as error:  # the home of a user this machine does not know
        raise _unknown(uri) from error


def _file_path(uri: str, rest: str) -> Path:
    if rest.startswith("//"):
        host, slash, path = rest[2:].partition("/")
        if host not in ("", "localhost") or not slash:
            raise _unknown(uri)
        rest = slash + path
    # Bytes that are no UTF-8 become what os.fsdecode makes of them, and so find their file.
    path = unquote(rest, errors="surrogateescape")
    if "\0" in path:
        raise _unknown(uri)
    return Path(path)


def _open_s3(uri: str, scheme: str, rest: str) -> Storage:
    bucket, _, prefix = rest[2:].partition("/")
    # ':' and '@' are in no bucket's name, but in the old way to write keys into the URI.
    if not rest.startswith("//") or not bucket or ":" in bucket or "@" in bucket:
        raise _unknown(uri)
    from airflow_hudi.core.storage.s3 import S3Storage  # noqa: PLC0415 - needs boto3

    return S3Storage(bucket, prefix, scheme=scheme)


def _unknown(uri: str) -> UnknownStorage:
    return UnknownStorage(_SECRETS.sub("://…@", uri))
