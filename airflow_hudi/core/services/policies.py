# SPDX-License-Identifier: Apache-2.0
"""What a user asks of a table service, as typed values that know Hudi's words for themselves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import ClassVar, TypeAlias

from airflow_hudi.core.config import CleanKey, ClusteringKey, WriteKey
from airflow_hudi.core.job_errors import InvalidWork
from airflow_hudi.core.services.kinds import Service

_MEGABYTE = 1024 * 1024


@dataclass(frozen=True, slots=True)
class CompactionPolicy:
    """When a compaction is worth a plan, and how large one plan may be."""

    KIND: ClassVar[str] = "compaction"
    after_delta_commits: int = 1
    """How many delta commits must have come since the last one. One: the DAG's schedule decides."""
    at_most_megabytes: int | None = None
    """How much one plan may read and write; None is Hudi's own limit."""
    or_after: timedelta | None = None
    """So long after the last one, fewer delta commits will do."""

    def __post_init__(self) -> None:
        _check_positive(self, "after_delta_commits", "at_most_megabytes", "or_after")

    @property
    def after_commits(self) -> int:
        """The same under the name all services have."""
        return self.after_delta_commits

    def options(self) -> dict[str, str]:
        """What Hudi is told. It is asked only once a plan is due, so any delta commit will do."""
        options = {WriteKey.COMPACT_AFTER_DELTA_COMMITS.value: "1"}
        if self.at_most_megabytes is not None:
            options[WriteKey.COMPACTION_TARGET_IO.value] = str(self.at_most_megabytes)
        return options


@dataclass(frozen=True, slots=True)
class LogCompactionPolicy:
    """When small log files are worth being merged into larger ones."""

    KIND: ClassVar[str] = "logcompaction"
    after_commits: int = 1
    """How many delta commits must have come since the last one."""
    log_blocks: int = 5
    """How many blocks of logs a file slice must have to be taken."""
    or_after: timedelta | None = None

    def __post_init__(self) -> None:
        _check_positive(self, "after_commits", "log_blocks", "or_after")

    def options(self) -> dict[str, str]:
        """The same in Hudi's settings."""
        return {
            WriteKey.LOG_COMPACTION.value: "true",
            WriteKey.LOG_COMPACTION_BLOCKS.value: str(self.log_blocks),
        }


@dataclass(frozen=True, slots=True)
class ClusteringPolicy:
    """When base files are worth being laid out anew, and how."""

    KIND: ClassVar[str] = "clustering"
    after_commits: int = 1
    """How many commits must have come since the last clustering."""
    target_file_megabytes: int | None = None
    """How large the new files are to be; None is Hudi's own size."""
    small_file_megabytes: int | None = None
    """Files up to this size are taken; None is Hudi's own limit."""
    sort_columns: tuple[str, ...] = ()
    partitions: tuple[str, ...] = ()
    """Only these; empty: all that Hudi's strategy selects."""
    at_most_groups: int | None = None
    or_after: timedelta | None = None

    def __post_init__(self) -> None:
        _check_positive(
            self,
            *("after_commits", "target_file_megabytes", "small_file_megabytes"),
            *("at_most_groups", "or_after"),
        )

    def options(self) -> dict[str, str]:
        """The same in Hudi's settings."""
        told: Mapping[ClusteringKey, str] = {
            ClusteringKey.TARGET_FILE_BYTES: _bytes(self.target_file_megabytes),
            ClusteringKey.SMALL_FILE_BYTES: _bytes(self.small_file_megabytes),
            ClusteringKey.SORT_COLUMNS: ",".join(self.sort_columns),
            ClusteringKey.PARTITIONS: ",".join(self.partitions),
            ClusteringKey.MAX_GROUPS: str(self.at_most_groups or ""),
        }
        return {key.value: value for key, value in told.items() if value}


ServicePolicy: TypeAlias = CompactionPolicy | LogCompactionPolicy | ClusteringPolicy


DEFAULT_DELAY = timedelta(minutes=60)
_LONGEST_DELAY = timedelta(days=3650)


@dataclass(frozen=True, slots=True)
class RollbackPolicy:
    """When a pending instant that nobody is alive on may be rolled back."""

    delay: timedelta = DEFAULT_DELAY
    """RFC-79's ``table_service_rollback_delay``: how old a removable plan must be."""
    clustering_is_removable: bool = True

    def __post_init__(self) -> None:
        if not timedelta() <= self.delay <= _LONGEST_DELAY:
            cure = f"it may be nothing to {_LONGEST_DELAY.days} days"
            raise InvalidWork(f"rollback_delay is {self.delay}", cure=cure)

    def is_removable(self, service: Service | None) -> bool:
        """Whether this service's begun plans are rolled back for good."""
        return service is not None and service.is_removable(
            clustering_is=self.clustering_is_removable
        )


@dataclass(frozen=True, slots=True)
class CleanPolicy:
    """Which old file slices stay: by commits, by hours or by versions, one of the three."""

    keep_commits: int | None = None
    keep_hours: int | None = None
    keep_versions: int | None = None

    def __post_init__(self) -> None:
        _check_positive(self, "keep_commits", "keep_hours", "keep_versions")
        given = [self.keep_commits, self.keep_hours, self.keep_versions]
        if sum(value is not None for value in given) > 1:
            raise InvalidWork(
                "a clean policy has more than one of keep_commits, keep_hours, keep_versions",
                cure="choose one",
            )

    def options(self) -> dict[str, str]:
        """The same in Hudi's settings; nothing where Hudi's own policy is to hold."""
        if self.keep_hours is not None:
            return _clean("KEEP_LATEST_BY_HOURS", CleanKey.HOURS, self.keep_hours)
        if self.keep_versions is not None:
            return _clean("KEEP_LATEST_FILE_VERSIONS", CleanKey.VERSIONS, self.keep_versions)
        if self.keep_commits is not None:
            return _clean("KEEP_LATEST_COMMITS", CleanKey.COMMITS, self.keep_commits)
        return {}


def _clean(policy: str, key: CleanKey, value: int) -> dict[str, str]:
    return {CleanKey.POLICY.value: policy, key.value: str(value)}


def _bytes(megabytes: int | None) -> str:
    return "" if megabytes is None else str(megabytes * _MEGABYTE)


def _check_positive(policy: object, *names: str) -> None:
    for name in names:
        value = getattr(policy, name)
        if isinstance(value, timedelta) and value <= timedelta():
            raise InvalidWork(f"{name} is {value}", cure="it must be longer than nothing")
        if isinstance(value, int) and value < 1:
            raise InvalidWork(f"{name} is {value}", cure="it must be at least 1")
