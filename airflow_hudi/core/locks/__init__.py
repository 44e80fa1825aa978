# SPDX-License-Identifier: Apache-2.0
"""The lock of a table's jobs: which one, what Hudi is told about it, and whether it really locks.

Jobs take the lock through Hudi itself, with the settings made here. The two locks that Python can
hold without a JVM (``FilesystemLock``, ``ZooKeeperLock``) are for trying a connection out.
"""

from __future__ import annotations

from airflow_hudi.core.locks.base import Lock
from airflow_hudi.core.locks.filesystem import FilesystemLock
from airflow_hudi.core.locks.probe import check_exclusion, probe_lock
from airflow_hudi.core.locks.settings import (
    LockKind,
    LockSettings,
    ZooKeeper,
    check_lock,
    hoodie_options,
    lock_key,
    lock_path,
    multi_writer_options,
    refuse_lock_options,
)

__all__ = [
    "FilesystemLock",
    "Lock",
    "LockKind",
    "LockSettings",
    "ZooKeeper",
    "check_exclusion",
    "check_lock",
    "hoodie_options",
    "lock_key",
    "lock_path",
    "multi_writer_options",
    "probe_lock",
    "refuse_lock_options",
]
