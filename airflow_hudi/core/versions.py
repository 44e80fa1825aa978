# SPDX-License-Identifier: Apache-2.0
"""What each table version and each Hudi release can do, as data: a refusal is a lookup.

Sources: the releases' own sources and release notes, and runs on the real engine. A row says only
what decides something in this package.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from airflow_hudi.core.errors import UnknownRelease, UnknownTableVersion, UnsupportedFeature
from airflow_hudi.core.layout import Layout


class Feature(Enum):
    """An ability of a table version: what its files on disk can express."""

    COMPLETION_TIMES = "completion times in the timeline's file names"
    CLUSTERING_ACTION = "pending clustering as an action of its own"
    AVRO_COMMIT_METADATA = "commit metadata as Avro"
    LSM_HISTORY = "history as Parquet files under a manifest"
    LOG_FILE_PER_WRITE = "log files named by the write that made them"
    NON_BLOCKING_WRITERS = "non-blocking concurrency control"
    RECORD_MERGE_MODE = "a record merge mode in the table's properties"
    SEVERAL_ORDERING_FIELDS = "more than one ordering field"


_SINCE: dict[Feature, int] = {
    Feature.COMPLETION_TIMES: 8,
    Feature.CLUSTERING_ACTION: 8,
    Feature.AVRO_COMMIT_METADATA: 8,
    Feature.LSM_HISTORY: 8,
    Feature.LOG_FILE_PER_WRITE: 8,
    Feature.NON_BLOCKING_WRITERS: 8,
    Feature.RECORD_MERGE_MODE: 8,
    Feature.SEVERAL_ORDERING_FIELDS: 9,
}


@dataclass(frozen=True, slots=True)
class TableVersion:
    """One number of ``hoodie.table.version`` and what follows from it."""

    number: int
    layout: Layout
    written_by: str

    def supports(self, feature: Feature) -> bool:
        """Whether tables of this version have the feature."""
        return self.number >= _SINCE[feature]

    def require(self, feature: Feature) -> None:
        """Raise :class:`UnsupportedFeature` unless tables of this version have the feature."""
        if not self.supports(feature):
            raise UnsupportedFeature(
                feature.value,
                have=f"table version {self.number}",
                since=f"table version {_SINCE[feature]}",
            )


TABLE_VERSIONS: tuple[TableVersion, ...] = (
    TableVersion(0, Layout.V1, "0.5 and older"),
    TableVersion(1, Layout.V1, "0.6"),
    TableVersion(2, Layout.V1, "0.9"),
    TableVersion(3, Layout.V1, "0.10"),
    TableVersion(4, Layout.V1, "0.11"),
    TableVersion(5, Layout.V1, "0.12, 0.13"),
    TableVersion(6, Layout.V1, "0.14, 0.15; 1.x when told to"),
    TableVersion(7, Layout.V1, "the bridge of an upgrade, never a resting place"),
    TableVersion(8, Layout.V2, "1.0"),
    TableVersion(9, Layout.V2, "1.1, 1.2"),
)


class Ability(Enum):
    """An ability of a Hudi release: what its code does, whatever the table."""

    SCHEMA_CONFLICT_CHECK = "RFC-82's schema check before an optimistic commit"
    NON_BLOCKING_WRITERS = "non-blocking concurrency control"
    STORAGE_LOCK = "the lock on the table's own object store"
    INSTANT_INSIDE_LOCK = "instants drawn under the table's lock"
    COMPACTION_GUARD = "a heartbeat guard around compaction (multi-writer modes)"
    EXCLUSIVE_ROLLBACK = "a heartbeat on running rollbacks (multi-writer modes)"
    CLUSTERING_EXPIRY = "roll-back of expired clustering plans"
    UPGRADE_SWITCH = "a switch against upgrading tables unasked"


@dataclass(frozen=True, slots=True)
class Release:
    """One Hudi release this package drives."""

    name: str
    writes: tuple[int, ...]
    """The table versions it can write; the last one is what it makes unasked."""
    reads: tuple[int, ...]
    abilities: frozenset[Ability]

    @property
    def default_table_version(self) -> int:
        """The version of a table it creates when nobody asks for another."""
        return self.writes[-1]

    def can(self, ability: Ability) -> bool:
        """Whether this release has the ability."""
        return ability in self.abilities


_IN_1_0 = frozenset(
    {Ability.SCHEMA_CONFLICT_CHECK, Ability.NON_BLOCKING_WRITERS, Ability.UPGRADE_SWITCH}
)
_IN_1_1 = _IN_1_0 | {Ability.STORAGE_LOCK, Ability.INSTANT_INSIDE_LOCK}
_IN_1_2 = _IN_1_1 | {
    Ability.COMPACTION_GUARD,
    Ability.EXCLUSIVE_ROLLBACK,
    Ability.CLUSTERING_EXPIRY,
}

RELEASES: tuple[Release, ...] = (
    Release("0.15.0", writes=(6,), reads=(0, 1, 2, 3, 4, 5, 6), abilities=frozenset()),
    Release("1.0.2", writes=(6, 8), reads=(6, 8), abilities=_IN_1_0),
    Release("1.1.1", writes=(6, 8, 9), reads=(6, 8, 9), abilities=_IN_1_1),
    Release("1.2.0", writes=(6, 8, 9), reads=(6, 8, 9), abilities=_IN_1_2),
)


RELEASE_NAMES = tuple(known.name for known in RELEASES)


def table_version(number: int) -> TableVersion:
    """What a table version number stands for, or :class:`UnknownTableVersion`."""
    for version in TABLE_VERSIONS:
        if version.number == number:
            return version
    raise UnknownTableVersion(number, _numbers(TABLE_VERSIONS))


def release(name: str) -> Release:
    """The release of that name, or :class:`UnknownRelease`."""
    for known in RELEASES:
        if known.name == name:
            return known
    raise UnknownRelease(name, RELEASE_NAMES)


def _numbers(versions: Iterable[TableVersion]) -> list[int]:
    return [version.number for version in versions]
