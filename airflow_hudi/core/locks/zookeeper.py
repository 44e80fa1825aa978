# SPDX-License-Identifier: Apache-2.0
"""A lock in ZooKeeper that Hudi's own jobs respect, and that respects theirs.

Imported only where such a lock is really held from Python, because it needs the package kazoo.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta

from airflow_hudi.core.errors import LockNotHeld, LockUnreachable, MissingPackage
from airflow_hudi.core.locks.settings import ZooKeeper

try:
    from kazoo.client import KazooClient
    from kazoo.exceptions import KazooException
    from kazoo.handlers.threading import KazooTimeoutError
    from kazoo.recipe.lock import Lock as KazooLock
    from kazoo.retry import KazooRetry
except ImportError as error:
    raise MissingPackage("kazoo", needed_for="a ZooKeeper lock", extra="zookeeper") from error


class _CuratorLock(KazooLock):  # type: ignore[misc]  # kazoo has no types
    """Hudi locks with Curator, whose contenders are znodes ``…-lock-<number>``, lowest first.

    kazoo's own have another name, and neither library would see the other's.
    """

    _NODE_NAME = "-lock-"
    _EXCLUDE_NAMES = ["-lock-"]  # noqa: RUF012 - kazoo adds a list to it

    def __init__(self, client: KazooClient, path: str) -> None:
        super().__init__(client, path)
        self._retry = KazooRetry(max_tries=2)  # not for ever, which is kazoo's default here


class ZooKeeperLock:
    """One contender for the lock at a path, within a :func:`zookeeper_session`."""

    def __init__(self, client: KazooClient, path: str) -> None:
        self._client = client
        self._path = path
        self._lock = _CuratorLock(client, path)

    def acquire(self) -> bool:
        """Take the lock, or say False because somebody holds it."""
        with _reported(self._path):
            if self._lock.acquire(blocking=False):
                return True
        if not self._client.connected:
            raise LockUnreachable(self._path, "the connection was lost")
        return False

    def release(self) -> None:
        """Give the lock back, or raise :class:`LockNotHeld` where it is not ours (any more)."""
        with _reported(self._path):
            node = f"{self._path}/{self._lock.node}"
            is_ours = self._lock.is_acquired and self._client.exists(node)
            self._lock.release()
        if not is_ours:
            raise LockNotHeld(self._path)


@contextmanager
def zookeeper_session(
    zookeeper: ZooKeeper, *, patience: timedelta | None = None
) -> Iterator[KazooClient]:
    """A session of its own; the locks held in it are free again when it ends.

    ``patience`` cuts the connection timeout short, for somebody who watches.
    """
    timeout = min(zookeeper.connection_timeout, patience or zookeeper.connection_timeout)
    client = KazooClient(
        zookeeper.hosts,
        timeout=zookeeper.session_timeout.total_seconds(),
        # Not for ever, or whoever asks an ensemble that is gone would wait for ever, too.
        connection_retry=KazooRetry(max_tries=5),
    )
    try:
        with _reported(zookeeper.hosts):
            client.start(timeout.total_seconds())
        yield client
    finally:
        client.stop()
        client.close()


def remove_lock(client: KazooClient, path: str) -> None:
    """Take a lock's folder away, unless somebody contends there."""
    with suppress(KazooException):
        client.delete(path)


@contextmanager
def _reported(where: str) -> Iterator[None]:
    """What kazoo says, in this package's words."""
    try:
        yield
    except KazooTimeoutError as error:
        raise LockUnreachable(where, "no answer in time") from error
    except KazooException as error:
        said = ": ".join(filter(None, (type(error).__name__, str(error))))
        raise LockUnreachable(where, said) from error
