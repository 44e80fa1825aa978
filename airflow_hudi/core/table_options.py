# SPDX-License-Identifier: Apache-2.0
"""What a table's own properties say to whoever writes to it or serves it."""

from __future__ import annotations

from airflow_hudi.core.config import TableKey, WriteKey
from airflow_hudi.core.errors import UnsupportedFeature
from airflow_hudi.core.properties import TableProperties
from airflow_hudi.core.versions import RELEASES, Ability, Release

# Told as the table says it, or not at all.
_SAME_MEANING: dict[WriteKey | TableKey, TableKey] = {
    WriteKey.TABLE_NAME: TableKey.NAME,
    WriteKey.RECORD_KEY_FIELD: TableKey.RECORD_KEY_FIELDS,
    WriteKey.KEY_GENERATOR_CLASS: TableKey.KEY_GENERATOR_CLASS,
    WriteKey.KEY_GENERATOR_TYPE: TableKey.KEY_GENERATOR_TYPE,
    TableKey.DATABASE: TableKey.DATABASE,
    TableKey.TIMELINE_TIMEZONE: TableKey.TIMELINE_TIMEZONE,
    TableKey.HIVE_STYLE_PARTITIONING: TableKey.HIVE_STYLE_PARTITIONING,
    TableKey.URL_ENCODED_PARTITIONS: TableKey.URL_ENCODED_PARTITIONS,
    TableKey.DROP_PARTITION_COLUMNS: TableKey.DROP_PARTITION_COLUMNS,
}


def table_options(properties: TableProperties, release: Release) -> dict[str, str]:
    """The options with which this release treats the table as the table itself asks for.

    No job may upgrade a table unasked, so a version this release does not write is
    :class:`UnsupportedFeature`. Compaction is never inline: it is a job of its own.
    """
    check_version(properties, release)
    told = {ours.value: properties.get(theirs) for ours, theirs in _SAME_MEANING.items()}
    return {
        **{key: value for key, value in told.items() if value is not None},
        # In both: clients of Hudi read the one, its data source the other.
        WriteKey.TABLE_TYPE.value: properties.type.value,
        TableKey.TYPE.value: properties.type.value,
        # Empty is an answer too; custom key generators need the ":type" behind a name.
        WriteKey.PARTITION_FIELD.value: ",".join(properties.listed(TableKey.PARTITION_FIELDS)),
        WriteKey.COMPACT_INLINE.value: "false",
        **_ordering(properties),
        **_payload(properties),
        **_version(properties, release),
    }


def _ordering(properties: TableProperties) -> dict[str, str]:
    # Told to services too: 1.0 does not look it up, and its compaction lets late records win.
    fields = ",".join(properties.ordering_fields)
    return {WriteKey.PRECOMBINE_FIELD.value: fields} if fields else {}


def _payload(properties: TableProperties) -> dict[str, str]:
    own = properties.get(TableKey.PAYLOAD_CLASS) or properties.get(TableKey.LEGACY_PAYLOAD_CLASS)
    return {WriteKey.PAYLOAD_CLASS.value: own} if own else {}


def _version(properties: TableProperties, release: Release) -> dict[str, str]:
    if not release.can(Ability.UPGRADE_SWITCH):
        return {}
    return {
        WriteKey.TABLE_VERSION.value: str(properties.version_number),
        WriteKey.AUTO_UPGRADE.value: "false",
    }


def check_version(properties: TableProperties, release: Release) -> None:
    """Raise :class:`UnsupportedFeature` unless this release writes tables of this version."""
    number = properties.version_number
    if number in release.writes:
        return
    able = [known.name for known in RELEASES if number in known.writes]
    raise UnsupportedFeature(
        f"writing to {properties.name}, a table of version {number},",
        have=f"Hudi {release.name}",
        since=f"Hudi {' or '.join(able)}" if able else "an upgrade of the table",
    )
