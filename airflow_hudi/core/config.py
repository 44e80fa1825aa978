# SPDX-License-Identifier: Apache-2.0
"""Every configuration key of Hudi that this package reads or writes; their only home."""

from __future__ import annotations

from enum import Enum


class TableKey(str, Enum):
    """Keys of a table's own ``hoodie.properties``."""

    NAME = "hoodie.table.name"
    DATABASE = "hoodie.database.name"
    TYPE = "hoodie.table.type"
    VERSION = "hoodie.table.version"
    CHECKSUM = "hoodie.table.checksum"
    LAYOUT_VERSION = "hoodie.timeline.layout.version"
    TIMELINE_PATH = "hoodie.timeline.path"
    HISTORY_PATH = "hoodie.timeline.history.path"
    ARCHIVE_FOLDER = "hoodie.archivelog.folder"
    TIMELINE_TIMEZONE = "hoodie.table.timeline.timezone"
    RECORD_KEY_FIELDS = "hoodie.table.recordkey.fields"
    PARTITION_FIELDS = "hoodie.table.partition.fields"
    PRECOMBINE_FIELD = "hoodie.table.precombine.field"
    ORDERING_FIELDS = "hoodie.table.ordering.fields"
    CREATE_SCHEMA = "hoodie.table.create.schema"
    DROP_PARTITION_COLUMNS = "hoodie.datasource.write.drop.partition.columns"


class WriteKey(str, Enum):
    """Keys a Hudi write or table service takes."""

    TABLE_NAME = TableKey.NAME.value
    TABLE_TYPE = "hoodie.datasource.write.table.type"
    OPERATION = "hoodie.datasource.write.operation"
    RECORD_KEY_FIELD = "hoodie.datasource.write.recordkey.field"
    PARTITION_FIELD = "hoodie.datasource.write.partitionpath.field"
    PRECOMBINE_FIELD = "hoodie.datasource.write.precombine.field"
    COMPACT_INLINE = "hoodie.compact.inline"
    COMPACT_SCHEDULE_INLINE = "hoodie.compact.schedule.inline"
    COMPACT_AFTER_DELTA_COMMITS = "hoodie.compact.inline.max.delta.commits"
