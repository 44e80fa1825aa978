# SPDX-License-Identifier: Apache-2.0
"""What the core asks of a place that holds files, and nothing more."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import NewType, Protocol, runtime_checkable

from airflow_hudi.core.errors import UnsafePath

Version = NewType("Version", str)
"""Names one content of one object. Opaque; equal content may have an equal version (S3's ETag)."""


@dataclass(frozen=True, slots=True)
class FileInfo:
    """One file as a listing shows it."""

    path: str
    size: int
    modified_at: datetime
    """Aware, in UTC; the storage's clock, at the resolution the storage has."""

    @property
    def name(self) -> str:
        """The last part of the path."""
        return file_name(self.path)


@dataclass(frozen=True, slots=True)
class Listing:
    """The direct children of one folder: its files and the names of its folders, both sorted."""

    files: tuple[FileInfo, ...] = ()
    folders: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Content:
    """The bytes of one object, the version they are, and when they were written."""

    data: bytes
    version: Version
    modified_at: datetime
    """Aware, in UTC; the storage's clock."""


@runtime_checkable
class Storage(Protocol):
    """A tree of files below one root, such as a table's base path.

    Paths are relative to the root, with ``/`` between their parts; the empty path is the root.
    Readers of an object see all of one write or nothing of it. What a storage cannot do for reasons
    of its own (permissions, network, a full disk) is a :class:`StorageError`, and where a write may
    have happened all the same, :class:`OutcomeUnknown`.
    """

    @property
    def uri(self) -> str:
        """Where the root is, as the user would write it."""
        ...

    def child(self, path: str) -> Storage:
        """The same storage, rooted at a folder below."""
        ...

    def list_folder(self, path: str) -> Listing:
        """The direct children of a folder, in one listing; a missing folder is an empty one."""
        ...

    def read(self, path: str) -> bytes:
        """The whole object, or :class:`ObjectNotFound`."""
        ...

    def read_versioned(self, path: str) -> Content:
        """The whole object with its version, or :class:`ObjectNotFound`."""
        ...

    def create(self, path: str, data: bytes) -> Version:
        """Write a new object or raise :class:`ObjectExists`; of many racing writers one wins."""
        ...

    def replace(self, path: str, data: bytes, *, expected: Version) -> Version:
        """Write over the content that was read, or raise :class:`VersionMismatch`.

        A missing object is a mismatch too: there is nothing to replace. Equal bytes may be an equal
        version, so whoever must tell two writes apart (a lease that is renewed) puts something new
        into each.
        """
        ...

    def delete(self, path: str, *, expected: Version | None = None) -> None:
        """Remove an object; one that is missing is no error unless a version is expected."""
        ...


def file_name(path: str) -> str:
    """The last part of a path or URI."""
    return path.rpartition("/")[2]


def checked_path(path: str) -> str:
    """The path in its one normal form, or :class:`UnsafePath` when it would leave the root."""
    parts = [part for part in path.split("/") if part not in ("", ".")]
    if path.startswith("/") or ".." in parts or "\0" in path:
        raise UnsafePath(path)
    return "/".join(parts)
