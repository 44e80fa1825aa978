# SPDX-License-Identifier: Apache-2.0
"""The Java classes of Hudi's lock providers; the same names in all releases we drive."""

from __future__ import annotations

from airflow_hudi.core.config import LockKey
from airflow_hudi.core.locks import LockKind, LockSettings, hoodie_options, multi_writer_options

_PACKAGE = "org.apache.hudi.client.transaction.lock"
_PROVIDERS = {
    LockKind.FILESYSTEM: f"{_PACKAGE}.FileSystemBasedLockProvider",
    LockKind.ZOOKEEPER: f"{_PACKAGE}.ZookeeperBasedLockProvider",
    LockKind.IN_PROCESS: f"{_PACKAGE}.InProcessLockProvider",
}


def lock_provider(kind: LockKind) -> str:
    """The Java class of a lock."""
    return _PROVIDERS[kind]


def lock_options(settings: LockSettings, uri: str) -> dict[str, str]:
    """All a Hudi job must be told to share the table at `uri` with other jobs."""
    return {
        **multi_writer_options(),
        LockKey.PROVIDER.value: _PROVIDERS[settings.kind],
        **hoodie_options(settings, uri),
    }
