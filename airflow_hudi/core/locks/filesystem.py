# SPDX-License-Identifier: Apache-2.0
"""A file as a lock: whoever creates it holds it."""

from __future__ import annotations

import secrets

from airflow_hudi.core.errors import LockNotHeld, ObjectExists, VersionMismatch
from airflow_hudi.core.storage.base import Storage, Version


class FilesystemLock:
    """One contender for a file's exclusive creation.

    Unlike Hudi's own, it deletes only the file it created itself.
    """

    def __init__(self, storage: Storage, path: str) -> None:
        self._storage = storage
        self._path = path
        self._held: Version | None = None

    def acquire(self) -> bool:
        """Create the file, or say False because it is there."""
        try:
            # Its own content for each holder, so that release cannot mistake another's file.
            self._held = self._storage.create(self._path, secrets.token_bytes(16))
        except ObjectExists:
            return False
        return True

    def release(self) -> None:
        """Delete the file, or raise :class:`LockNotHeld` where it is not ours (any more)."""
        held, self._held = self._held, None
        try:
            if held is not None:
                self._storage.delete(self._path, expected=held)
        except VersionMismatch as error:
            raise LockNotHeld(self._where) from error
        if held is None:
            raise LockNotHeld(self._where)

    @property
    def _where(self) -> str:
        return f"{self._storage.uri}/{self._path}"
