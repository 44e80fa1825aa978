# SPDX-License-Identifier: Apache-2.0
"""Which lock the jobs on a table share, and what Hudi is told so that they really share it."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from enum import Enum

from airflow_hudi.core.config import LockKey
from airflow_hudi.core.errors import InvalidSetting, UnsuitableLock
from airflow_hudi.core.uris import LOCAL, place

_HOST = r"(?:\[[0-9A-Fa-f:]+\]|[A-Za-z0-9_.-]+):[0-9]{1,5}"
_HOSTS = re.compile(rf"{_HOST}(?:,{_HOST})*(?:/[A-Za-z0-9_./-]*)?")
_BASE_PATH = re.compile(r"(?:/[A-Za-z0-9_.-]+)+")
_LONGEST = timedelta(days=1)
_PAUSE = timedelta(seconds=5)
_TRY = timedelta(seconds=30)
_LOCK_PREFIX = LockKey.PROVIDER.value.rpartition(".")[0] + "."


class LockKind(str, Enum):
    """Who keeps the lock."""

    FILESYSTEM = "filesystem"
    ZOOKEEPER = "zookeeper"
    IN_PROCESS = "in_process"

    @property
    def description(self) -> str:
        """What it is good for, in one sentence."""
        return _DESCRIPTIONS[self]


_DESCRIPTIONS = {
    LockKind.FILESYSTEM: "a file beside the table, one machine only: a job that fails to get it"
    " deletes the holder's file when it ends, and nobody renews it",
    LockKind.ZOOKEEPER: "a ZooKeeper ensemble, for jobs on many machines: a dead job's lock is free"
    " after its session timeout",
    LockKind.IN_PROCESS: "the memory of one JVM, for tests: jobs in two JVMs do not see each other",
}


@dataclass(frozen=True, slots=True)
class ZooKeeper:
    """An ensemble, and where in it the locks are."""

    hosts: str
    """``host:port,…``: Hudi ignores its own setting for the port (seen on 1.2.0)."""
    base_path: str = "/hudi/locks"
    session_timeout: timedelta = timedelta(seconds=30)
    """How long a dead job's lock stays taken; a job that pauses for longer loses its lock."""
    connection_timeout: timedelta = timedelta(seconds=15)

    def __post_init__(self) -> None:
        if not _HOSTS.fullmatch(self.hosts):
            allowed = "host:port, several with commas between, such as zk1:2181,zk2:2181"
            raise InvalidSetting("zookeeper_hosts", self.hosts, allowed=allowed)
        if not _BASE_PATH.fullmatch(self.base_path):
            allowed = "an absolute path of letters, digits, '.', '_' and '-', such as /hudi/locks"
            raise InvalidSetting("zookeeper_base_path", self.base_path, allowed=allowed)
        _check_duration("zookeeper_session_seconds", self.session_timeout)
        _check_duration("zookeeper_connection_seconds", self.connection_timeout)


@dataclass(frozen=True, slots=True)
class LockSettings:
    """The lock of a table's jobs; all of them must use the same."""

    kind: LockKind = LockKind.FILESYSTEM
    patience: timedelta | None = None
    """How long a job asks for the lock before it gives up; None: as fits the kind."""
    expiry_minutes: int = 10
    """When the file of a filesystem lock counts as left behind by a dead job. Hudi counts whole
    minutes, and zero would mean never."""
    zookeeper: ZooKeeper | None = None

    def __post_init__(self) -> None:
        if self.expiry_minutes < 1:
            allowed = "a whole number of minutes, at least 1"
            raise InvalidSetting("lock_expiry_minutes", self.expiry_minutes, allowed=allowed)
        if self.kind is LockKind.ZOOKEEPER and self.zookeeper is None:
            raise InvalidSetting("zookeeper_hosts", None, allowed="given for the zookeeper lock")
        if self.patience is not None:
            _check_duration("lock_patience_seconds", self.patience)
        # The file of a dead job stays until it expires. Who gives up before that never gets it, and
        # Hudi's filesystem lock does not wait within a try: only the pauses between tries count.
        if self.kind is LockKind.FILESYSTEM and self.longest_wait <= self.expiry:
            allowed = f"longer than the lock's expiry of {self.expiry_minutes} min"
            seconds = self.longest_wait.total_seconds()
            raise InvalidSetting("lock_patience_seconds", seconds, allowed=allowed)

    @property
    def expiry(self) -> timedelta:
        """How old a filesystem lock's file may become."""
        return timedelta(minutes=self.expiry_minutes)

    @property
    def longest_wait(self) -> timedelta:
        """How long a job asks for the lock before it gives up."""
        if self.patience is not None:
            return self.patience
        if self.kind is LockKind.FILESYSTEM:
            return self.expiry + timedelta(minutes=2)
        return timedelta(minutes=10)


def check_lock(settings: LockSettings, uri: str) -> None:
    """Raise :class:`UnsuitableLock` where this lock would exclude nobody."""
    if settings.kind is LockKind.FILESYSTEM and place(uri).scheme != LOCAL:
        raise UnsuitableLock(settings.kind.value, uri)


def lock_key(uri: str) -> str:
    """The name of a table's lock: the same for all spellings of one place, and for no other place.

    Its last folder is in it for people, the digest for certainty.
    """
    canonical = str(place(uri))
    name = re.sub(r"[^A-Za-z0-9_-]+", "_", canonical.rpartition("/")[2])[:40]
    digest = hashlib.sha256(canonical.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return f"{name}-{digest}"


def lock_path(zookeeper: ZooKeeper, key: str) -> str:
    """Where in ZooKeeper the lock of that name is."""
    return f"{zookeeper.base_path}/{key}"


def hoodie_options(settings: LockSettings, uri: str) -> dict[str, str]:
    """What Hudi is told about the lock of the table at `uri`, but for the provider's Java class."""
    check_lock(settings, uri)
    options = {
        # Else Hudi may put a lock of its own choice, within one JVM, in the place of ours.
        LockKey.AUTO_ADJUST: "false",
        **_patience(settings),
    }
    if settings.kind is LockKind.FILESYSTEM:
        options[LockKey.FILESYSTEM_EXPIRY_MINUTES] = str(settings.expiry_minutes)
    if settings.kind is LockKind.ZOOKEEPER and settings.zookeeper is not None:
        options |= _zookeeper(settings.zookeeper, uri)
    return {key.value: value for key, value in options.items()}


def multi_writer_options() -> dict[str, str]:
    """What every job on a shared table must say besides its lock.

    Optimistic: a commit that would undo another's is refused. Lazy: a pending write is rolled back
    only once its heartbeat has expired; the default, eager, lets a starting job roll back a write
    that is still running. Hudi adds the second by itself where it sees the first; it is said all
    the same, so that a job with another mode (non-blocking) keeps it.
    """
    return {
        LockKey.CONCURRENCY_MODE.value: "OPTIMISTIC_CONCURRENCY_CONTROL",
        LockKey.FAILED_WRITES_POLICY.value: "LAZY",
    }


def refuse_lock_options(options: Iterable[str]) -> None:
    """Raise where a job's own options name a lock: two jobs with two locks have none."""
    ours = {key.value for key in LockKey}
    for key in options:
        if key in ours or key.startswith(_LOCK_PREFIX):
            allowed = "left out: the lock and the concurrency mode come from the connection"
            raise InvalidSetting("options", key, allowed=allowed)


def _patience(settings: LockSettings) -> dict[LockKey, str]:
    """So many tries that the pauses, and the waits where there are any, add up to the patience."""
    waits_in_try = settings.kind is not LockKind.FILESYSTEM
    try_for = min(_TRY, settings.longest_wait / 2)
    pause = timedelta(seconds=1) if waits_in_try else _PAUSE
    one_try = try_for + pause if waits_in_try else pause
    tries = math.ceil(settings.longest_wait / one_try)
    return {
        LockKey.TRY_MILLIS: _millis(try_for),
        LockKey.PAUSE_MILLIS: _millis(pause),
        # Retries come after the first try, which a filesystem lock leaves without having waited.
        LockKey.RETRIES: str(tries - 1 if waits_in_try else tries),
    }


def _zookeeper(zookeeper: ZooKeeper, uri: str) -> dict[LockKey, str]:
    return {
        LockKey.ZOOKEEPER_URL: zookeeper.hosts,
        LockKey.ZOOKEEPER_BASE_PATH: zookeeper.base_path,
        LockKey.ZOOKEEPER_KEY: lock_key(uri),
        LockKey.ZOOKEEPER_SESSION_MILLIS: _millis(zookeeper.session_timeout),
        LockKey.ZOOKEEPER_CONNECTION_MILLIS: _millis(zookeeper.connection_timeout),
    }


def _check_duration(name: str, duration: timedelta) -> None:
    if not timedelta(0) < duration <= _LONGEST:
        allowed = "a number of seconds above 0, at most those of a day"
        raise InvalidSetting(name, duration.total_seconds(), allowed=allowed)


def _millis(duration: timedelta) -> str:
    return str(duration // timedelta(milliseconds=1))
