# SPDX-License-Identifier: Apache-2.0
"""A storage that lives in this process: for tests, of this project and of its users."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timezone

from airflow_hudi.core.errors import InvalidInput, ObjectExists, ObjectNotFound, VersionMismatch
from airflow_hudi.core.storage._objects import content_version, object_path
from airflow_hudi.core.storage.base import Content, FileInfo, Listing, Version, checked_path

Clock = Callable[[], datetime]


def _utc_now() -> datetime:
    return datetime.now(timezone.utc)


@dataclass(frozen=True, slots=True)
class _Stored:
    data: bytes
    modified_at: datetime


@dataclass(slots=True)
class _Tree:
    """What all children of one storage share."""

    clock: Clock
    objects: dict[str, _Stored] = field(default_factory=dict)
    lock: threading.RLock = field(default_factory=threading.RLock)

    def store(self, key: str, data: bytes, modified_at: datetime | None = None) -> Version:
        time = self.clock() if modified_at is None else modified_at
        if time.tzinfo is None:
            naive = f"{time} has no time zone; pass an aware datetime, such as one in UTC"
            raise InvalidInput(naive)
        self.objects[key] = _Stored(data, time.astimezone(timezone.utc))
        return content_version(data)


class InMemoryStorage:
    """Objects in a dictionary, safe to share between threads.

    As weak as the real ones where it matters to a test: versions go by content, as on S3, so code
    that relies on a version never coming back fails here too. ``clock`` dates what is written.
    """

    def __init__(self, uri: str = "memory://", clock: Clock = _utc_now) -> None:
        self._uri = uri
        self._prefix = ""
        self._tree = _Tree(clock)

    def __repr__(self) -> str:
        return f"InMemoryStorage({self.uri!r})"

    @property
    def uri(self) -> str:
        """The name that was given to this storage."""
        return self._uri

    def child(self, path: str) -> InMemoryStorage:
        """The same tree, rooted at a folder below."""
        folder = checked_path(path)
        if not folder:
            return self
        separator = "" if self._uri.endswith("/") else "/"
        return _Child(f"{self._uri}{separator}{folder}", f"{self._prefix}{folder}/", self._tree)

    def put(self, path: str, data: bytes, *, modified_at: datetime | None = None) -> Version:
        """Write without asking, as a writer that knows nothing of this package would."""
        with self._tree.lock:
            return self._tree.store(self._key(path), data, modified_at)

    def list_folder(self, path: str) -> Listing:
        """The direct children of a folder; a missing folder is an empty one."""
        folder = checked_path(path)
        within = self._prefix + (f"{folder}/" if folder else "")
        with self._tree.lock:
            below = sorted(
                (key, stored)
                for key, stored in self._tree.objects.items()
                if key.startswith(within)
            )
        return Listing(
            files=tuple(
                FileInfo(key[len(self._prefix) :], len(stored.data), stored.modified_at)
                for key, stored in below
                if "/" not in key[len(within) :]
            ),
            folders=tuple(
                sorted(
                    {
                        key[len(within) :].split("/")[0]
                        for key, _ in below
                        if "/" in key[len(within) :]
                    }
                )
            ),
        )

    def read(self, path: str) -> bytes:
        """The whole object, or :class:`ObjectNotFound`."""
        return self.read_versioned(path).data

    def read_versioned(self, path: str) -> Content:
        """The whole object with the digest of its bytes as its version."""
        key = self._key(path)
        with self._tree.lock:
            stored = self._tree.objects.get(key)
        if stored is None:
            raise ObjectNotFound(path)
        return Content(stored.data, content_version(stored.data), stored.modified_at)

    def create(self, path: str, data: bytes) -> Version:
        """Write a new object or raise :class:`ObjectExists`."""
        key = self._key(path)
        with self._tree.lock:
            if key in self._tree.objects:
                raise ObjectExists(path)
            return self._tree.store(key, data)

    def replace(self, path: str, data: bytes, *, expected: Version) -> Version:
        """Write over the content that was read, or raise :class:`VersionMismatch`."""
        key = self._key(path)
        with self._tree.lock:
            self._check_unchanged(key, path, expected)
            return self._tree.store(key, data)

    def delete(self, path: str, *, expected: Version | None = None) -> None:
        """Remove an object; a missing one is no error unless a version is expected."""
        key = self._key(path)
        with self._tree.lock:
            if expected is not None:
                self._check_unchanged(key, path, expected)
            self._tree.objects.pop(key, None)

    def _check_unchanged(self, key: str, path: str, expected: Version) -> None:
        stored = self._tree.objects.get(key)
        if stored is None or content_version(stored.data) != expected:
            raise VersionMismatch(path, expected)

    def _key(self, path: str) -> str:
        return self._prefix + object_path(path)


class _Child(InMemoryStorage):
    def __init__(self, uri: str, prefix: str, tree: _Tree) -> None:
        self._uri = uri
        self._prefix = prefix
        self._tree = tree
