# SPDX-License-Identifier: Apache-2.0
"""Try a lock out: does it admit one, hold off a second, and open again?

Always at a place of its own, never at a table's lock, which a job may be waiting for.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta

from airflow_hudi.core.errors import AirflowHudiError, LockProbeFailed
from airflow_hudi.core.locks.base import Lock
from airflow_hudi.core.locks.filesystem import FilesystemLock
from airflow_hudi.core.locks.settings import LockKind, LockSettings, ZooKeeper, lock_path
from airflow_hudi.core.storage.base import Storage

_TAKEN, _REFUSED = True, False
_UNREACHABLE = "see to it that this machine can reach and change the place of the lock"
_HELD_BY_OTHERS = (
    "a lock that was made for this test was refused, as if somebody held every lock here",
    "look for what else uses this place",
)
_EXCLUDES_NOBODY = (
    "a second client got the lock while the first one held it, so two jobs could commit at once",
    "run no jobs with it and choose another lock",
)
_STAYS_TAKEN = (
    "a lock that was given back stays taken, so the next job on a table would wait in vain",
    "check the health of the place that keeps it, or choose another lock",
)


def probe_lock(
    settings: LockSettings, storage: Storage, *, patience: timedelta = timedelta(seconds=5)
) -> str:
    """Try the lock out with two clients; what was seen, as a sentence, or :class:`LockProbeFailed`.

    ``storage`` is where a filesystem lock is tried: any folder on the disk of the tables.
    """
    if settings.kind is LockKind.IN_PROCESS:
        return f"not tried, it lives in {settings.kind.description}"
    with _contenders(settings, storage, patience) as (first, second):
        check_exclusion(first, second)
    return f"taken, refused to a second client, given back, taken over: {settings.kind.description}"


def check_exclusion(first: Lock, second: Lock) -> None:
    """Raise :class:`LockProbeFailed` unless two contenders for a free lock exclude each other."""
    steps = (
        _Step("take", first.acquire, _TAKEN, *_HELD_BY_OTHERS),
        _Step("hold off", second.acquire, _REFUSED, *_EXCLUDES_NOBODY),
        _Step("give back", first.release),
        _Step("take over", second.acquire, _TAKEN, *_STAYS_TAKEN),
        _Step("give back again", second.release),
    )
    for step in steps:
        step.run()


@dataclass(frozen=True, slots=True)
class _Step:
    name: str
    act: Callable[[], bool | None]
    expected: bool | None = None
    otherwise: str = ""
    cure: str = ""

    def run(self) -> None:
        try:
            seen = self.act()
        except AirflowHudiError as error:
            raise LockProbeFailed(self.name, because=str(error), cure=_UNREACHABLE) from error
        if seen is not self.expected:
            raise LockProbeFailed(self.name, because=self.otherwise, cure=self.cure)


@contextmanager
def _contenders(
    settings: LockSettings, storage: Storage, patience: timedelta
) -> Iterator[tuple[Lock, Lock]]:
    name = f"airflow-hudi-probe-{secrets.token_hex(8)}"
    if settings.zookeeper is None:
        try:
            yield FilesystemLock(storage, name), FilesystemLock(storage, name)
        finally:
            storage.delete(name)
        return
    with _sessions(settings.zookeeper, lock_path(settings.zookeeper, name), patience) as locks:
        yield locks


@contextmanager
def _sessions(zookeeper: ZooKeeper, path: str, patience: timedelta) -> Iterator[tuple[Lock, Lock]]:
    """Two sessions, as two jobs would have."""
    from airflow_hudi.core.locks.zookeeper import (  # noqa: PLC0415 - needs kazoo
        ZooKeeperLock,
        remove_lock,
        zookeeper_session,
    )

    with (
        zookeeper_session(zookeeper, patience=patience) as first,
        zookeeper_session(zookeeper, patience=patience) as second,
    ):
        try:
            yield ZooKeeperLock(first, path), ZooKeeperLock(second, path)
        finally:
            remove_lock(first, path)
